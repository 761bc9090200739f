// Package gc removes what is old or was left by killed processes: journal entries, questions and
// messages, files of runs, abandoned planning, trees of an older ralph, temporary files. It never removes what a live run, a
// continued run or a pending verification needs.
package gc

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
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/journal"
)

// Collector removes what one project no longer needs. All fields are needed.
type Collector struct {
	Project project.Project
	DB      *db.DB
	Store   *dag.Store
	Life    func(dag.Process) dag.Life
	Temps   []string // folders of killed processes in the temporary folder, and slots that were removed
	Now     func() time.Time
}

// Result is what was removed or, in a dry run, would be.
type Result struct {
	Entries  int      `json:"journal_entries"`
	Failures int      `json:"journal_failures"`
	Requests int      `json:"requests"` // questions and messages, with their answers
	Audited  int      `json:"audit_entries"`
	Deleted  int      `json:"deleted_tasks"` // of which something was kept in case they come back
	Runs     []string `json:"runs"`          // whose files are gone
	Planning []string `json:"planning"`      // steps that were abandoned
	Temps    int      `json:"temporary_files"`
	Freed    int64    `json:"freed_bytes"`
	DryRun   bool     `json:"dry_run"`
	Paths    []string `json:"paths"` // relative to the project, if they are in it

	Removed []Leftover `json:"-"`
}

func (r *Result) add(root string, l Leftover) {
	r.Freed += l.Bytes
	r.Removed = append(r.Removed, l)
	r.Paths = append(r.Paths, human.Path(l.Path, root))
}

// errDryRun rolls the transaction of a dry run back.
var errDryRun = errors.New("a dry run")

// Collect removes what is older than keep. The database records first that files are gone: if
// the process dies on the way, the next collection finds the files.
func (c Collector) Collect(ctx context.Context, keep time.Duration, dry bool) (Result, error) {
	r := Result{Runs: []string{}, Planning: []string{}, Paths: []string{}, DryRun: dry}
	retention := journal.Retention{Now: c.Now(), Keep: keep}
	var cutoffs dag.Cutoffs
	cutoffs.Others, cutoffs.Failures = retention.Cutoffs()
	before := c.size()
	var old, trees []string
	idle := false
	err := c.Store.Update(ctx, func(g *dag.Graph) error {
		pruned, err := journal.Prune(g.Tx(), retention)
		if err != nil {
			return err
		}
		r.Entries, r.Failures = pruned.Entries, pruned.Failures
		r.Requests, _ = inbox.Prune(g, cutoffs) // the first error of the database is that of the transaction
		r.Audited, _ = g.History.PruneAudit(cutoffs)
		r.Deleted, _ = g.Plan.PruneGone()
		old = c.oldRuns(g, cutoffs)
		trees, _ = g.History.Trees()
		if idle, err = c.idle(g); err == nil && dry {
			err = errDryRun
		}
		return err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return r, err
	}
	var failed []error
	remove := func(path string) bool {
		l := measure(path)
		if !dry {
			if err := sandbox.RemoveAll(path); err != nil {
				failed = append(failed, err)
				return false
			}
		}
		r.add(c.Project.Root, l)
		return true
	}
	for _, id := range old {
		if remove(filepath.Join(c.Project.Runs(), id)) {
			r.Runs = append(r.Runs, id)
		}
	}
	for _, p := range c.Planning() {
		// Discard refuses if somebody has just started to work on it.
		if p.Touched.After(cutoffs.Others) || features.Busy(p.Path) || !dry && features.Discard(p.Path) != nil {
			continue
		}
		r.add(c.Project.Root, p.Leftover)
		r.Planning = append(r.Planning, filepath.Base(filepath.Dir(p.Path))+"/"+p.Step)
	}
	for _, t := range c.Temporaries() {
		if remove(t.Path) {
			r.Temps++
		}
	}
	if _, err := os.Lstat(c.Project.Objects()); err == nil && idle && !c.needed(trees) { // an older ralph that runs has trees that the database does not know yet
		remove(c.Project.Objects())
	}
	err = errors.Join(failed...)
	if dry {
		return r, err
	}
	if vacuum := c.DB.Vacuum(ctx); vacuum != nil {
		return r, errors.Join(vacuum, err)
	}
	r.Freed += max(before-c.size(), 0)
	if err != nil {
		err = fmt.Errorf("%w: %w", dag.ErrRefused, err)
	}
	return r, err
}

// needed reports whether work may still be compared with a tree that an older ralph stored in the project's state: it stored only what the
// repository did not have.
func (c Collector) needed(trees []string) bool {
	return slices.ContainsFunc(trees, func(id string) bool {
		_, err := os.Lstat(filepath.Join(c.Project.Objects(), "objects", id[:min(2, len(id))], id[min(2, len(id)):]))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// size is that of the database, which shrinks.
func (c Collector) size() int64 { return sum([]string{c.Project.DB(), c.Project.DB() + "-wal"}) }

// oldRuns lists the folders of runs to remove, and records that in the database: of runs that
// nobody needs, and of runs that the database does not know and nobody touched.
func (c Collector) oldRuns(g *dag.Graph, cutoffs dag.Cutoffs) (old []string) {
	entries, _ := os.ReadDir(c.Project.Runs()) // there may be none
	prunable, _ := g.History.Prunable(cutoffs) // the first error of the database is that of the transaction
	for _, e := range entries {
		id := e.Name()
		if !e.IsDir() {
			continue
		}
		if slices.ContainsFunc(prunable, func(r dag.Run) bool { return r.ID == id }) {
			_ = g.History.Pruned(id)
			old = append(old, id)
			continue
		}
		_, err := g.History.ResolveRun(id)
		if errors.Is(err, dag.ErrNotFound) && measure(filepath.Join(c.Project.Runs(), id)).Touched.Before(cutoffs.Failures) {
			old = append(old, id)
		}
	}
	return old
}

// idle reports whether no run is alive.
func (c Collector) idle(g *dag.Graph) (bool, error) {
	open, err := g.History.OpenRuns()
	return !slices.ContainsFunc(open, func(r dag.Run) bool { return c.Life(r.Process) != dag.Dead }), err
}

// Automatic collects at most once a day, and only if no run is alive. ran is false if it did not
// collect.
func (c Collector) Automatic(ctx context.Context, keep time.Duration) (r Result, ran bool, err error) {
	last := filepath.Join(c.Project.State(), "last-gc")
	if text, err := os.ReadFile(last); err == nil {
		at, err := time.Parse(time.RFC3339+"\n", string(text))
		if since := c.Now().Sub(at); err == nil && since >= 0 && since < 24*time.Hour { // negative if the clock was set back
			return r, false, nil
		}
	}
	idle := false
	err = c.Store.View(ctx, func(g *dag.Graph) (err error) { idle, err = c.idle(g); return err })
	if err != nil || !idle {
		return r, false, nil //nolint:nilerr // the next run tries again
	}
	if r, err = c.Collect(ctx, keep, false); err != nil {
		return r, true, err
	}
	return r, true, os.WriteFile(last, []byte(c.Now().UTC().Format(time.RFC3339)+"\n"), 0o600)
}
