package agents

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ralph/acp"
	"ralph/internal/mcp"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/proxy"
	"ralph/internal/redact"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
)

// Settings are the same in all folders of a run.
type Settings struct {
	Finder
	acp.Client
	Chosen      Agent // of the run
	Servers     []acp.MCPServer
	ToolFolders []string      // where the sockets of ralph's own tools may be; none gives agents no tools
	TurnTimeout time.Duration // of sessions that bring none
	ModelNamed  bool          // a person named the model
	Asks        bool          // rules or hooks decide what agents do: they have to ask
	Prestart    bool          // agents may be started before they have a task
}

// Opener opens sessions with the agents of a run.
type Opener struct {
	Settings
	Sandbox *sandbox.Confiner // of its project
	History *provenance.History
	Dir     string                // the working folder
	Reads   string                // another folder that may be read through us
	Layers  func() sandbox.Layers // of that folder, as of now; nil for none

	mu    sync.Mutex
	spare *spare         // an agent that waits; nil if none does
	unfit atomic.Bool    // one that waited was of no use
	going sync.WaitGroup // agents that were not needed, on their way out

	first  *Opener  // the one that this is for another folder of; nil if it is that
	warned sync.Map // what was warned about
}

// In opens sessions in another folder, a copy of the project, with layers for what agents write beside its files.
func (o *Opener) In(dir string, c *sandbox.Confiner, layers func() sandbox.Layers) *Opener {
	history := o.History
	if c.Work.Level != sandbox.None {
		history = nil // the project's own configuration cannot be written from there
	}
	return &Opener{Settings: o.Settings, Sandbox: c, History: history, Dir: dir, Reads: o.Dir, Layers: layers, first: cmp.Or(o.first, o)}
}

// Unasked warns, once in a run, of an agent that is to ask before it acts and does not. It is empty for all others.
func (o *Opener) Unasked(ag Agent) string {
	if !o.Asks || ag.Asking.Before != "" {
		return ""
	}
	return o.once(ag.Name + " may do what [permissions] denies, because it does not ask: see docs/security.md#permissions")
}

// once is a warning the first time that it is given in a run, and empty after that.
func (o *Opener) once(warning string) string {
	if _, again := cmp.Or(o.first, o).warned.LoadOrStore(warning, true); again {
		return ""
	}
	return warning
}

// unmoved warns, once in a run, of an agent that does not let anybody choose how long its model thinks. It is empty for
// all others.
func (o *Opener) unmoved(ag Agent, e acp.EffortChoice) string {
	switch {
	case e.Effective != "" || e.Requested == "":
		return ""
	case len(e.Offered) == 0:
		return o.once(ag.Name + " offers no choice of effort: it is ignored")
	}
	return o.once(ag.Name + " offers the efforts " + strings.Join(e.Offered, ", ") + ": " + e.Requested + " is ignored")
}

// Open starts the agent for one attempt, or takes the one that waits for it. What ails
// that one is nobody's business: another is started, as if there had been none.
func (o *Opener) Open(ctx context.Context, r SessionSpec) (*Session, error) {
	ag, err := o.agentFor(&r)
	if err != nil {
		return nil, err
	}
	if s := o.take(ctx, r, ag); s != nil {
		if o.begin(ctx, s, r) == nil {
			return s, nil
		}
		o.unfit.Store(true)
		for _, f := range s.files { // the other one says everything from the beginning
			_ = os.Remove(filepath.Join(r.Folder, filepath.Base(f.Name())))
		}
	}
	s, err := o.confine(r, ag)
	if err == nil {
		err = o.begin(ctx, s, r)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// agentFor chooses who gets the session, and which model is asked for.
func (o *Opener) agentFor(r *SessionSpec) (Agent, error) {
	ag, err := o.requested(r)
	if !r.Verifier {
		ag.Set = slices.Concat(ag.ToolsSet, ag.Set)
	}
	if o.Asks {
		ag.Set = slices.Concat(ag.Set, ag.Asking.Set)
	}
	return ag, err
}

func (o *Opener) requested(r *SessionSpec) (Agent, error) {
	name, of := r.Task.Agent, r.Task.ID
	if name == "" && r.Substitute != "" {
		name, of = r.Substitute, "agent.fallback"
	}
	if verify := o.Config.Verify; r.Verifier && !r.Review {
		agent, key := verify.Agent, "verify.agent"
		if r.Witness != "" {
			agent, key = r.Witness, "verify.witness"
		}
		if agent != "" {
			name, of = agent, key
			r.Model = "" // the other agent's names for models mean nothing to this one
		}
		if verify.Model != "" && (r.Witness == "" || r.Witness == verify.Agent) {
			r.Model = verify.Model
		}
	}
	if name == "" {
		return o.Chosen, nil
	}
	ag, err := o.Find(name)
	if err != nil {
		err = &acp.Error{Kind: acp.NotFound, Op: "find the agent of " + of, Text: err.Error(), Err: err}
	}
	return ag, err
}

// modelName is what to ask an agent for, given the models that it offers if those are
// known. An agent without names for the tiers may know them by these very names, if a
// person means them.
func (o *Opener) modelName(p Preset, r SessionSpec, offered []string) string {
	if len(p.Tiers) == 0 && (o.ModelNamed || r.Task.Model != "") {
		return r.Model
	}
	return Resolve(p, r.Model, offered)
}

func (o *Opener) traits(p Preset, env []string, level sandbox.Level) acp.Traits {
	t := acp.Traits{
		AuthMethod: AuthMethod(p, env), UsageCumulative: p.Cumulative,
		MissingIsEmpty: p.MissingIsEmpty, TerminalShell: p.TerminalShell, ModelChannels: p.Channels(),
	}
	switch {
	case o.Asks && p.Asking.Before != "":
		t.Modes = p.Asking.Modes
	case level != sandbox.None:
		t.Modes = p.Confined
	}
	return t
}

// argv is the command of an agent, with what makes it ask.
func (o *Opener) argv(ag Agent, level sandbox.Level) []string {
	switch {
	case !o.Asks:
		return ag.Argv
	case level == sandbox.None:
		return slices.Concat(ag.Argv, ag.Asking.Args)
	}
	return slices.Concat(ag.Argv, ag.Asking.Args, ag.Asking.ConfinedArgs)
}

// confine makes all that an agent needs before it can be started.
func (o *Opener) confine(r SessionSpec, ag Agent) (s *Session, err error) {
	s = &Session{agent: ag, preset: ag.Preset, redact: o.Redact, unwatch: func() error { return nil }}
	env, _ := o.environment(ag.Preset)
	process := ag.process(env)
	if o.Layers != nil {
		process.Layers = o.Layers()
	}
	o.listen(s, r, &process)
	if err := o.startProxy(s, r, &process); err != nil {
		return nil, errConfine(errors.Join(err, s.closeTools()))
	}
	if r.Verifier {
		s.conf, err = o.Sandbox.ForVerification(process)
	} else {
		s.conf, err = o.Sandbox.ForWork(process)
	}
	if err != nil {
		return nil, errConfine(errors.Join(err, s.closeTools(), s.closeProxy()))
	}
	for _, name := range []string{"transcript.jsonl", "agent.err"} {
		f, err := os.OpenFile(filepath.Join(r.Folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.files = append(s.files, f)
	}
	return s, nil
}

// below finds the folders that the sandbox lays over the one of a path.
func (o *Opener) below(path string) (name string, folders []string) {
	if o.Layers == nil {
		return "", nil
	}
	for _, b := range o.Layers().Brought {
		if rel, err := filepath.Rel(b.Path, path); err == nil && filepath.IsLocal(rel) {
			if b.Own != "" {
				folders, _ = filepath.Glob(filepath.Join(b.Own, "*", "upper")) // the pattern is good
			}
			return rel, append(folders, b.From...)
		}
	}
	return "", nil
}

func errConfine(err error) error {
	return &acp.Error{Kind: acp.CannotStart, Op: "confine", Text: err.Error(), Err: err}
}

// begin gives a session its task; its agent is started, unless it waits. On an error
// nothing of it is left.
func (o *Opener) begin(ctx context.Context, s *Session, r SessionSpec) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if !r.Verifier {
		if err := o.Sandbox.Watch(s.conf, r.Task.ID, r.Run.Attempt, r.Task.MayChange); err != nil {
			return errConfine(err)
		}
	}
	if o.History != nil && s.conf.Level != sandbox.Namespaces && r.Task.ID != "" { // there it cannot be written
		s.unwatch = o.History.During(r.Task.ID, r.Run.Attempt)
	}
	s.observe.Store(&r.Observe)
	if warning := o.Unasked(s.agent); warning != "" {
		s.show(acp.Warned{Text: warning})
	}
	if s.tools != nil && r.Tools != nil {
		o.Redact.Add(s.tools.Token()) // the transcript has all that the agent is told
		s.tools.Serve(r.Tools)
	}
	cfg := o.config(s, r)
	if s.Session == nil {
		s.Session, err = acp.Start(ctx, cfg)
		var failed *acp.Error
		if errors.Is(err, proc.ErrHelperEnded) && errors.As(err, &failed) {
			failed.Kind = acp.Died // that is no fault of the agent, and may be over when it is tried again
		}
	} else {
		err = s.Begin(ctx, cfg)
	}
	if err != nil {
		return withLogin(err, s.preset, nil)
	}
	if m := s.Model(); m.Requested != "" && m.Channel == "" && !IsTier(r.Model) {
		// It has a model all the same, but nobody asked for that one.
		return &acp.Error{Kind: acp.ModelUnknown, Op: "choose model", Text: m.Requested + "; the agent offers no choice of models"}
	}
	if warning := o.unmoved(s.agent, s.Effort()); warning != "" {
		s.show(acp.Warned{Text: warning})
	}
	return nil
}

// config is what an agent is started with, and what its session is begun with.
func (o *Opener) config(s *Session, r SessionSpec) acp.Config {
	ag, conf := s.agent, s.conf
	env, terminals := o.environment(ag.Preset)
	talk, model := r.Conversation, ""
	if ag.Channel != NoModel {
		model = o.modelName(ag.Preset, r, nil)
	}
	var pick func([]string) string
	if IsTier(r.Model) {
		pick = func(offered []string) string { return o.modelName(s.preset, r, offered) }
	}
	if talk.Resume != nil && talk.Resume.Agent != ag.Name {
		talk.Resume = nil
	}
	talk.Model, talk.TurnTimeout = model, cmp.Or(r.TurnTimeout, o.TurnTimeout)
	protected, hidden := o.Sandbox.Client()
	reads := o.Reads
	if conf.Place.Seen != "" && reads != "" { // it is covered, but for what ralph has there
		reads = project.Project{Root: reads}.State()
	}
	return acp.Config{
		Client: o.Client, Conversation: talk,
		Argv: o.argv(ag, conf.Level), Dir: o.Dir, Place: conf.Place, Reads: reads, Below: o.below, Owner: r.Run.Owner,
		Env: append(slices.Clone(env), slices.Concat(r.variables(model), r.Env, conf.Env)...), Confine: conf.Spec,
		Pick: pick, Traits: o.traits(ag.Preset, env, conf.Level),
		Identify: func(who acp.Agent) acp.Traits {
			s.preset = Identify(s.preset, who.Name)
			return o.traits(s.preset, env, conf.Level)
		},
		MCP: o.servers(s, r), Protected: protected, Hidden: hidden,
		ProtectedNames: []string{".git"}, // a repository may be new; agents write it by running git
		Transcript:     s.files[0], Stderr: s.files[1], ReadOnly: r.Verifier,
		TerminalEnv: append(terminals, slices.Concat(r.Env, conf.Env)...), Redact: o.Redact, Observe: s.show,
		Started: func(id proc.Identity) error {
			o.Sandbox.Started()
			if r.Started == nil {
				return nil
			}
			return r.Started(ag.Name, id)
		},
	}
}

// Session is an agent at work. Closing it ends the agent, and removes its temporary
// folders.
type Session struct {
	*acp.Session
	agent   Agent
	preset  Preset     // what the agent turned out to be
	files   []*os.File // transcript and stderr
	conf    *sandbox.Confinement
	unwatch func() error
	tools   *mcp.Listener // nil if the agent gets none
	proxy   *proxy.Proxy  // nil if it has the whole network, or none
	redact  *redact.Redactor
	observe atomic.Pointer[func(acp.Event)]
}

// show hands an event to whoever the session was opened for.
func (s *Session) show(e acp.Event) {
	if observe := s.observe.Load(); observe != nil && *observe != nil {
		(*observe)(e)
	}
}

// Evident reports whether the agent's word rests on an exit status.
func (s *Session) Evident() bool { return s.preset.ExitStatus }

// Sandbox is the level that is in force.
func (s *Session) Sandbox() string { return s.conf.Level.String() }

// Tampered lists what the agent changed although it must not, where nothing could
// prevent it. It may be called at any time.
func (s *Session) Tampered() ([]string, error) { return s.conf.Tampered() }

// Renew has what is in the session's copy of the project now count as untouched, after ralph itself wrote there.
func (s *Session) Renew() error { return s.conf.Renew() }

// Prompt says how to log in where an agent notices only now that nobody has.
func (s *Session) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	turn, err := s.Session.Prompt(ctx, text)
	return turn, withLogin(err, s.preset, s.About().Methods)
}

// Close ends the agent, if there is one, and lets go of all that the session has besides.
func (s *Session) Close() (err error) {
	if s.Session != nil {
		err = s.Session.Close()
	}
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, s.closeTools(), s.closeProxy(), s.unwatch(), s.conf.Close())
}

func withLogin(err error, p Preset, methods []acp.AuthMethod) error {
	var e *acp.Error
	if errors.As(err, &e) && e.Kind == acp.AuthRequired {
		if e.Methods == nil {
			e.Methods = methods
		}
		e.Text = strings.TrimSpace(e.Text + loginHint(p, e.Methods))
	}
	return err
}

// loginHint is our own, or else what the agent offers.
func loginHint(p Preset, methods []acp.AuthMethod) string {
	if p.Needs != Nothing { // the hint says what to do
		return ""
	}
	if p.Login != "" {
		return "; to log in: " + p.Login
	}
	if len(methods) == 0 {
		return ""
	}
	return "; the agent offers: " + strings.Join(names(methods), ", ")
}

func names(methods []acp.AuthMethod) []string {
	return seq.Map(methods, func(m acp.AuthMethod) string { return m.Name })
}
