// Package cli is the command line of ralph without its commands: commands and flags as values, reading what was typed, opening a
// project, printing, asking, exit statuses and hints. What a command does is done by the packages that it calls.
package cli

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

// App is one invocation: the streams, the command tree and what was opened.
type App struct {
	System
	globals
	Raw    io.Writer // stdout as it is, for what is no text for people
	Exact  io.Writer // the same for results that are read back: hiding a value would change it
	parser *cli.App
	Root   Command
	Log    zerolog.Logger
	Redact *redact.Redactor // knows every secret value; text leaves the process through it
	taken  chan struct{}    // closed when a command deals with signals itself
	keys   *bufio.Reader    // lines that a person types
	Looks  bool             // the command only looks: what others left stays

	Sandbox *sandbox.Confiner // of a run
	AtEnd   []func() error    // removes the temporary files of the command
	opened  *Session          // of a run in whose process the command is carried out; nil for all others
	within  string            // the command that carries this one out: "mcp"; empty if a person typed it
	Serves  bool              // it works for a server: a database that is gone may come back, and an empty one would be in its place
	Shows   bool              // it works for a server that is read-only
	Outside bool              // it is carried out for somebody who may not name files of this machine
	Allow   []string          // flags that weaken a run and may come from outside: [serve] allow
	stored  atomic.Bool       // the graph was changed, even if a later step fails
}

// New is an invocation with a tree of commands.
func New(sys System, root Command) *App {
	a := &App{
		System: sys, Raw: sys.Stdout, Exact: sys.Stdout, Log: zerolog.Nop(), Redact: redact.New(),
		taken: make(chan struct{}), Root: root,
	}
	a.parser = &cli.App{
		Name: "ralph", HelpName: "ralph",
		Flags: buildFlags(GlobalFlags), Commands: Tree(a, root.Sub...),
		OnUsageError:   badUsage,
		ExitErrHandler: func(*cli.Context, error) {}, // only run chooses the exit status
		HideHelp:       true, HideVersion: true, DisableSliceFlagSeparator: true,
	}
	return a
}

// GlobalFlags are accepted anywhere.
var GlobalFlags = []Flag{
	{Name: "project", Usage: "use the project in `DIR` instead of the nearest one above"},
	{Name: "server", Usage: "carry the command out on the ralph serve at `URL`", Shown: "$RALPH_SERVER"},
	{Name: "server-token-file", Usage: "read the token of that server from `FILE`", Shown: "$RALPH_SERVER_TOKEN"},
	{Name: "color", Usage: "`WHEN` to use colour: auto, always or never", Value: "auto"},
	Bool("quiet", "print only results and errors", "q"),
	Bool("verbose", "log each step and how long it takes", "v"),
	helpFlag,
}

// globals are the flags that every command has, read once when a command begins.
type globals struct {
	command   string // that runs
	typed     string // the same with its group: "task reset"
	Dir       string // of the project; empty is the nearest one above
	color     string
	Quiet     bool
	Verbose   bool
	LogFormat string // of a run's log; empty if none is asked for
	LogFile   string
}

func (a *App) readGlobals(c *cli.Context) error {
	a.globals = globals{
		command: c.Command.Name, typed: strings.TrimPrefix(c.Command.HelpName, "ralph "), Dir: c.String("project"), color: c.String("color"), Quiet: c.Bool("quiet"), Verbose: c.Bool("verbose"),
		LogFormat: c.String("log-format"), LogFile: c.String("log-file"),
	}
	return CheckChoice("color", a.color, "auto", "always", "never")
}

// badUsage is for what the library refuses although the permuter accepted it.
func badUsage(_ *cli.Context, err error, _ bool) error { return UsageError{err.Error()} }

// Session is an open project.
type Session struct {
	Project project.Project
	Config  project.Loaded
	Store   *dag.Store
	DB      *db.DB
	Plans   *plansync.Sync
	shared  bool // its owner closes it

	Unsynced error // why plan files could not be taken in, until somebody was told
	Warn     func(error)
}

// Close closes the database, unless it is a run's, and warns of plan files that nobody was told about.
func (s *Session) Close() error {
	if s.shared {
		return nil
	}
	if err := s.RefuseUnsynced(); err != nil {
		s.Warn(err)
	}
	return s.DB.Close()
}

// NoFolder is the error of a working folder that was deleted under the shell.
func NoFolder(err error) error {
	return Hint(Usagef("the working folder cannot be found: %v", err), "cd to a folder that exists")
}

// FindProject finds the project that was named, or the nearest one above.
func (a *App) FindProject() (project.Project, error) {
	dir, find := a.Dir, project.At
	if dir == "" {
		var err error
		if dir, err = a.Getwd(); err != nil {
			return project.Project{}, NoFolder(err)
		}
		find = project.Find
	}
	p, err := find(dir)
	if from := a.Getenv("RALPH_PROJECT"); from != "" && a.Dir == "" && errors.Is(err, project.ErrNone) {
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
			err = Hint(err, "put it back with: %s && ralph init", RestoreCommand(saved[0]))
		}
	}
	return p, err
}

// Open finds the project, loads its configuration and opens its graph. With an error that is about the graph alone, the
// session has the rest.
func (a *App) Open(ctx context.Context) (*Session, error) { return a.OpenFor(ctx, db.Options{}) }

// OpenFor is Open with options for the database.
func (a *App) OpenFor(ctx context.Context, opts db.Options) (*Session, error) {
	if a.opened != nil {
		return a.opened, nil
	}
	begin := a.Now()
	p, err := a.FindProject()
	if err != nil {
		return nil, err
	}
	config, err := a.LoadConfig(p.Config())
	if err != nil {
		return nil, Blame(a, p, err)
	}
	bare := &Session{Project: p, Config: config}
	if err := p.Ignore(); err != nil {
		return bare, &db.Error{Path: p.State(), Kind: db.ReadOnly, Err: err}
	}
	if _, err := os.Stat(p.DB()); errors.Is(err, fs.ErrNotExist) {
		if err := db.NotRescued(p.DB(), p.Root); err != nil {
			return bare, err
		}
		if a.Serves {
			return bare, Hint(fmt.Errorf("the database is gone: %s was moved or deleted", p.DB()), "put it back, or make a new one where the project is: ralph status")
		}
	}
	opts.ReadOnly = a.Shows
	d, err := dag.Open(ctx, p.DB(), opts)
	if err != nil {
		return bare, err
	}
	store := dag.New(d, dag.Options{Now: a.Now, Redact: a.Redact.Text, KeepGoing: config.Run.KeepGoing})
	s := &Session{Project: p, Config: config, DB: d, Store: store}
	if err := s.refuseReplaced(ctx); err != nil {
		return bare, errors.Join(err, s.Close())
	}
	s.Plans, s.Warn = newPlans(a, s), func(err error) { warnUnsynced(a, err) }
	takePlans(ctx, a, s)
	log := a.Logger()
	log.Debug().Str("path", p.DB()).Dur("dur", a.Now().Sub(begin)).Msg("project opened")
	return s, nil
}

// refuseReplaced refuses an empty database beside one that a run saved: another command was quicker
// than the run, and made a new one before the run could save the old one.
func (s *Session) refuseReplaced(ctx context.Context) error {
	err := db.NotRescued(s.Project.DB(), s.Project.Root)
	if err == nil {
		return nil
	}
	return s.Store.View(ctx, func(g *dag.Graph) error {
		if tally, terr := g.Tasks.Tally(dag.Scope{}); terr != nil || tally.Total() > 0 {
			return terr
		}
		return err
	})
}

// LoadConfig reads the user's configuration and the project's, and learns their secrets and those in addresses of git's.
func (a *App) LoadConfig(path string) (project.Loaded, error) {
	config, err := project.Load(a.UserConfig(), path, a.Getenv)
	agents.LearnSecrets(config.Config, a.Redact)
	for _, file := range append(seq.Map(git.Find(filepath.Dir(path)).Folders, func(dir string) string { return filepath.Join(dir, "config") }), filepath.Join(a.Getenv("HOME"), ".gitconfig")) {
		text, _ := copyfile.Read(file, 1<<20) // it need not be there
		a.Redact.Add(redact.Passwords(string(text))...)
	}
	return config, err
}

// View and update run fn on the project's graph in one transaction.
func (a *App) View(ctx context.Context, fn func(*Session, *dag.Graph) error) error {
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Store.View(ctx, func(g *dag.Graph) error { return fn(s, g) })
}

// Read reads one thing from the graph of a project that is open.
func Read[T any](ctx context.Context, s *Session, read func(*dag.Graph) (T, error)) (found T, err error) {
	err = s.Store.View(ctx, func(g *dag.Graph) (err error) { found, err = read(g); return err })
	return found, err
}

// Update is for what changes the plan: it is refused if a plan file cannot be taken in.
func (a *App) Update(ctx context.Context, fn func(*Session, *dag.Graph) error) error {
	return inOpened(ctx, a, Change, fn)
}

// Record is for what is no part of the plan: control of runs, answers, messages, and what happened. It works whatever plan files
// say, because a run has to be stopped also in the middle of a merge in git.
func (a *App) Record(ctx context.Context, fn func(*Session, *dag.Graph) error) error {
	return inOpened(ctx, a, RecordIn, fn)
}

// inOpened opens the project and stores what fn does.
func inOpened(ctx context.Context, a *App, store func(context.Context, *App, *Session, func(*dag.Graph) error) error, fn func(*Session, *dag.Graph) error) error {
	if err := a.RefuseAgent(); err != nil { // in its sandbox the database could not be opened
		return err
	}
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return store(ctx, a, s, func(g *dag.Graph) error { return fn(s, g) })
}

// Change is update for a project that is open already.
func Change(ctx context.Context, a *App, s *Session, fn func(*dag.Graph) error) error {
	if err := cmp.Or(a.RefuseAgent(), s.RefuseUnsynced()); err != nil {
		return err
	}
	return RecordIn(ctx, a, s, fn)
}

// RecordIn is record for a project that is open already.
func RecordIn(ctx context.Context, a *App, s *Session, fn func(*dag.Graph) error) error {
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	err := storeAs(ctx, a, s, fn)
	a.stored.Store(err == nil)
	return err
}

// ChangeAs changes the plan by the word of who typed the command, even if that is an agent.
func ChangeAs(ctx context.Context, a *App, s *Session, fn func(*dag.Graph) error) error {
	if err := s.RefuseUnsynced(); err != nil {
		return err
	}
	return storeAs(ctx, a, s, fn)
}

// storeAs changes the graph by the word of who typed the command. It goes on record, if fn says nothing more exact about it.
func storeAs(ctx context.Context, a *App, s *Session, fn func(*dag.Graph) error) error {
	err := s.Store.As(a.Actor()).Update(ctx, func(g *dag.Graph) error {
		err := fn(g)
		if err == nil && !g.Audited() {
			err = g.History.Audit("", "", "")
		}
		return err
	})
	if err == nil {
		SavePlans(ctx, a, s)
	}
	return err
}

// Actor is the person who typed the command, or on whose behalf another one carries it out; an agent at work is none.
func (a *App) Actor() dag.Actor {
	if a.Getenv("RALPH_RUN") != "" || a.User == nil {
		return dag.Actor{}
	}
	return dag.Actor{Who: a.User(), Via: cmp.Or(a.within, "command line"), Action: a.typed}
}

// RefuseAgent refuses a command that agents may not run while they work.
func (a *App) RefuseAgent() error {
	run := a.Getenv("RALPH_RUN")
	if run == "" || slices.Contains(agentsMay, a.command) {
		return nil
	}
	err := fmt.Errorf("%w: an agent at work cannot change the graph (this is one of run %s)", dag.ErrRefused, run)
	return Hint(err, "an agent says how its task stands by a sigil; a person unsets RALPH_RUN")
}

// agentsMay lists what an agent may do to the graph while it works: it may add and note,
// but not change the state of its own task or how that is verified.
var agentsMay = []string{"add", "log", "import"}

// OfAgent is what is added to the graph: without secrets if an agent adds it. What a
// person writes is stored as it is.
func OfAgent[T any](a *App, added T) T {
	if a.Getenv("RALPH_RUN") == "" {
		return added
	}
	return redact.Deep(a.Redact, added)
}

// maxInput is the largest text that is read from a file or from stdin.
const maxInput = 1 << 30

// OpenInput opens a file, or stdin for "-".
func (a *App) OpenInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.Stdin), nil
	}
	if a.Outside {
		return nil, Hint(Usagef("%s is a file of the server's machine, which a command from elsewhere cannot read", name), "pipe it in: write - in its place, and < %s after the command", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, Usagef("%v", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(Usagef("%s is a folder", name), f.Close())
	}
	return f, nil
}

// ReadInput reads a file, or stdin for "-", and refuses what is too large.
func (a *App) ReadInput(name string) ([]byte, error) {
	r, err := a.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, Usagef("%s is larger than %d MiB", name, maxInput>>20)
	}
	return data, nil
}
