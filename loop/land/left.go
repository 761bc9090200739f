package land

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/seq"
	"ralph/internal/slot"
)

// Site is where agents worked in slots, and where their work landed: what is asked about runs that died. Without a repository nothing
// has landed in it, and nothing can be kept.
type Site struct {
	Repo  *git.Repo
	Slots *slot.Pool
}

// Has reports whether an entry has landed.
func (s Site) Has(ctx context.Context, m dag.Merge) (bool, error) {
	if s.Repo == nil || m.N == 0 {
		return false, nil
	}
	return merge.Has(ctx, s.Repo, m.Target, m.Candidate)
}

// Unfinish reports whether an entry has landed that its run was landing when it died, after it has removed what is left of
// that, and why it leaves the queue otherwise, or what of it has not landed.
func (s Site) Unfinish(ctx context.Context, m dag.Merge) (landed bool, why string, err error) {
	why = "its run died before the target moved"
	if s.Repo == nil || m.N == 0 {
		return false, why, nil
	}
	left, err := merge.Unfinish(ctx, s.Repo, m.Target, m.Onto, m.Candidate)
	if len(left.Kept) > 0 {
		why += "; left alone, because somebody changed them: " + human.Few(left.Kept)
	}
	if err == nil && left.Landed {
		why = ""
		if err := merge.WriteRefs(ctx, s.Repo, writtenRefs(m)); err != nil {
			why = "; not all of its tags and branches could be made: " + err.Error()
		}
	}
	return left.Landed, why, err
}

// Settle stores what became of work that was landing when its task was taken away. Until that is known, nobody
// else can land.
func (s Site) Settle(ctx context.Context, store *dag.Store, m dag.Merge) error {
	landed, reason, err := s.Unfinish(ctx, m)
	if err != nil {
		return err
	}
	if landed {
		reason = "it landed after its task was taken away" + reason
	}
	err = store.Update(ctx, func(g *dag.Graph) error { return g.Queue.SettleLanding(m.N, landed, reason) })
	if errors.Is(err, dag.ErrRefused) { // another process was faster
		return nil
	}
	return err
}

// Lock keeps others from the slot of an attempt until it is closed.
func (s Site) Lock(ctx context.Context, a dag.Attempt) (io.Closer, error) {
	if a.Slot == 0 || s.Repo == nil {
		return io.NopCloser(nil), nil
	}
	return merge.Lock(ctx, s.Repo, "slot-"+strconv.Itoa(a.Slot))
}

// Kept is what became of the changes in the slot of a dead attempt.
type Kept struct {
	Files []string // that it had changed
	Ref   string   // of the commit that has them; "" if there is none
	Lost  bool     // the slot is not as the attempt left it, and no commit has its work
	Note  string   // for people
}

// Keep makes a commit of what a dead attempt left in its slot: the next attempt makes the slot
// look like something else. Finished work that is kept already stays as it is: since then,
// gates have left their files there. What is not finished may be put aside, so that no later attempt goes on with it.
func (s Site) Keep(ctx context.Context, t dag.Task, last dag.Attempt, finished, aside bool) (k Kept, err error) {
	if last.Slot == 0 || s.Repo == nil {
		return k, nil
	}
	ref := merge.WorkRef(last.Task, last.ID)
	was, err := s.Repo.Commit(ctx, ref)
	if err != nil || was != "" && finished {
		return k, err
	}
	at, err := s.Slots.At(last.Slot)
	if err != nil || at.Attempt() != last.ID { // torn, gone, or not taken yet and still another's
		k.Lost = was == ""
		return k, nil // then there is nothing of this attempt in it
	}
	if len(at.Unresolved(ctx)) > 0 { // the work before the merge is kept already
		return k, nil
	}
	w, err := at.Keep(ctx, at.Base(), "Work on "+last.Task)
	if errors.Is(err, git.ErrWaits) { // it must not keep everybody from working; the slot is made anew
		return Kept{Lost: was == "", Note: "; what it left cannot be kept: " + err.Error()}, nil
	}
	if err != nil {
		return k, err
	}
	var refs []merge.Ref
	if finished || !aside { // what no later attempt goes on with makes none
		refs, err = keptRefs(ctx, at, s.Repo, t, last, w)
	}
	if err != nil && ctx.Err() == nil { // nor must that
		k.Note, err = "; its tags and branches cannot be kept: "+err.Error(), nil
	}
	if err != nil || w.Commit == at.Base() {
		if err == nil && len(refs) > 0 {
			err = merge.SetRefs(ctx, s.Repo, refs...)
		}
		return k, err
	}
	if now, err := s.Slots.At(last.Slot); err != nil || now.Attempt() != last.ID {
		return k, nil // another process was faster, and works there by now
	}
	out, err := s.Repo.Git(ctx, git.Call{}, "diff-tree", "-r", "-z", "--name-only", "--no-renames", at.Base(), w.Commit)
	if err != nil {
		return k, err
	}
	k.Files = git.Split(out)
	if last.Slot == dag.Here {
		defer func() { err = errors.Join(err, leaveDead(ctx, at, aside && !finished)) }()
	}
	if k.Ref = ref; aside && !finished {
		k.Ref = merge.StashRef(last.Task, last.ID)
	}
	return k, merge.SetRefs(ctx, s.Repo, append(refs, merge.Ref{Name: k.Ref, Commit: w.Commit})...)
}

// leaveDead notes what a dead attempt left in the project's own folder, and takes it out if no later attempt is to go on with it. What cannot
// be taken out is the next attempt's to report.
func leaveDead(ctx context.Context, at *slot.Slot, out bool) error {
	if err := at.Leave(ctx); err != nil || !out {
		return err
	}
	err := at.Clear(ctx)
	if errors.As(err, new(*slot.TouchedError)) {
		return nil
	}
	return err
}

// Reopen opens the tasks again whose finished work git does not have, as in a clone that got the database only, and returns it with
// the reason.
func (s Site) Reopen(ctx context.Context, store *dag.Store) (gone []dag.Merge, err error) {
	var waiting []dag.Merge
	err = store.View(ctx, func(g *dag.Graph) error {
		held, _ := g.Queue.MergesIn(dag.MergeHeld) // the first error of the database is that of all that follow
		finished, err := g.Queue.Finished()
		waiting = slices.Concat(held, finished)
		return err
	})
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	there, err := merge.Existing(ctx, s.Repo, seq.Map(waiting, func(m dag.Merge) string { return m.Work }))
	if err != nil {
		return nil, err
	}
	for _, m := range waiting {
		known := slices.ContainsFunc(gone, func(other dag.Merge) bool { return other.Task == m.Task })
		if known || slices.Contains(there, m.Work) {
			continue
		}
		m.Reason = fmt.Sprintf("its work is gone: this repository does not have commit %.10s; it is done again", m.Work)
		err := store.Update(ctx, func(g *dag.Graph) error { return g.Queue.LoseWork(m.Task, m.Reason) })
		if errors.Is(err, dag.ErrRefused) || errors.Is(err, dag.ErrNotFound) { // another process was faster
			continue
		}
		if err != nil {
			return gone, err
		}
		gone = append(gone, m)
	}
	return gone, nil
}

// Clean removes the refs that nobody needs: of tasks that are done or gone, and of candidates that
// are not to land any more. The work of one task may be done while its subtasks are not.
func (s Site) Clean(ctx context.Context, store *dag.Store, done string) error {
	refs, err := merge.ListRefs(ctx, s.Repo)
	if err != nil || len(refs) == 0 {
		return err
	}
	err = store.View(ctx, func(g *dag.Graph) error {
		refs = slices.DeleteFunc(refs, func(ref merge.Ref) bool { return needed(g, ref, done) })
		return g.Tx().Err()
	})
	if err != nil || len(refs) == 0 {
		return err
	}
	for i := range refs {
		refs[i].Commit = ""
	}
	return merge.SetRefs(ctx, s.Repo, refs...)
}

// needed says whether a ref is to stay. What is of an attempt that we do not know is another
// project's in the same repository; what has landed stays until its branch has it.
func needed(g *dag.Graph, ref merge.Ref, done string) bool {
	if !ref.OfAttempt() {
		return true
	}
	a, err := g.History.Attempt(ref.Attempt())
	if err != nil {
		return true
	}
	t, err := g.Tasks.Get(a.Task)
	if ref.Kind() == "candidate" { // of work that is held, or stands on such, which others may begin on
		waits := err == nil && t.Finished() && t.Waits()
		return a.EndedAt.IsZero() || waits && !a.StartedAt.Before(t.StartedAt)
	}
	return err == nil && t.Status != dag.Done && t.ID != done
}
