package plansync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/seq"
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
// with it, and changes nothing if a file cannot be taken in.
func Rebuild(ctx context.Context, p project.Project, opts dag.Options, life func(dag.Process) dag.Life) (r Rebuilt, err error) {
	s := Sync{Project: p, Now: opts.Now, Note: func(string, ...any) {}, Warn: func(string, ...any) {}}
	files := s.files()
	r.Files = seq.Map(files, func(f *file) string { return f.path })
	if len(files) == 0 {
		return r, ErrNoFiles
	}
	folder, err := os.MkdirTemp(p.State(), filepath.Base(p.DB())+db.NewSuffix+"*")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // what is left is found by ralph doctor
	fresh := filepath.Join(folder, filepath.Base(p.DB()))
	if r.Tasks, err = s.build(ctx, fresh, opts, files); err != nil {
		return r, err
	}
	if r.Lost, err = inventory(ctx, p.DB(), opts, life); err != nil {
		return r, err
	}
	if r.Aside, err = putAside(p.DB(), opts.Now()); err != nil {
		return r, err
	}
	return r, os.Rename(fresh, p.DB())
}

// build makes a database at path that has what the files say.
func (s *Sync) build(ctx context.Context, path string, opts dag.Options, files []*file) (tasks int, err error) {
	d, err := db.Open(ctx, path, db.Options{})
	if err != nil {
		return 0, err
	}
	s.Store = dag.New(d, opts)
	if err = s.sync(ctx, files, false); err == nil {
		err = s.Store.View(ctx, func(g *dag.Graph) error {
			t, err := g.Tally(dag.Scope{})
			tasks = t.Total()
			return err
		})
	}
	return tasks, errors.Join(err, d.Close()) // closing it brings its log into the file
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
func inventory(ctx context.Context, path string, opts dag.Options, life func(dag.Process) dag.Life) (lost []string, err error) {
	lost = []string{}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return lost, nil
	}
	d, err := db.Open(ctx, path, db.Options{})
	if err != nil {
		return []string{"it cannot be read: " + err.Error()}, nil // that is why it is made again
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	store := dag.New(d, opts)
	err = store.View(ctx, func(g *dag.Graph) error {
		runs, err := g.OpenRuns()
		for _, run := range runs {
			if err == nil && life(run.Process) == dag.Alive {
				return fmt.Errorf("%w: run %s is under way", dag.ErrRefused, run.ID)
			}
		}
		return nil // what cannot be read says nothing
	})
	if errors.Is(err, dag.ErrRefused) {
		return nil, err
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
	return lost, nil
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
