package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/slot"
	"ralph/loop/policy"
	"ralph/merge"
	"ralph/verify"
)

// Landing is where finished work ends up, if agents do not work in the project's own folder.
type Landing struct {
	Repo    *git.Repo // nil: they do
	Slots   *slot.Pool
	Target  string   // a full ref name, or merge.HeadRef
	Remote  string   // where other machines get the code and leave their work; "" if they do not
	Window  int      // how many candidates are tested at once; 0 means as many as keep the processors busy
	Review  bool     // a person looks at all work before it lands
	Above   *float64 // or at what is riskier than that; nil: at none
	Protect []string // globs: what decides whether work is accepted, here and in CI
	Cut     bool     // a turn ends if the target moves so that its work conflicts
	// Gates runs gates in a room as long as it shows the same. End removes what they left in other places.
	Gates func(slot.Room) (gates verify.Gates, end func() error, err error)
}

// name is the target as people call it.
func (to Landing) name() string { return human.Branch(to.Target) }

// tip is the end of the target as it was last seen.
type tip struct {
	mu    sync.Mutex
	watch merge.Watch
	ahead ahead
}

// seen is where the target was at the last look.
func (t *tip) seen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.watch.Tip
}

// look returns where the target is. It is an error if that is not where it can have come to
// by landing or by a person's commits.
func (t *tip) look(ctx context.Context, to Landing) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := t.watch.Look(ctx, to.Repo, to.Target)
	switch {
	case errors.Is(err, merge.ErrDeleted):
		return "", policy.Halted{Reason: "the branch " + to.name() + " was deleted; work that is finished is kept, and lands when it is back"}
	case errors.Is(err, merge.ErrSwitched):
		return "", policy.Halted{Reason: "HEAD was detached, and a branch is checked out now; work that is finished is kept, and lands when HEAD is detached again: git checkout --detach"}
	case errors.Is(err, merge.ErrUnder):
		ref := merge.LandedRef(to.Target)
		return "", policy.Halted{Reason: fmt.Sprintf("the branch %s was rewritten below what has landed and waits for it; to take that all the same: git merge %s; to give it up: git update-ref -d %[2]s", to.name(), ref)}
	case errors.Is(err, merge.ErrRewritten):
		return "", policy.Halted{Reason: rewritten(ctx, to.Repo, to.Target, t.watch.Tip, now)}
	}
	return now, err
}

// moved says where work has landed, on the branch or beyond it.
func (t *tip) moved(to string, beyond bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch.Moved(to, beyond)
}

// rewritten says what is gone from a target that was set to another history. What was only
// rebased is still there.
func rewritten(ctx context.Context, repo *git.Repo, target, last, now string) string {
	gone, _ := merge.Log(ctx, repo, now, last) // git may have removed it already
	there, _ := merge.Log(ctx, repo, last, now)
	var tasks []string
	for _, c := range gone {
		again := slices.ContainsFunc(there, func(other merge.Commit) bool { return other.Task == c.Task })
		if c.Task != "" && !again && !slices.Contains(tasks, c.Task) {
			tasks = append(tasks, c.Task)
		}
	}
	what := "the branch " + human.Branch(target) + " was rewritten"
	if merge.Detached(target) {
		what = "HEAD was moved"
	}
	reason := fmt.Sprintf("%s: %.10s is not in its history any more", what, last)
	if len(tasks) > 0 {
		reason += fmt.Sprintf(", nor is the work of %s; to do it again: ralph task reset %s", human.List(tasks, len(tasks)), strings.Join(tasks, " "))
	}
	return reason + "; to go on with what it is now, run again"
}

// landed is where the work of the run ended up. Not to know that is no reason to fail.
func (r *Runner) landed(ctx context.Context) *event.Work {
	to := r.opts.Landing
	if to.Repo == nil {
		return nil
	}
	var w event.Work
	kept, err := merge.Kept(ctx, to.Repo)
	if err == nil {
		err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { w, err = g.Work(r.run.ID, kept); return err })
	}
	if err != nil {
		r.bus.warn("", "where work ended up is not known: "+err.Error())
		return nil
	}
	w.Target, w.Waits = to.Target, r.tip.ahead.last()
	r.recount(ctx, &w)
	return &w
}

// recount leaves out what landed and is not on the target any more, because somebody has rewritten it. What git
// cannot tell stays as it was recorded.
func (r *Runner) recount(ctx context.Context, w *event.Work) {
	repo := r.opts.Landing.Repo
	at, err := merge.At(ctx, repo, w.Target)
	tip := at.Tip()
	if w.Commits == 0 || tip == "" || err != nil {
		return
	}
	if there, err := repo.IsAncestor(ctx, w.To, tip); err != nil || there {
		return
	}
	if list, err := merge.Log(ctx, repo, w.From, tip); err == nil {
		list = slices.DeleteFunc(list, func(c merge.Commit) bool { return c.Task == "" })
		w.To, w.Commits = tip, len(list)
	}
}
