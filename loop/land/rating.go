package land

import (
	"context"
	"maps"
	"slices"
	"sync"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/glob"
	"ralph/internal/merge"
	"ralph/internal/risk"
)

// Before is what was known about a project before a piece of work, as far as it tells how risky that is.
type Before struct {
	Attempts []dag.Attempt    // at its task, in order
	Failed   []dag.FailedWork // by anybody
	Spent    []risk.Spent     // by attempts that did their task
	Authors  merge.Authors
	Proofs   []dag.Proof // what was seen of the criteria of its feature
	Protect  []string    // globs: what decides whether work is accepted, here and in CI
}

// Measure adds what was known before to what was seen of a task's work.
func Measure(f risk.Facts, t dag.Task, b Before) risk.Facts {
	for _, name := range f.Files {
		if glob.Match(b.Protect, name) {
			f.Protected = append(f.Protected, name)
		}
		f.Authors = max(f.Authors, len(b.Authors[name]))
	}
	f.Checks = slices.DeleteFunc(slices.Clone(f.Checks), func(name string) bool {
		return slices.Contains(f.Protected, name) || slices.Contains(f.Deleted, name)
	})
	f.Usual = risk.UsualOf(b.Spent)
	for _, a := range b.Attempts {
		if a.StartedAt.Before(t.StartedAt) || t.Unverified != "" && a.ID == t.Unverified { // the task was reset then, or this is its work
			continue
		}
		if a.Outcome != "" && !a.Outcome.Done() && !a.Void() {
			f.Retries++
		}
		if slices.Contains([]event.Rejection{event.RejectedVerdict, event.RejectedTampering, event.RejectedUnproven}, a.Rejected) {
			f.Doubts = append(f.Doubts, "an earlier attempt was rejected ("+string(a.Rejected)+")")
		}
	}
	for _, other := range b.Failed {
		shared := func(name string) bool { return slices.Contains(other.Files, name) }
		if other.Task != t.ID && slices.ContainsFunc(f.Files, shared) {
			f.Failures++
		}
	}
	for _, p := range b.Proofs {
		if p.Task == t.ID && !p.Kind.Proves() {
			f.Unproven++
		}
	}
	return f
}

// protected reports whether one of these files decides whether work is accepted.
func (o Options) protected(files []string) bool {
	return slices.ContainsFunc(files, func(name string) bool { return glob.Match(o.Protect, name) })
}

// rate says how risky work is that was tested, and whether there is any. What cannot be known adds no risk.
func (l *Lane) rate(ctx context.Context, seen risk.Facts) (risk.Score, bool) {
	if len(seen.Files) == 0 && seen.Unseen == "" {
		return risk.Score{}, false
	}
	t, before := l.claim.Task, Before{Protect: l.Protect}
	err := l.Store.View(ctx, func(g *dag.Graph) (err error) {
		before.Attempts, _ = g.History.Attempts(t) // the first error of the database is that of all that follow
		if len(t.Proves) > 0 {
			before.Proofs, _ = g.Plan.Proofs(t.Feature)
		}
		before.Spent, _ = g.History.Spent()
		before.Failed, err = g.History.FailedWork()
		return err
	})
	if err == nil {
		before.Authors, err = l.authors.of(ctx, l.Repo, l.entry.Onto, l.Dir, seen.Files)
	}
	if err != nil && ctx.Err() == nil {
		l.WarnOnce("risk", "how risky work is cannot be measured completely: "+err.Error())
	}
	return risk.Of(Measure(seen, t, before)), true
}

// authors remembers who changed which files: git is asked for what has landed since, and not for all of it each time.
type authors struct {
	mu  sync.Mutex
	tip string // up to which they are known
	by  merge.Authors
}

// of says who changed these files, before a commit.
func (a *authors) of(ctx context.Context, repo *git.Repo, tip, dir string, files []string) (merge.Authors, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = merge.Authors{}
	}
	if err := a.by.Read(ctx, repo, a.tip, tip, dir); err != nil {
		a.tip = "" // it may be that which is gone
		return nil, err
	}
	a.tip = tip
	found := merge.Authors{}
	for _, name := range files {
		found[name] = maps.Clone(a.by[name])
	}
	return found, nil
}
