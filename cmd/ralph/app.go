package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/copyfile"
	"ralph/internal/db"
	"ralph/internal/git"
	"ralph/internal/plansync"
	"ralph/internal/project"
	"ralph/internal/redact"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
)

// app is one invocation: the streams, the command tree and what was opened.
type app struct {
	system
	globals
	raw    io.Writer // stdout as it is, for what is no text for people
	exact  io.Writer // the same for results that are read back: hiding a value would change it
	cli    *cli.App
	root   command
	log    zerolog.Logger
	redact *redact.Redactor // knows every secret value; text leaves the process through it
	taken  chan struct{}    // closed when a command deals with signals itself
	keys   *bufio.Reader    // lines that a person types
	looks  bool             // the command only looks: what others left stays

	sandbox *sandbox.Confiner // of a run
	atEnd   []func() error    // removes the temporary files of the command
	opened  *session          // of a run in whose process the command is carried out; nil for all others
	within  string            // the command that carries this one out: "mcp"; empty if a person typed it
	serves  bool              // it works for a server: a database that is gone may come back, and an empty one would be in its place
	shows   bool              // it works for a server that is read-only
	outside bool              // it is carried out for somebody who may not name files of this machine
	allow   []string          // flags that weaken a run and may come from outside: [serve] allow
	stored  atomic.Bool       // the graph was changed, even if a later step fails
}

func newApp(sys system) *app {
	return appOf(sys, command{
		short: "run AI coding agents through a dependency graph of tasks", flags: globalFlags, sub: commands, exits: "1 refused, 3 not found",
		example: "ralph init\nralph task add \"Write the parser\"\nralph run\nralph status",
	})
}

// appOf is an invocation with a tree of commands.
func appOf(sys system, root command) *app {
	a := &app{
		system: sys, raw: sys.stdout, exact: sys.stdout, log: zerolog.Nop(), redact: redact.New(),
		taken: make(chan struct{}), root: root,
	}
	a.cli = &cli.App{
		Name: "ralph", HelpName: "ralph",
		Flags: buildFlags(globalFlags), Commands: tree(a, root.sub...),
		OnUsageError:   badUsage,
		ExitErrHandler: func(*cli.Context, error) {}, // only run chooses the exit status
		HideHelp:       true, HideVersion: true, DisableSliceFlagSeparator: true,
	}
	return a
}

// globalFlags are accepted anywhere.
var globalFlags = []flagSpec{
	{name: "project", usage: "use the project in `DIR` instead of the nearest one above"},
	{name: "server", usage: "carry the command out on the ralph serve at `URL`", shown: "$RALPH_SERVER"},
	{name: "server-token-file", usage: "read the token of that server from `FILE`", shown: "$RALPH_SERVER_TOKEN"},
	{name: "color", usage: "`WHEN` to use colour: auto, always or never", value: "auto"},
	boolFlag("quiet", "print only results and errors", "q"),
	boolFlag("verbose", "log each step and how long it takes", "v"),
	helpFlag,
}

// globals are the flags that every command has, read once when a command begins.
type globals struct {
	command   string // that runs
	typed     string // the same with its group: "task reset"
	dir       string // of the project; empty is the nearest one above
	color     string
	quiet     bool
	verbose   bool
	logFormat string // of a run's log; empty if none is asked for
	logFile   string
}

func (a *app) readGlobals(c *cli.Context) error {
	a.globals = globals{
		command: c.Command.Name, typed: strings.TrimPrefix(c.Command.HelpName, "ralph "), dir: c.String("project"), color: c.String("color"), quiet: c.Bool("quiet"), verbose: c.Bool("verbose"),
		logFormat: c.String("log-format"), logFile: c.String("log-file"),
	}
	return checkChoice("color", a.color, "auto", "always", "never")
}

// commands are all that there are, in the order of the help.
var commands = withBare(slices.Concat(
	grouped("Plan", initCommand, taskCommand, featureCommand, templateCommand, forecastCommand),
	grouped("Run", runCommand, scheduleCommand, inboxCommand, sendCommand, queryCommand, attachCommand, reviewCommand, mergeCommand, undoCommand, prCommand, demoCommand, stopCommand, pauseCommand, resumeCommand, recoverCommand, promptCommand),
	grouped("Inspect", statusCommand, watchCommand, serveCommand, reportCommand, runsCommand, logsCommand, costCommand, statsCommand, journalCommand, knowledgeCommand, permissionsCommand, auditCommand),
	grouped("Maintain", agentsCommand, agentCommand, configCommand, doctorCommand, slotsCommand, gcCommand, mcpCommand, mergeDriverCommand, completionCommand, manCommand, versionCommand),
	[]command{completeCommand, shellAgentCommand, dispatchCommand, attemptCommand},
))

// badUsage is for what the library refuses although the permuter accepted it.
func badUsage(_ *cli.Context, err error, _ bool) error { return usageError{err.Error()} }

// session is an open project.
type session struct {
	project project.Project
	config  project.Loaded
	store   *dag.Store
	db      *db.DB
	plans   *plansync.Sync
	shared  bool // its owner closes it

	unsynced error // why plan files could not be taken in, until somebody was told
	warn     func(error)
}

// Close closes the database, unless it is a run's, and warns of plan files that nobody was told about.
func (s *session) Close() error {
	if s.shared {
		return nil
	}
	if err := s.refuseUnsynced(); err != nil {
		s.warn(err)
	}
	return s.db.Close()
}

// noFolder is the error of a working folder that was deleted under the shell.
func noFolder(err error) error {
	return hint(usagef("the working folder cannot be found: %v", err), "cd to a folder that exists")
}

func (a *app) findProject() (project.Project, error) {
	dir, find := a.dir, project.At
	if dir == "" {
		var err error
		if dir, err = a.getwd(); err != nil {
			return project.Project{}, noFolder(err)
		}
		find = project.Find
	}
	p, err := find(dir)
	if from := a.getenv("RALPH_PROJECT"); from != "" && a.dir == "" && errors.Is(err, project.ErrNone) {
		p, err = project.At(from) // an agent has removed what says so in its slot
		at := project.Project{Root: from}
		if _, missing := os.Stat(at.DB()); errors.Is(err, project.ErrNone) && missing == nil { // the slot is seen in the place of the project, and has no configuration
			p, err = at, nil
		}
	}
	if errors.Is(err, project.ErrNone) {
		if abs, aerr := filepath.Abs(dir); aerr == nil {
			dir = abs
		}
		if saved := db.Rescued(dir); len(saved) > 0 {
			err = fmt.Errorf("%w; there was one, and a run saved its database in %s", err, filepath.Base(saved[0]))
			err = hint(err, "put it back with: %s && ralph init", restoreCommand(saved[0]))
		}
	}
	return p, err
}

// open finds the project, loads its configuration and opens its graph. With an error that is about the graph alone, the
// session has the rest.
func (a *app) open(ctx context.Context) (*session, error) { return a.openFor(ctx, db.Options{}) }

func (a *app) openFor(ctx context.Context, opts db.Options) (*session, error) {
	if a.opened != nil {
		return a.opened, nil
	}
	begin := a.now()
	p, err := a.findProject()
	if err != nil {
		return nil, err
	}
	config, err := a.loadConfig(p.Config())
	if err != nil {
		return nil, blame(a, p, err)
	}
	bare := &session{project: p, config: config}
	if err := p.Ignore(); err != nil {
		return bare, &db.Error{Path: p.State(), Kind: db.ReadOnly, Err: err}
	}
	if _, err := os.Stat(p.DB()); errors.Is(err, fs.ErrNotExist) {
		if err := db.NotRescued(p.DB(), p.Root); err != nil {
			return bare, err
		}
		if a.serves {
			return bare, hint(fmt.Errorf("the database is gone: %s was moved or deleted", p.DB()), "put it back, or make a new one where the project is: ralph status")
		}
	}
	opts.ReadOnly = a.shows
	d, err := dag.Open(ctx, p.DB(), opts)
	if err != nil {
		return bare, err
	}
	store := dag.New(d, dag.Options{Now: a.now, Redact: a.redact.Text, KeepGoing: config.Run.KeepGoing})
	s := &session{project: p, config: config, db: d, store: store}
	if err := s.refuseReplaced(ctx); err != nil {
		return bare, errors.Join(err, s.Close())
	}
	s.plans, s.warn = newPlans(a, s), func(err error) { warnUnsynced(a, err) }
	takePlans(ctx, a, s)
	log := a.logger()
	log.Debug().Str("path", p.DB()).Dur("dur", a.now().Sub(begin)).Msg("project opened")
	return s, nil
}

// refuseReplaced refuses an empty database beside one that a run saved: another command was quicker
// than the run, and made a new one before the run could save the old one.
func (s *session) refuseReplaced(ctx context.Context) error {
	err := db.NotRescued(s.project.DB(), s.project.Root)
	if err == nil {
		return nil
	}
	return s.store.View(ctx, func(g *dag.Graph) error {
		if tally, terr := g.Tasks.Tally(dag.Scope{}); terr != nil || tally.Total() > 0 {
			return terr
		}
		return err
	})
}

// loadConfig reads the user's configuration and the project's, and learns their secrets and those in addresses of git's.
func (a *app) loadConfig(path string) (project.Loaded, error) {
	config, err := project.Load(a.userConfig(), path, a.getenv)
	agents.LearnSecrets(config.Config, a.redact)
	for _, file := range append(seq.Map(git.Find(filepath.Dir(path)).Folders, func(dir string) string { return filepath.Join(dir, "config") }), filepath.Join(a.getenv("HOME"), ".gitconfig")) {
		text, _ := copyfile.Read(file, 1<<20) // it need not be there
		a.redact.Add(redact.Passwords(string(text))...)
	}
	return config, err
}

// view and update run fn on the project's graph in one transaction.
func (a *app) view(ctx context.Context, fn func(*session, *dag.Graph) error) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.store.View(ctx, func(g *dag.Graph) error { return fn(s, g) })
}

// look reads one thing from the graph of a project that is open.
func look[T any](ctx context.Context, s *session, read func(*dag.Graph) (T, error)) (found T, err error) {
	err = s.store.View(ctx, func(g *dag.Graph) (err error) { found, err = read(g); return err })
	return found, err
}

// update is for what changes the plan: it is refused if a plan file cannot be taken in.
func (a *app) update(ctx context.Context, fn func(*session, *dag.Graph) error) error {
	return inOpened(ctx, a, change, fn)
}

// record is for what is no part of the plan: control of runs, answers, messages, and what happened. It works whatever plan files
// say, because a run has to be stopped also in the middle of a merge in git.
func (a *app) record(ctx context.Context, fn func(*session, *dag.Graph) error) error {
	return inOpened(ctx, a, recordIn, fn)
}

// inOpened opens the project and stores what fn does.
func inOpened(ctx context.Context, a *app, store func(context.Context, *app, *session, func(*dag.Graph) error) error, fn func(*session, *dag.Graph) error) error {
	if err := a.refuseAgent(); err != nil { // in its sandbox the database could not be opened
		return err
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return store(ctx, a, s, func(g *dag.Graph) error { return fn(s, g) })
}

// change is update for a project that is open already.
func change(ctx context.Context, a *app, s *session, fn func(*dag.Graph) error) error {
	if err := cmp.Or(a.refuseAgent(), s.refuseUnsynced()); err != nil {
		return err
	}
	return recordIn(ctx, a, s, fn)
}

// recordIn is record for a project that is open already.
func recordIn(ctx context.Context, a *app, s *session, fn func(*dag.Graph) error) error {
	if err := a.refuseAgent(); err != nil {
		return err
	}
	err := storeAs(ctx, a, s, fn)
	a.stored.Store(err == nil)
	return err
}

// changeAs changes the plan by the word of who typed the command, even if that is an agent.
func changeAs(ctx context.Context, a *app, s *session, fn func(*dag.Graph) error) error {
	if err := s.refuseUnsynced(); err != nil {
		return err
	}
	return storeAs(ctx, a, s, fn)
}

// storeAs changes the graph by the word of who typed the command. It goes on record, if fn says nothing more exact about it.
func storeAs(ctx context.Context, a *app, s *session, fn func(*dag.Graph) error) error {
	err := s.store.As(a.actor()).Update(ctx, func(g *dag.Graph) error {
		err := fn(g)
		if err == nil && !g.Audited() {
			err = g.History.Audit("", "", "")
		}
		return err
	})
	if err == nil {
		savePlans(ctx, a, s)
	}
	return err
}

// actor is the person who typed the command, or on whose behalf another one carries it out; an agent at work is none.
func (a *app) actor() dag.Actor {
	if a.getenv("RALPH_RUN") != "" || a.user == nil {
		return dag.Actor{}
	}
	return dag.Actor{Who: a.user(), Via: cmp.Or(a.within, "command line"), Action: a.typed}
}

// refuseAgent refuses a command that agents may not run while they work.
func (a *app) refuseAgent() error {
	run := a.getenv("RALPH_RUN")
	if run == "" || slices.Contains(agentsMay, a.command) {
		return nil
	}
	err := fmt.Errorf("%w: an agent at work cannot change the graph (this is one of run %s)", dag.ErrRefused, run)
	return hint(err, "an agent says how its task stands by a sigil; a person unsets RALPH_RUN")
}

// agentsMay lists what an agent may do to the graph while it works: it may add and note,
// but not change the state of its own task or how that is verified.
var agentsMay = []string{"add", "log", "import"}

// ofAgent is what is added to the graph: without secrets if an agent adds it. What a
// person writes is stored as it is.
func ofAgent[T any](a *app, added T) T {
	if a.getenv("RALPH_RUN") == "" {
		return added
	}
	return redact.Deep(a.redact, added)
}

// maxInput is the largest text that is read from a file or from stdin.
const maxInput = 1 << 30

// openInput opens a file, or stdin for "-".
func (a *app) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	if a.outside {
		return nil, hint(usagef("%s is a file of the server's machine, which a command from elsewhere cannot read", name), "pipe it in: write - in its place, and < %s after the command", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(usagef("%s is a folder", name), f.Close())
	}
	return f, nil
}

// readInput reads a file, or stdin for "-", and refuses what is too large.
func (a *app) readInput(name string) ([]byte, error) {
	r, err := a.openInput(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, usagef("%s is larger than %d MiB", name, maxInput>>20)
	}
	return data, nil
}
