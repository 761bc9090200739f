package agents

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/redact"
	"ralph/internal/sandbox"
)

// ErrUnavailable is an agent that cannot be used at all; ErrNone, which is one, says
// that nobody named an agent and nothing is here that one could be made of.
var (
	ErrUnavailable = errors.New("agent unavailable")
	ErrNone        = fmt.Errorf("%w: none is configured, and none was found: no program on PATH, no API key, no local model server", ErrUnavailable)
)

// UnknownError is a name that belongs to no agent and no program. It is ErrUnavailable.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%v: %q is neither an agent nor a program", ErrUnavailable, e.Name)
}

func (e *UnknownError) Unwrap() error { return ErrUnavailable }

// DefinitionError is an agent that is configured in a way that makes no sense.
type DefinitionError struct {
	Name string
	Err  error
}

func (e *DefinitionError) Error() string { return fmt.Sprintf("agent %q: %v", e.Name, e.Err) }

func (e *DefinitionError) Unwrap() error { return e.Err }

// Agent is one that can be started. The zero Agent is none.
type Agent struct {
	Preset
	Argv []string
}

// Finder finds the agents that a configuration knows.
type Finder struct {
	Config  project.Loaded
	Self    string // the path of ralph itself, for the built-in agent
	Environ []string
	Redact  *redact.Redactor // learns the secrets on command lines
	// Serves reports whether there is a server with models for an agent with that environment. It may take a moment;
	// nil means that nobody looks.
	Serves func(environ []string) bool
}

// Choose finds the agent that is given, else the configured one, else the installed one
// to prefer, else the first of ralph's own that has what it needs.
func (f Finder) Choose(given string) (Agent, error) {
	if name := cmp.Or(given, f.Configured()); name != "" {
		return f.Find(name)
	}
	if found := Installed(exec.LookPath); len(found) > 0 {
		return f.Find(found[0].Name)
	}
	if p, ok := f.Ready(); ok {
		return f.Find(p.Name)
	}
	return Agent{}, ErrNone
}

// Configured is the agent that the configuration sets: a name or a command; empty if it sets none.
func (f Finder) Configured() string {
	return cmp.Or(cmp.Or(f.Config.Agent.Rotate...), f.Config.Agent.Use)
}

// Find takes a name of the configuration, a built-in name, a file, or a command. Of an
// agent that cannot be started it returns the preset with the error.
func (f Finder) Find(given string) (Agent, error) {
	preset, err := f.Preset(given)
	if err != nil {
		return Agent{}, err
	}
	argv, err := Argv(preset, f.Self, exec.LookPath)
	f.Redact.AddArgs(argv)
	if err == nil {
		_, err = exec.LookPath(argv[0])
	}
	if err == nil {
		return Agent{preset, argv}, nil
	}
	if _, configured := f.Config.Agents[given]; !configured && preset.Unknown {
		return Agent{Preset: preset}, &UnknownError{Name: given, Known: f.Names()}
	}
	return Agent{Preset: preset}, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Names lists the agents of the configuration, then the built-in ones.
func (f Finder) Names() []string {
	names := sorted(f.Config.Agents)
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Preset is what Find finds, whether it can be started or not.
func (f Finder) Preset(given string) (Preset, error) {
	def := Definition{Name: given, Allow: f.Config.Agent.EnvAllow}
	custom, configured := f.Config.Agents[given]
	_, builtin := Lookup(given)
	command := ""
	switch {
	case configured:
		def.Env, def.Models, def.Prestart, def.Proxy, command = custom.Env, custom.Models, custom.Prestart, custom.Proxy, custom.Command
		if custom.Like != "" {
			base, err := f.like(given, custom.Like)
			if err != nil {
				return Preset{}, &DefinitionError{given, err}
			}
			def.Like = &base
		}
	case !builtin:
		def.Name, command = "", given
	}
	if command != "" {
		argv, err := splitCommand(command)
		if err != nil {
			return Preset{}, &DefinitionError{given, err}
		}
		def.Command = argv
	}
	preset, ok := Define(def)
	if !ok {
		return Preset{}, &DefinitionError{given, errors.New("it has no command")}
	}
	return preset, nil
}

// like is the agent that another one is with a different account.
func (f Finder) like(name, of string) (Preset, error) {
	custom, configured := f.Config.Agents[of]
	_, builtin := Lookup(of)
	switch {
	case of == name || custom.Like != "":
		return Preset{}, fmt.Errorf("it is like %q, which is itself like another; name that one", of)
	case !configured && !builtin:
		return Preset{}, fmt.Errorf("it is like %q, which is no agent", of)
	}
	return f.Preset(of)
}

// splitCommand takes a file as it is, so that a path may contain spaces.
func splitCommand(command string) ([]string, error) {
	if info, err := os.Stat(command); err == nil && info.Mode().IsRegular() {
		path, err := filepath.Abs(command)
		return []string{path}, err
	}
	return proc.Split(command)
}

// Modelless reports whether an agent works without a model.
func (f Finder) Modelless(name string) bool {
	p, err := f.Preset(name)
	return err == nil && p.Channel == NoModel
}

// Toolless reports whether an agent cannot call ralph's tools.
func (f Finder) Toolless(name string) bool {
	p, err := f.Preset(name)
	return err == nil && p.NoTools
}

// Fallbacks lists the configured substitutes for an agent that can be started, and why
// others cannot.
func (f Finder) Fallbacks(chosen string) (names []string, unusable []error) {
	return f.usable(slices.DeleteFunc(slices.Clone(f.Config.Agent.Fallback), func(name string) bool { return name == chosen }))
}

// Rotation lists those that take tasks in turn, as Fallbacks does.
func (f Finder) Rotation() (names []string, unusable []error) { return f.usable(f.Config.Agent.Rotate) }

func (f Finder) usable(list []string) (names []string, unusable []error) {
	for _, name := range list {
		if _, err := f.Find(name); err != nil {
			unusable = append(unusable, err)
			continue
		}
		names = append(names, name)
	}
	return names, unusable
}

func (f Finder) environment(p Preset) (env, terminals []string) {
	return Environ(p, f.Environ, os.Geteuid() == 0), TerminalEnviron(p, f.Environ)
}

// Credential says by which credential the agent will be paid, without its value.
func (f Finder) Credential(p Preset) string {
	if len(p.Credentials) == 0 {
		return ""
	}
	env, _ := f.environment(p)
	switch names := Credentials(p, env); {
	case len(names) == 0 && p.Needs == Key:
		return "none in the environment: " + p.Login
	case len(names) == 0:
		return "none in the environment: the agent's own login"
	case len(names) == 1:
		return names[0]
	case p.ByModel:
		return strings.Join(names, ", ") + ": as the model needs"
	default:
		return names[0] + ", before " + strings.Join(names[1:], ", ")
	}
}

func (a Agent) process(env []string) sandbox.Process {
	return sandbox.Process{
		Env: env, Argv: a.Argv, State: a.StateFolders(env), Unknown: a.Unknown, Write: a.PossibleFolders(env),
	}
}
