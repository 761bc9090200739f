package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/merge"
)

// Parallel is where agents work side by side, and where their work lands.
type Parallel struct {
	Repo  *git.Repo
	Slots *slot.Pool
}

// settle says what became of work that was landing when its task was taken away. Until that is known, nobody
// else can land.
func (r Recoverer) settle(ctx context.Context, repo *git.Repo, m dag.Merge) error {
	left, err := unfinish(ctx, repo, m)
	if err != nil {
		return err
	}
	reason := whyDropped(left)
	if left.Landed {
		reason = "it landed after its task was taken away"
	}
	err = r.Store.Update(ctx, func(g *dag.Graph) error { return g.SettleLanding(m.N, left.Landed, reason) })
	if errors.Is(err, dag.ErrRefused) { // another process was faster
		return nil
	}
	return err
}

func whyDropped(left merge.Left) string {
	reason := "its run died before the target moved"
	if len(left.Kept) > 0 {
		reason += "; left alone, because somebody changed them: " + human.List(left.Kept, maxNamed)
	}
	return reason
}

// unfinish asks the target. Where there is no repository any more, nothing has landed in it.
func unfinish(ctx context.Context, repo *git.Repo, m dag.Merge) (merge.Left, error) {
	if repo == nil {
		return merge.Left{}, nil
	}
	return merge.Unfinish(ctx, repo, m.Target, m.Onto, m.Candidate)
}

// kept is what became of the changes in the slot of a dead attempt.
type kept struct {
	files []string // that it had changed
	ref   string   // of the commit that has them; "" if there is none
	lost  bool     // the slot is not as the attempt left it, and no commit has its work
	note  string   // for people
}

// keep makes a commit of what a dead attempt left in its slot: the next attempt makes the slot
// look like something else. Finished work that is kept already stays as it is: since then,
// gates have left their files there.
func (r Recoverer) keep(ctx context.Context, at Parallel, last dag.Attempt) (k kept, err error) {
	if last.Slot == 0 || at.Repo == nil {
		return k, nil
	}
	ref := merge.WorkRef(last.Task, last.ID)
	was, err := at.Repo.Commit(ctx, ref)
	if err != nil || was != "" && Finished(last) {
		return k, err
	}
	s, err := at.Slots.At(last.Slot)
	if err != nil || s.Attempt() != last.ID { // torn, gone, or not taken yet and still another's
		k.lost = was == ""
		return k, nil //nolint:nilerr // then there is nothing of this attempt in it
	}
	if len(s.Unresolved(ctx)) > 0 { // the work before the merge is kept already
		return k, nil
	}
	w, err := s.Keep(ctx, s.Base(), "Work on "+last.Task)
	if errors.Is(err, git.ErrWaits) { // it must not keep everybody from working; the slot is made anew
		return kept{lost: was == "", note: "; what it left cannot be kept: " + err.Error()}, nil
	}
	if err != nil || w.Commit == s.Base() {
		return k, err
	}
	if now, err := at.Slots.At(last.Slot); err != nil || now.Attempt() != last.ID {
		return k, nil //nolint:nilerr // another process was faster, and somebody works there by now
	}
	out, err := at.Repo.Git(ctx, git.Call{}, "diff-tree", "-r", "-z", "--name-only", "--no-renames", s.Base(), w.Commit)
	if err != nil {
		return k, err
	}
	k.files = git.Split(out)
	if k.ref = ref; r.Rules.OnDirty == Stash && !Finished(last) {
		k.ref = merge.StashRef(last.Task, last.ID)
	}
	return k, merge.SetRefs(ctx, at.Repo, merge.Ref{Name: k.ref, Commit: w.Commit})
}

// reopen opens the tasks again whose finished work git does not have, as in a clone that got the database only.
func (r Recoverer) reopen(ctx context.Context, repo *git.Repo) (again []Reclaimed, err error) {
	var waiting []dag.Merge
	err = r.Store.View(ctx, func(g *dag.Graph) error {
		held, _ := g.MergesIn(dag.MergeHeld) // the first error of the database is that of all that follow
		finished, err := g.Finished()
		waiting = slices.Concat(held, finished)
		return err
	})
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	there, err := merge.Existing(ctx, repo, seq.Map(waiting, func(m dag.Merge) string { return m.Work }))
	if err != nil {
		return nil, err
	}
	for _, m := range waiting {
		known := slices.ContainsFunc(again, func(t Reclaimed) bool { return t.Task == m.Task })
		if known || slices.Contains(there, m.Work) {
			continue
		}
		reason := fmt.Sprintf("its work is gone: this repository does not have commit %.10s; it is done again", m.Work)
		err := r.Store.Update(ctx, func(g *dag.Graph) error { return g.LoseWork(m.Task, reason) })
		if errors.Is(err, dag.ErrRefused) || errors.Is(err, dag.ErrNotFound) { // another process was faster
			continue
		}
		if err != nil {
			return again, err
		}
		again = append(again, Reclaimed{Task: m.Task, Title: m.Title, Attempt: m.Attempt, Action: Released, Reason: reason})
	}
	return again, nil
}

// clean removes the refs that nobody needs: of tasks that are done or gone, and of candidates that
// are not to land any more.
func (r Recoverer) clean(ctx context.Context, repo *git.Repo) error {
	refs, err := merge.ListRefs(ctx, repo)
	if err != nil || len(refs) == 0 {
		return err
	}
	err = r.Store.View(ctx, func(g *dag.Graph) error {
		refs = slices.DeleteFunc(refs, func(ref merge.Ref) bool { return needed(g, ref) })
		return g.Tx().Err()
	})
	if err != nil || len(refs) == 0 {
		return err
	}
	for i := range refs {
		refs[i].Commit = ""
	}
	return merge.SetRefs(ctx, repo, refs...)
}

// needed says whether a ref is to stay. What is of an attempt that we do not know is another
// project's in the same repository; what has landed stays until its branch has it.
func needed(g *dag.Graph, ref merge.Ref) bool {
	if !ref.OfAttempt() {
		return true
	}
	a, err := g.Attempt(ref.Attempt())
	if err != nil {
		return true
	}
	if ref.Kind() == "candidate" {
		return a.EndedAt.IsZero()
	}
	t, err := g.Task(a.Task)
	return err == nil && t.Status != dag.Done
}
