package land

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/loop/policy"
)

// tip is the end of the target as it was last seen.
type tip struct {
	mu    sync.Mutex
	watch merge.Watch
}

// Watch looks at the target, which people and other runs move, too, and wakes who waits for that. The error is a policy.Halted if
// nothing can land any more.
func (l *Lander) Watch(ctx context.Context) error {
	if l.ahead.due() {
		l.Advance(ctx, false)
	}
	was := l.seen()
	now, err := l.Tip(ctx)
	if errors.As(err, new(policy.Halted)) {
		return err
	}
	if now != was {
		l.Signal.Wake()
	}
	return nil
}

// seen is where the target was at the last look.
func (l *Lander) seen() string {
	l.tip.mu.Lock()
	defer l.tip.mu.Unlock()
	return l.tip.watch.Tip
}

// Tip returns where the target is. It is an error if that is not where it can have come to
// by landing or by a person's commits.
func (l *Lander) Tip(ctx context.Context) (string, error) {
	l.tip.mu.Lock()
	defer l.tip.mu.Unlock()
	now, err := l.tip.watch.Look(ctx, l.Repo, l.Target)
	switch {
	case errors.Is(err, merge.ErrDeleted):
		return "", policy.Halted{Reason: "the branch " + l.name() + " was deleted; work that is finished is kept, and lands when it is back"}
	case errors.Is(err, merge.ErrSwitched):
		return "", policy.Halted{Reason: "HEAD was detached, and a branch is checked out now; work that is finished is kept, and lands when HEAD is detached again: git checkout --detach"}
	case errors.Is(err, merge.ErrUnder):
		ref := merge.LandedRef(l.Target)
		return "", policy.Halted{Reason: fmt.Sprintf("the branch %s was rewritten below what has landed and waits for it; to take that all the same: %[3]s merge %[2]s; to give it up: %[3]s update-ref -d %[2]s", l.name(), ref, git.Typed(l.Repo.Dir()))}
	case errors.Is(err, merge.ErrRewritten):
		return "", policy.Halted{Reason: rewritten(ctx, l.Repo, l.Target, l.tip.watch.Tip, now)}
	}
	return now, err
}

// moved says where work has landed, on the branch or beyond it, which waits for something.
func (l *Lander) moved(to string, waits *event.Waits) {
	l.tip.mu.Lock()
	l.tip.watch.Moved(to, waits != nil)
	l.tip.mu.Unlock()
	l.ahead.set(waits)
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

// Work is where the work of the run ended up. Not to know that is no reason to fail.
func (l *Lander) Work(ctx context.Context) *event.Work {
	var w event.Work
	kept, err := merge.Kept(ctx, l.Repo)
	if err == nil {
		err = l.Store.View(ctx, func(g *dag.Graph) (err error) { w, err = g.Queue.Work(l.Run.ID, kept); return err })
	}
	if err != nil {
		l.warn("", "where work ended up is not known: "+err.Error())
		return nil
	}
	waits, moved := l.ahead.last()
	if typed := git.Typed(l.Repo.Dir()); typed != "git" {
		w.Git = typed
	}
	if w.Target, w.Waits = l.Target, waits; w.Commits == 0 && moved[1] != "" { // an earlier run's, which the branch has since this one
		w.From, w.To = moved[0], moved[1]
		came, _ := merge.Log(ctx, l.Repo, w.From, w.To)
		w.Commits = len(came)
	}
	recount(ctx, l.Repo, &w)
	return &w
}

// recount leaves out what landed and is not on the target any more, because somebody has rewritten it. What git
// cannot tell stays as it was recorded.
func recount(ctx context.Context, repo *git.Repo, w *event.Work) {
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
