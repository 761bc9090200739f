package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/loop"
)

// errUnavailable is an agent that cannot be used at all; errNoSuchAgent says of one
// that nobody can mean it.
var (
	errUnavailable = errors.New("agent unavailable")
	errNoSuchAgent = errors.New("is no agent and no program")
)

// agent is one that can be started: what is known about it, and its command.
type agent struct {
	preset agents.Preset
	argv   []string
}

// opener opens sessions with the agents of a run.
type opener struct {
	app     *app
	root    string
	reads   string // another folder that may be read through us
	config  project.Loaded
	chosen  agent
	idle    project.Duration
	turn    project.Duration
	version string
	asked   bool // a person named the model
	servers []acp.MCPServer
	stepped func(op string, took time.Duration) // may be nil

	sandbox *confiner

	launch *proc.Launcher // one helper waits for the next attempt
}

// chooseAgent finds the agent that a name, a command or the configuration means.
func (a *app) chooseAgent(config project.Loaded, given string) (agent, error) {
	switch {
	case given != "":
		return a.findAgent(config, given)
	case config.Agent.Command != "":
		return a.findAgent(config, config.Agent.Command)
	case config.Agent.Use != "":
		return a.findAgent(config, config.Agent.Use)
	}
	if preset, ok := agents.Detect(exec.LookPath); ok {
		return a.findAgent(config, preset.Name)
	}
	err := fmt.Errorf("%w: none is configured and none was found on PATH", errUnavailable)
	return agent{}, hint(err, `install one (for example: npm install -g opencode-ai), name it with --agent, or try without a model: --agent shell`)
}

// findAgent takes a name of the configuration, a built-in name, a file, or a command.
// Of one that cannot be started it returns what is known.
func (a *app) findAgent(config project.Loaded, given string) (agent, error) {
	preset, ok, err := a.presetOf(config, given)
	if err != nil {
		return agent{}, usagef("%v", err)
	}
	if !ok {
		return agent{}, usagef("agent %q has no command", given)
	}
	found, err := a.startable(preset)
	if _, configured := config.Agents[given]; err == nil || configured || !preset.Unknown {
		return found, err
	}
	names := slices.Sorted(maps.Keys(config.Agents))
	for _, p := range agents.All() {
		names = append(names, p.Name)
	}
	err = fmt.Errorf("%w: %q %w", errUnavailable, given, errNoSuchAgent)
	if near := nearest(given, names); near != "" {
		return found, hint(err, "did you mean: %s", near)
	}
	return found, hint(err, "see those that are known with: ralph agents")
}

// splitCommand takes a file as it is, so that a path may contain spaces.
func splitCommand(command string) ([]string, error) {
	if info, err := os.Stat(command); err == nil && info.Mode().IsRegular() {
		path, err := filepath.Abs(command)
		return []string{path}, err
	}
	return proc.Split(command)
}

func (a *app) startable(p agents.Preset) (agent, error) {
	argv, err := agents.Argv(p, a.self(), exec.LookPath)
	a.redact.AddArgs(argv)
	if err == nil {
		_, err = exec.LookPath(argv[0])
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnavailable, err)
		return agent{preset: p}, hint(err, "check the command, name another agent with --agent, or try without a model: --agent shell")
	}
	return agent{preset: p, argv: argv}, nil
}

// self is this very program, for the built-in agent. The name it was called by
// comes first: a link may be what makes it ralph.
func (a *app) self() string {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Open starts the agent for one attempt.
func (o *opener) Open(ctx context.Context, op loop.Opening) (loop.Session, error) {
	o.app.owned.Do(func() { o.launch.Owner = op.Run.Owner }) // openers share it, and it reads its owner in the background
	ag := o.chosen
	name, of := op.Task.Agent, op.Task.ID
	if name == "" && op.Agent != "" {
		name, of = op.Agent, "agent.fallback"
	}
	if op.Judge && o.config.Verify.Agent != "" {
		name, of = o.config.Verify.Agent, "verify.agent"
		op.Model = "" // the other agent's names for models mean nothing to this one
	}
	if op.Judge && o.config.Verify.Model != "" {
		op.Model = o.config.Verify.Model
	}
	if name != "" {
		var err error
		if ag, err = o.app.findAgent(o.config, name); err != nil {
			return nil, &acp.Error{Kind: acp.NotFound, Op: "find the agent of " + of, Text: err.Error(), Err: err}
		}
	}
	confine := func(env []string, ag agent) (*confined, error) { return o.sandbox.forTask(env, ag, op.Task.ID) }
	if op.Judge {
		confine = o.sandbox.forVerification
	}
	env, _ := o.environment(ag)
	conf, err := confine(env, ag)
	if err != nil {
		return nil, &acp.Error{Kind: acp.CannotStart, Op: "confine", Text: err.Error(), Err: err}
	}
	if op.Task.AllowTampering {
		conf.keep = nil
	}
	conf.config = o.sandbox.config.during(op.Task.ID, attemptOf(op), conf.Level)
	s, err := o.start(ctx, op, ag, conf)
	if err != nil {
		return nil, errors.Join(err, conf.Close())
	}
	return &confinedSession{agentSession: s, conf: conf}, nil
}

// attemptOf names the attempt that a session belongs to. A verifier's folder is in it.
func attemptOf(op loop.Opening) string {
	if op.Judge {
		return filepath.Base(filepath.Dir(op.Folder))
	}
	return filepath.Base(op.Folder)
}

// modelName is what to ask an agent for, given the models that it offers if that is
// known. What nobody said how it calls the tiers may know them by these very names,
// if a person means them.
func (o *opener) modelName(p agents.Preset, op loop.Opening, offered []string) string {
	if len(p.Tiers) == 0 && (o.asked || op.Task.Model != "") {
		return op.Model
	}
	if name, ok := agents.Resolve(p, op.Model, offered); ok {
		return name
	}
	return agents.Model(p, op.Model)
}

// traits are how an agent differs from others.
func traits(p agents.Preset, env []string, conf *confined) acp.Traits {
	t := acp.Traits{
		AuthMethod: agents.AuthMethod(p, lookUp(env)), UsageCumulative: p.Cumulative,
		MissingFile: acp.MissingFile(p.Missing), TerminalShell: p.TerminalShell,
	}
	if channels := p.Channels(); channels != nil {
		t.ModelChannels = []acp.ModelChannel{}
		for _, c := range channels {
			t.ModelChannels = append(t.ModelChannels, acp.ModelChannel(c))
		}
	}
	if conf.Level != sandbox.None {
		t.Modes = p.Confined
	}
	return t
}

// start runs an agent as it is confined; the caller closes that afterwards.
func (o *opener) start(ctx context.Context, op loop.Opening, ag agent, conf *confined) (*agentSession, error) {
	var files []io.Closer
	open := func(name string) (*os.File, error) {
		f, err := os.OpenFile(filepath.Join(op.Folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	transcript, err := open("transcript.jsonl")
	if err != nil {
		return nil, err
	}
	stderr, err := open("agent.err")
	if err != nil {
		return nil, errors.Join(err, transcript.Close())
	}
	env, terminals := o.environment(ag)
	preset, model := ag.preset, o.modelName(ag.preset, op, nil)
	if preset.Channel == agents.NoModel {
		model = ""
	}
	var pick func([]string) string
	if agents.IsTier(op.Model) {
		pick = func(offered []string) string { return o.modelName(preset, op, offered) }
	}
	protected, names := o.sandbox.protection.Client()
	s, err := acp.Start(ctx, acp.Config{
		Argv: ag.argv, Dir: o.root, Reads: o.reads, Launcher: o.launch, Version: o.version,
		Env: append(env, slices.Concat(o.told(op, ag, model), conf.Env)...), Confine: conf.Spec,
		Model: model, Pick: pick, Traits: traits(preset, env, conf),
		Identify: func(who acp.Agent) acp.Traits {
			preset = agents.Identify(preset, who.Name)
			return traits(preset, env, conf)
		},
		MCP: o.servers, Resume: earlier(op, ag),
		Protected: protected, ProtectedNames: names, Hidden: o.sandbox.hide,
		IdleTimeout: o.idle.Std(), TurnTimeout: o.turn.Std(),
		Transcript: transcript, Stderr: stderr, ReadOnly: op.Judge,
		TerminalEnv: append(terminals, conf.Env...), Redact: o.app.redact,
		Observe: op.Observe, Stepped: o.stepped,
		Started: func(id proc.Identity) error {
			select {
			case o.sandbox.started <- struct{}{}:
			default: // it is about to be recorded
			}
			return op.Started(ag.preset.Name, id)
		},
		Now: o.app.now, Log: o.app.log,
	})
	if err != nil {
		for _, f := range files {
			_ = f.Close()
		}
		return nil, withLogin(err, preset, nil)
	}
	if m := s.Model(); m.Requested != "" && m.Channel == "" && !agents.IsTier(op.Model) {
		// It has a model all the same, but nobody asked for that one.
		err := &acp.Error{Kind: acp.ModelUnknown, Op: "choose model", Text: m.Requested + "; the agent offers no choice of models"}
		return nil, errors.Join(err, (&agentSession{Session: s, files: files}).Close())
	}
	return &agentSession{Session: s, files: files, preset: preset}, nil
}

// withLogin adds to an error that is about a missing login how to log in.
func withLogin(err error, p agents.Preset, methods []acp.AuthMethod) error {
	var e *acp.Error
	if errors.As(err, &e) && e.Kind == acp.AuthRequired {
		if e.Methods == nil {
			e.Methods = methods
		}
		e.Text = strings.TrimSpace(e.Text + loginHint(p, e.Methods))
	}
	return err
}

// loginHint says how to log in: as we know it, or else as the agent names it.
func loginHint(p agents.Preset, methods []acp.AuthMethod) string {
	if p.Login != "" {
		return "; to log in: " + p.Login
	}
	var names []string
	for _, m := range methods {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return "; the agent offers: " + strings.Join(names, ", ")
}

// told is what an agent may know about the run that started it. None of these
// names configures a ralph that the agent starts.
func (o *opener) told(op loop.Opening, ag agent, model string) []string {
	vars := []string{
		"RALPH_MODEL=" + model, "RALPH_ITERATION=" + strconv.Itoa(op.Iteration), "RALPH_TOTAL=" + strconv.Itoa(op.Limit),
		"RALPH_TASK=" + op.Task.ID, "RALPH_RUN=" + op.Run.ID,
	}
	if ag.preset.Channel == agents.Environment && model != "" {
		vars = append(vars, ag.preset.Key+"="+model)
	}
	return vars
}

// agentSession closes the files of an attempt with its session.
type agentSession struct {
	*acp.Session
	files  []io.Closer
	preset agents.Preset
}

func (s *agentSession) Evident() bool { return s.preset.ExitStatus }

// Prompt says how to log in where an agent notices only now that nobody has.
func (s *agentSession) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	turn, err := s.Session.Prompt(ctx, text)
	return turn, withLogin(err, s.preset, s.About().Methods)
}

func (s *agentSession) Close() error {
	errs := []error{s.Session.Close()}
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	s.files = nil
	return errors.Join(errs...)
}
