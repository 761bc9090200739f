package wiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/git"
	"ralph/internal/jsonval"
	"ralph/internal/merge"
	"ralph/internal/project"
	"ralph/internal/redact"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/verify"
)

// SlotOptions say where the slots of the project are, and what is in them: copies of a repository. Without one, they can
// be listed and removed.
func SlotOptions(a *cli.App, s *cli.Session, repo *git.Repo) (slot.Options, error) {
	p, root := s.Config.Parallel, s.Project.Root
	dir := p.Dir
	if home, ok := strings.CutPrefix(dir, "~/"); ok {
		dir = filepath.Join(a.Getenv("HOME"), home)
	} else if dir == "" {
		dir = filepath.Join(a.StateHome(), "ralph", "slots")
	}
	if !filepath.IsAbs(dir) {
		if p.Dir == "" {
			return slot.Options{}, cli.Hint(cli.Usagef("slots have no place: neither HOME nor XDG_STATE_HOME is set"), "set one of them, or dir in [parallel] of .ralph.toml")
		}
		return slot.Options{}, fmt.Errorf("%w: parallel.dir: %q is not an absolute path", project.ErrConfig, p.Dir)
	}
	dir = filepath.Join(dir, cli.FolderOf(root)) // a user may configure one folder for all projects
	o := slot.Options{
		Dir: dir, State: filepath.Join(s.Project.State(), "slots"), Project: root, Name: filepath.Base(root),
		Copy: p.Copy, Assumed: !s.Config.Given("parallel.copy"), SetupIs: p.Setup, SetupOn: p.SetupOn, MinFree: int64(p.MinFreeGiB * (1 << 30)), Repo: repo,
	}
	if repo != nil {
		o.Dotenv = learnDotenv(a, repo)
	}
	switch {
	case repo == nil:
		return o, nil
	case p.Dir != "" && below(repo.Dir(), dir):
		return o, fmt.Errorf("%w: parallel.dir: %q is in the repository", project.ErrConfig, dir)
	}
	var err error
	o.Here = dag.Here
	o.Own = func(ctx context.Context) []string {
		return loop.OwnFiles(ctx, s.Store, OwnFiles(a, s, OutputOptions{}))
	}
	if o.Folder, err = merge.FolderRef(repo); err == nil {
		o.Sub, err = filepath.Rel(repo.Dir(), root)
	}
	return o, err
}

// learnDotenv makes the values of .env files secret. One that the repository has is not: it would hide words such as "development" everywhere.
func learnDotenv(a *cli.App, repo *git.Repo) func(context.Context, string) {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(ctx context.Context, text string) {
		mu.Lock()
		defer mu.Unlock()
		if known[text] {
			return
		}
		values := redact.Dotenv(text)
		public, err := repo.Has(ctx, "HEAD", values)
		a.Redact.Add(slices.DeleteFunc(values, func(value string) bool { return err == nil && slices.Contains(public, value) })...)
		known[text] = err == nil
	}
}

// FindParallel finds where agents of earlier runs worked side by side.
func FindParallel(a *cli.App, s *cli.Session) func(context.Context) (land.Site, error) {
	return func(ctx context.Context) (land.Site, error) {
		repo, err := git.OpenRepo(ctx, s.Project.Root)
		if err != nil {
			return land.Site{}, err
		}
		o, err := SlotOptions(a, s, repo)
		return land.Site{Repo: repo, Slots: slot.Open(o)}, err
	}
}

// site is a slot or a room as a place for agents and gates.
type site struct {
	confiner *sandbox.Confiner
	opener   *agents.Opener
}

// layersOf are those for what setup or other programs write in caches and in folders that a slot or room lays over snapshots.
func layersOf(at *slot.Slot, setup bool) sandbox.Layers {
	own, landed := at.Caches()
	return sandbox.Layers{Own: own, Landed: landed, Brought: seq.Map(at.Laid(setup), func(l slot.Laid) sandbox.Brought {
		return sandbox.Brought{Path: l.Path, From: l.From, Own: l.Own}
	})}
}

// sites finds or makes the site of each slot and room by its folder.
func sites(o *agents.Opener, slots *slot.Pool) func(dir string) (site, error) {
	var mu sync.Mutex
	at := map[string]site{}
	return func(dir string) (site, error) {
		mu.Lock()
		defer mu.Unlock()
		if found, is := at[dir]; is {
			return found, nil
		}
		place := slots.Of(dir)
		if place == nil { // the project's own folder
			return site{o.Sandbox, o}, nil
		}
		confiner, err := o.Sandbox.In(dir, place.Place())
		if err == nil {
			at[dir] = site{confiner, o.In(dir, confiner, func() sandbox.Layers { return layersOf(place, false) })}
		}
		return at[dir], err
	}
}

// OpenSlots has agents and gates work in slots.
func OpenSlots(ctx context.Context, a *cli.App, s *cli.Session, o *agents.Opener, opts *loop.Options) error {
	slots, err := SlotOptions(a, s, opts.Landing.Repo)
	if err != nil {
		return err
	}
	runner := opts.Verify.GateRunner
	var in func(dir string) (site, error)
	confined := func(at *slot.Slot, p sandbox.Process) (r verify.Gates, end func() error, err error) {
		place, err := in(at.Dir())
		if err != nil {
			return r, nil, err
		}
		p.Env = runner.Env
		x, err := place.confiner.ForWork(p)
		if err != nil {
			return r, nil, err
		}
		r = runner
		r.Dir, r.Confine, r.Env = at.Dir(), x.Spec, slices.Concat(runner.Env, x.Env, at.Env())
		r.Seen, r.Temp = x.Place.Inside(at.Dir()), x.Temp()
		return r, x.Close, nil
	}
	if slots.Branch = opts.Landing.Target; opts.Landing.Here { // gates ask for the branch, too
		if slots.Branch, err = CheckedOut(ctx, opts.Landing.Repo); err != nil {
			return err
		}
	}
	slots.Own = func(ctx context.Context) []string { return loop.OwnFiles(ctx, s.Store, opts.Place.OwnFiles) }
	setUpSlots(s, &slots, opts.Verify.Withheld, opts.Host.Redact, func(at *slot.Slot) (verify.Gates, func() error, error) {
		return confined(at, sandbox.Process{Online: true, Layers: layersOf(at, true)}) // it installs what gates need
	})
	slots.Layers, slots.Sees = o.Sandbox.Layers, o.Sandbox.Sees
	opts.Landing.Slots = slot.Open(slots)
	in = sites(o, opts.Landing.Slots)
	opts.Landing.Gates = func(room slot.Room) (verify.Gates, func() error, error) {
		return confined(room.Slot, sandbox.Process{Upper: room.Upper(), Layers: layersOf(room.Slot, false)})
	}
	if o.Sandbox.Verification.Level == sandbox.Namespaces {
		opts.Landing.Folder = func() (*verify.Gates, func() error, error) {
			x, err := o.Sandbox.ForVerification(sandbox.Process{Env: runner.Env})
			if err != nil {
				return nil, nil, err
			}
			r := runner
			r.Dir, r.Confine, r.Env = s.Project.Root, x.Spec, slices.Concat(runner.Env, x.Env)
			return &r, x.Close, nil
		}
	}
	opts.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		at, err := in(op.Dir)
		if err != nil {
			return nil, err
		}
		return openAttempt(a, at.opener, a.CredentialsOf(s))(ctx, op)
	}
	return nil
}

// setUpSlots has the configured command make slots ready, run as gates are there, but never without a network.
func setUpSlots(s *cli.Session, o *slot.Options, withheld string, redact *redact.Redactor, gates func(*slot.Slot) (verify.Gates, func() error, error)) {
	if o.SetupIs == "" {
		return
	}
	state := o.State
	o.Setup = func(ctx context.Context, at *slot.Slot) error {
		r, end, err := gates(at)
		if err != nil {
			return err
		}
		defer func() { _ = end() }() // what is left goes with the sandbox
		r.Timeout, r.Redact = s.Config.Parallel.SetupTimeout.Std(), redact
		return setUp(ctx, r, s.Config.Parallel.Setup, filepath.Join(state, "setup-"+strings.ReplaceAll(at.Name(), " ", "-")+".log"), withheld)
	}
}

// setUp runs the command that makes a slot ready. All it prints is in log. A failure may be due to what is withheld from it.
func setUp(ctx context.Context, runner verify.Gates, command, log, withheld string) error {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	res, err := runner.Run(ctx, command, f)
	if err = errors.Join(err, f.Close()); err == nil && !res.Passed {
		err = fmt.Errorf("%q in parallel.setup: %s; all it printed is in %s", command, res.Exit, log)
		if withheld != "" {
			err = fmt.Errorf("%w; %s", err, withheld)
		}
	}
	return err
}

// KeptWork lists the refs of work that did not land, by attempt. Nothing fails where git has none.
func KeptWork(ctx context.Context, root string) map[string]string {
	repo, err := git.OpenRepo(ctx, root)
	if err != nil {
		return nil
	}
	kept, _ := merge.Kept(ctx, repo)
	return kept
}

// UsedSlot is a slot, and who uses it.
type UsedSlot struct {
	slot.Info
	By dag.Attempt // the zero Attempt if nobody does
}

// Object is it as JSON.
func (u UsedSlot) Object() jsonval.Object {
	return jsonval.Object{"n", u.N, "path", u.Path, "bytes", u.Size, "used_at", u.Used, "task", cli.Null(u.By.Task), "attempt", cli.Null(u.By.ID)}
}

// ListSlots lists the slots in the order of their numbers.
func ListSlots(a *cli.App, s *cli.Session, g *dag.Graph) (*slot.Pool, []UsedSlot, error) {
	o, err := SlotOptions(a, s, nil)
	if err != nil {
		return nil, nil, err
	}
	pool := slot.Open(o)
	list, err := pool.List()
	attempts, derr := g.Queue.InSlots()
	by := seq.Index(attempts, func(at dag.Attempt) int { return at.Slot })
	return pool, seq.Map(list, func(i slot.Info) UsedSlot { return UsedSlot{i, by[i.N]} }), cmp.Or(err, derr)
}
