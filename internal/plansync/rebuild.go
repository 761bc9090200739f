package plansync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
)

// ErrNoFiles means that no file has a plan of which a database could be made.
var ErrNoFiles = fmt.Errorf("%w: there is no plan file", dag.ErrRefused)

// Rebuilt is what became of a database that was made again.
type Rebuilt struct {
	Tasks int      `json:"tasks"`
	Files []string `json:"files"`
	Aside string   `json:"aside"` // the old database; empty if there was none
	Lost  []string `json:"lost"`  // what only that knows
}

// Rebuild makes a new database of the plan files, and puts the old one aside, whatever it is. It refuses while a run works
// with it, and without yes if a part of the plan is only in the old database, and changes nothing if a file cannot be taken in.
func Rebuild(ctx context.Context, p project.Project, opts dag.Options, life func(dag.Process) dag.Life, yes bool) (r Rebuilt, err error) {
	s := Sync{Project: p, Now: opts.Now, Note: func(string, ...any) {}, Warn: func(string, ...any) {}}
	files := s.files()
	r.Files = seq.Map(files, func(f *file) string { return f.path })
	if len(files) == 0 {
		return r, ErrNoFiles
	}
	if err := s.refuseSameNames(ctx, files); err != nil {
		return r, err
	}
	folder, err := os.MkdirTemp(p.State(), filepath.Base(p.DB())+db.NewSuffix+"*")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // what is left is found by ralph doctor
	fresh := filepath.Join(folder, filepath.Base(p.DB()))
	made, err := s.build(ctx, fresh, opts, files)
	if err != nil {
		return r, err
	}
	r.Tasks = len(made.tasks)
	old, lost, err := inventory(ctx, p.DB(), opts, life)
	if err != nil {
		return r, err
	}
	missing := old.without(made)
	if len(missing) > 0 && !yes {
		return r, &LossError{missing}
	}
	r.Lost = slices.Concat(missing, lost)
	if r.Aside, err = putAside(p.DB(), opts.Now()); err != nil {
		return r, err
	}
	return r, os.Rename(fresh, p.DB())
}

// build makes a database at path that has what the files say.
func (s *Sync) build(ctx context.Context, path string, opts dag.Options, files []*file) (made outline, err error) {
	d, err := dag.Open(ctx, path, db.Options{})
	if err != nil {
		return made, err
	}
	s.Store = dag.New(d, opts)
	if err = s.sync(ctx, files, false); err == nil {
		err = s.Store.View(ctx, func(g *dag.Graph) (err error) { made, err = outlineOf(g); return err })
	}
	return made, errors.Join(err, d.Close()) // closing it brings its log into the file
}

// LossError refuses to make a database that has less of the plan than the old one.
type LossError struct{ Missing []string }

func (e *LossError) Error() string {
	return "only the old database has: " + human.List(e.Missing, 10)
}

// Is makes it a refusal.
func (e *LossError) Is(target error) bool { return target == dag.ErrRefused }

// outline is what two databases are compared by.
type outline struct {
	features []string
	gates    map[string][]string
	tasks    []dag.Task
}

func outlineOf(g *dag.Graph) (o outline, err error) {
	list, err := g.Plan.Features()
	if err != nil {
		return o, err
	}
	o.features, o.gates = seq.Map(list, func(f dag.Feature) string { return f.Name }), map[string][]string{}
	for _, name := range o.features {
		if o.gates[name], err = g.Plan.FeatureGates(name); err != nil {
			return o, err
		}
	}
	acceptances, err := g.Plan.Acceptances()
	if err != nil {
		return o, err
	}
	err = eachItem(g, dag.Filter{}, nil, acceptances, func(item taskfile.Item, _ []string) error {
		o.tasks = append(o.tasks, item.Task)
		return nil
	})
	return o, err
}

// without lists what another one lacks.
func (o outline) without(other outline) (list []string) {
	for _, name := range o.features {
		if !slices.Contains(other.features, name) {
			list = append(list, "feature "+name)
		} else if len(o.gates[name]) > 0 && !slices.Equal(o.gates[name], other.gates[name]) {
			list = append(list, "the gates of feature "+name)
		}
	}
	has := map[string]dag.Status{}
	for _, t := range other.tasks {
		has[t.ID] = t.Status
	}
	for _, t := range o.tasks {
		if t.Status == dag.InProgress { // no run is alive, so it is to be done
			t.Status = dag.Pending
		}
		switch status, ok := has[t.ID]; {
		case !ok:
			list = append(list, t.ID+" "+t.Title)
		case status != t.Status:
			list = append(list, fmt.Sprintf("%s is %s, and %s in its file", t.ID, t.Status, status))
		}
	}
	return list
}

// What only the database has, and how to count it.
var contents = []struct{ what, query string }{
	{"runs", `SELECT count(*) FROM runs;`},
	{"attempts", `SELECT count(*) FROM attempts;`},
	{"entries of the journal", `SELECT count(*) FROM journal;`},
	{"log lines of tasks", `SELECT count(*) FROM task_logs;`},
	{"questions and messages", `SELECT count(*) FROM requests;`},
	{"records of the audit", `SELECT count(*) FROM audit;`},
}

const spentSQL = `SELECT coalesce(sum(cost_usd), 0) FROM attempts;`

// inventory says what an old database knows beside its plan, as far as it can be read, and refuses if a run is alive.
func inventory(ctx context.Context, path string, opts dag.Options, life func(dag.Process) dag.Life) (plan outline, lost []string, err error) {
	lost = []string{}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return plan, lost, nil
	}
	d, err := dag.Open(ctx, path, db.Options{})
	if err != nil {
		return plan, []string{"it cannot be read: " + err.Error()}, nil // that is why it is made again
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	store := dag.New(d, opts)
	err = store.View(ctx, func(g *dag.Graph) error {
		runs, err := g.History.OpenRuns()
		for _, run := range runs {
			if err == nil && life(run.Process) == dag.Alive {
				return fmt.Errorf("%w: run %s is under way", dag.ErrRefused, run.ID)
			}
		}
		if plan, err = outlineOf(g); err != nil {
			lost = append(lost, "its plan cannot be read: "+err.Error())
		}
		return nil // what cannot be read says nothing
	})
	if errors.Is(err, dag.ErrRefused) {
		return plan, nil, err
	}
	for _, c := range contents {
		n, err := count(ctx, d, c.query, (*db.Row).Int)
		switch {
		case err != nil:
			lost = append(lost, c.what+": cannot be read")
		case n > 0:
			lost = append(lost, fmt.Sprintf("%s: %d", c.what, n))
		}
	}
	if usd, err := count(ctx, d, spentSQL, (*db.Row).Float); err == nil && usd > 0 {
		lost = append(lost, "costs: "+human.Dollars(usd))
	}
	return plan, lost, nil
}

func count[T any](ctx context.Context, d *db.DB, query string, read func(*db.Row) T) (n T, err error) {
	err = d.View(ctx, func(tx *db.Tx) (err error) { n, err = db.One(tx, query, read); return err })
	return n, err
}

// putAside gives the old database, with its log, a name that says what it is.
func putAside(path string, now time.Time) (aside string, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	aside = fmt.Sprintf("%s-before-rebuild-%s", path, now.UTC().Format("20060102-150405"))
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-before-rebuild-%s-%d", path, now.UTC().Format("20060102-150405"), n)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} { // a log without its file is refused by every command, a file without its log is not
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}
