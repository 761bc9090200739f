package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/git"
	"ralph/internal/sandbox"
	"ralph/journal"
)

// errDry takes back what a dry run did to the graph.
var errDry = errors.New("a dry run")

// collect removes what is older than keep or, in a dry run, only says what that is. The
// graph says first that files are gone: whoever dies on the way leaves files that the next
// time finds.
func (a *app) collect(ctx context.Context, s *session, keep time.Duration, dry bool) (gcJSON, error) {
	done := gcJSON{Runs: []string{}, Planning: []string{}, Paths: []string{}, DryRun: dry}
	retention := journal.Retention{Now: a.now(), Keep: keep}
	cutoffs := dag.Cutoffs{}
	cutoffs.Others, cutoffs.Failures = retention.Cutoffs()
	before := a.held(s)
	var old, trees []string
	quiet := false
	err := s.store.Update(ctx, func(g *dag.Graph) error {
		pruned, err := journal.Prune(g.Tx(), retention)
		if err != nil {
			return err
		}
		done.Entries, done.Failures = pruned.Entries, pruned.Failures
		if old, err = a.oldRuns(g, s, cutoffs); err != nil {
			return err
		}
		if trees, err = g.Trees(); err != nil {
			return err
		}
		open, err := g.OpenRuns()
		quiet = !slices.ContainsFunc(open, func(r dag.Run) bool { return life(r.Process) != dag.Dead })
		if err == nil && dry {
			err = errDry
		}
		return err
	})
	if err != nil && !errors.Is(err, errDry) {
		return done, err
	}
	gone := func(l leftover) {
		done.Freed += l.bytes
		done.removed = append(done.removed, l)
		done.Paths = append(done.Paths, relativeTo(s, l.path))
	}
	remove := func(path string) error {
		l := measure(path)
		if !dry {
			if err := sandbox.RemoveAll(path); err != nil {
				return err
			}
		}
		gone(l)
		return nil
	}
	var bad error
	for _, id := range old {
		if err := remove(filepath.Join(s.project.Runs(), id)); err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		done.Runs = append(done.Runs, id)
	}
	for _, st := range stagedSteps(s.project) {
		if st.touched.After(cutoffs.Others) || features.Busy(st.path) {
			continue
		}
		if !dry && features.Discard(st.path) != nil { // somebody has just begun to work on it
			continue
		}
		gone(st.leftover)
		done.Planning = append(done.Planning, filepath.Base(filepath.Dir(st.path))+"/"+st.step)
	}
	for _, t := range a.temporaries(s.project) {
		if err := remove(t.path); err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		done.Temps++
	}
	since := a.now().Add(-max(keep, undisturbed))
	switch {
	case !quiet: // a run that goes on has trees that nobody knows of yet
		err = nil
	case dry:
		err = a.countTrees(ctx, s, trees, since, &done)
	default:
		err = git.Prune(ctx, s.project.Root, s.project.Objects(), trees, since)
	}
	if err != nil && !errors.Is(err, git.ErrUnknown) {
		bad = errors.Join(bad, err)
	}
	if dry {
		return done, bad
	}
	if err := s.db.Vacuum(ctx); err != nil {
		return done, errors.Join(err, bad)
	}
	done.Freed += max(before-a.held(s), 0)
	if bad != nil {
		bad = fmt.Errorf("%w: %w", dag.ErrRefused, bad)
	}
	return done, bad
}

// countTrees adds the objects of trees that would go, which are many and have no names.
func (a *app) countTrees(ctx context.Context, s *session, keep []string, since time.Time, done *gcJSON) error {
	files, err := git.Prunable(ctx, s.project.Root, s.project.Objects(), keep, since)
	trees := leftover{path: s.project.Objects()}
	for _, f := range files {
		trees.bytes += measure(f).bytes
	}
	if len(files) > 0 {
		done.Freed += trees.bytes
		done.removed = append(done.removed, trees)
	}
	return err
}

// held is the size of what shrinks but does not go: the database, and the trees.
func (a *app) held(s *session) int64 {
	n := measure(s.project.Objects()).bytes
	for _, suffix := range []string{"", "-wal"} {
		n += measure(s.project.DB() + suffix).bytes
	}
	return n
}

// oldRuns lists the folders of runs that are to go, after saying so in the graph: of
// runs that may, and of runs that the graph does not know and nobody touched.
func (a *app) oldRuns(g *dag.Graph, s *session, cutoffs dag.Cutoffs) ([]string, error) {
	entries, _ := os.ReadDir(s.project.Runs()) // there may be none
	prunable, err := g.Prunable(cutoffs)
	if err != nil {
		return nil, err
	}
	var old []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if slices.ContainsFunc(prunable, func(r dag.Run) bool { return r.ID == e.Name() }) {
			if err := g.Pruned(e.Name()); err != nil {
				return nil, err
			}
			old = append(old, e.Name())
			continue
		}
		_, err := g.ResolveRun(e.Name())
		if errors.Is(err, dag.ErrNotFound) && measure(filepath.Join(s.project.Runs(), e.Name())).touched.Before(cutoffs.Failures) {
			old = append(old, e.Name())
		}
	}
	return old, nil
}
