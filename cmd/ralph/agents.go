package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/term"
)

func (a *app) agentsCommand() command {
	return command{
		name: "agents", short: "the known agents, which are installed, and how each takes a model",
		long: `An agent that is not installed is fetched by npx when it is used. Your own agents, from
the configuration, are listed with the others; * marks the one that a run would take.`,
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph agents\nralph agents test claude",
		run:     a.runAgents,
		sub:     []command{a.agentsTest()},
	}
}

// agentJSON is all that is known of an agent. Of variables only names are shown.
type agentJSON struct {
	Name        string              `json:"name"`
	Title       string              `json:"title"`
	Chosen      bool                `json:"chosen"`
	Installed   bool                `json:"installed"`
	Start       []string            `json:"start"` // null if it cannot be started here
	Package     *string             `json:"package"`
	ModelBy     string              `json:"model_by"`
	Tiers       map[string][]string `json:"tiers"`
	Tells       string              `json:"tells"`
	Login       *string             `json:"login"`
	Credentials []string            `json:"credentials"`
	Set         []string            `json:"credentials_set"`
	Env         []string            `json:"env"`
	State       []string            `json:"state"`

	here string
}

func (a *app) runAgents(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	config, err := a.configHere()
	if err != nil {
		return err
	}
	list := a.knownAgents(config)
	if c.Bool("json") {
		return a.printJSON(list)
	}
	return a.printAgents(list)
}

// configHere is the project's configuration, or the user's where there is no project.
func (a *app) configHere() (project.Loaded, error) {
	p, err := a.findProject()
	if errors.Is(err, project.ErrNone) && a.dir == "" {
		return a.loadConfig("")
	}
	if err != nil {
		return project.Loaded{}, err
	}
	return a.loadConfig(p.Config())
}

// knownAgents are the built-in ones and the user's own, by name.
func (a *app) knownAgents(config project.Loaded) []agentJSON {
	names := map[string]bool{}
	for _, p := range agents.All() {
		names[p.Name] = true
	}
	for name := range config.Agents {
		names[name] = true
	}
	presets := map[string]agents.Preset{}
	for name := range names {
		if p, ok, err := a.presetOf(config, name); ok && err == nil { // a run says what is wrong with others
			presets[name] = p
		}
	}
	chosen, err := a.chooseAgent(config, "")
	if err == nil { // a command has no name of its own to be listed by
		presets[chosen.preset.Name] = chosen.preset
	}
	list := []agentJSON{}
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		j := a.describe(presets[name])
		j.Chosen = err == nil && chosen.preset.Name == name
		list = append(list, j)
	}
	return list
}

func (a *app) describe(p agents.Preset) agentJSON {
	o := &opener{app: a}
	env, _ := o.environment(agent{preset: p})
	j := agentJSON{
		Name: p.Name, Title: p.Title, Package: orNil(p.Package), ModelBy: modelBy(p), Tiers: p.Tiers, Tells: cmp.Or(p.Tells, "not known"),
		Login: orNil(p.Login), Credentials: orEmpty(p.Credentials), Set: orEmpty(agents.Credentials(p, env)),
		Env: orEmpty(slices.Concat(p.Pass, p.Allow)), State: orEmpty(agents.StateFolders(p, a.getenv("HOME"), lookUp(env))), here: "no",
	}
	if j.Tiers == nil {
		j.Tiers = map[string][]string{}
	}
	argv, err := agents.Argv(p, a.self(), exec.LookPath)
	switch {
	case err != nil:
	case len(p.Self) > 0:
		j.Start, j.Installed, j.here = argv, true, "built in"
	case agents.IsInstalled(p, exec.LookPath):
		j.Start, j.Installed, j.here = argv, true, "installed"
	default:
		j.Start, j.here = argv, "by npx"
	}
	return j
}

// modelBy says how an agent is told its model.
func modelBy(p agents.Preset) string {
	switch p.Channel {
	case agents.ConfigOption:
		return "option " + p.Key
	case agents.SetModel:
		return "session/set_model"
	case agents.Environment:
		return "variable " + p.Key
	case agents.NoModel:
		return "none"
	default:
		return "what it offers"
	}
}

func (a *app) printAgents(list []agentJSON) error {
	p := a.palette()
	t := &term.Table{Width: a.width}
	bold := func(s string) term.Cell { return term.Cell{Text: s, Paint: p.Bold} }
	t.Add(bold("AGENT"), bold("HERE"), bold("MODEL BY"), bold("TELLS"), bold("CREDENTIAL"))
	found := false
	for _, j := range list {
		name, paint := j.Name, p.Dim
		if j.Chosen {
			name += " *"
		}
		if j.Installed {
			paint = p.Green
		}
		found = found || j.Installed && j.here != "built in"
		credential := "its own login"
		switch {
		case len(j.Credentials) == 0:
			credential = "none needed"
		case len(j.Set) > 0:
			credential = strings.Join(j.Set, ", ")
		}
		t.Add(term.Cell{Text: name, Paint: p.Cyan}, term.Cell{Text: j.here, Paint: paint},
			term.Cell{Text: j.ModelBy}, term.Cell{Text: j.Tells}, term.Cell{Text: credential})
	}
	if _, err := t.WriteTo(a.stdout); err != nil {
		return err
	}
	if !found {
		a.note("no agent is installed; for example: npm install -g opencode-ai")
	}
	a.note("try one with: ralph agents test NAME")
	return nil
}

// modelless says of the name of an agent whether it works without a model.
func (a *app) modelless(config project.Loaded) func(string) bool {
	return func(name string) bool {
		p, ok, err := a.presetOf(config, name)
		return ok && err == nil && p.Channel == agents.NoModel
	}
}

// presetOf is what a name of the configuration, a built-in name, a file or a
// command means. It reports false for one that has no command.
func (a *app) presetOf(config project.Loaded, given string) (agents.Preset, bool, error) {
	def := agents.Definition{Name: given, Allow: config.Agent.EnvAllow}
	custom, configured := config.Agents[given]
	_, builtin := agents.Lookup(given)
	command := ""
	switch {
	case configured:
		def.Env, def.Models, command = custom.Env, custom.Models, custom.Command
	case !builtin:
		def.Name, command = "", given
	}
	if command != "" {
		argv, err := splitCommand(command)
		if err != nil {
			return agents.Preset{}, false, fmt.Errorf("agent %q: %w", given, err)
		}
		def.Command = argv
	}
	preset, ok := agents.Define(def)
	return preset, ok, nil
}
