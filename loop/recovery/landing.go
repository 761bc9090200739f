package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/slot"
	"ralph/journal"
	"ralph/merge"
)

// Parallel is where agents work side by side, and where their work lands.
type Parallel struct {
	Repo  *git.Repo
	Slots *slot.Pool
}

// Said is what the agent of a finished attempt left for people and for later agents.
type Said struct {
	Notes     string
	Knowledge string // as it is stored
}

// landings says what became of the work that dead runs were landing. Until that is known, nobody
// else can land.
func (r Recoverer) landings(ctx context.Context, f *found, rec *Recovery) error {
	for _, m := range f.landing {
		left, err := r.unfinish(ctx, f.at.Repo, m)
		if err != nil {
			return err
		}
		var task Reclaimed
		err = r.Store.Update(ctx, func(g *dag.Graph) (err error) {
			task, err = r.settle(g, m, left, f)
			return err
		})
		switch {
		case errors.Is(err, dag.ErrLost), errors.Is(err, dag.ErrRefused): // another process was faster
		case err != nil:
			return err
		case task.Task != "":
			rec.Tasks = append(rec.Tasks, task)
			f.tasks = slices.DeleteFunc(f.tasks, func(t dag.Task) bool { return t.ID == task.Task })
		}
	}
	return nil
}

// unfinish asks the target. Where there is no repository any more, nothing has landed in it.
func (r Recoverer) unfinish(ctx context.Context, repo *git.Repo, m dag.Merge) (left merge.Left, err error) {
	if repo == nil {
		return left, nil
	}
	err = merge.Patiently(ctx, func() error {
		left, err = merge.Unfinish(ctx, repo, m.Target, m.Onto, m.Candidate)
		return err
	})
	return left, err
}

// settle stores what became of one entry, in the caller's transaction. If the work has landed and
// its run still has the task, the task is done: all that its run had left to do is to store that.
func (r Recoverer) settle(g *dag.Graph, m dag.Merge, left merge.Left, f *found) (Reclaimed, error) {
	reason := "its run died before the target moved"
	if len(left.Kept) > 0 {
		reason += "; left alone, because somebody changed them: " + human.List(left.Kept, maxNamed)
	}
	a, err := g.Attempt(m.Attempt)
	if err != nil {
		return Reclaimed{}, err
	}
	i := slices.IndexFunc(f.tasks, func(t dag.Task) bool { return t.ID == m.Task })
	switch {
	case i < 0 || !a.EndedAt.IsZero():
		if left.Landed {
			reason = "it landed after its task was taken away"
		}
		return Reclaimed{}, g.SettleLanding(m.N, left.Landed, reason)
	case !left.Landed:
		return Reclaimed{}, g.Drop(f.tasks[i].Claim(), m.N, reason)
	}
	t := f.tasks[i]
	done := Reclaimed{
		Task: t.ID, Title: t.Title, Run: a.Run, Attempt: a.ID, Phase: a.Phase, Action: Landed,
		Reason: "its run died after its work had landed; done",
	}
	return done, r.complete(g, t, m, a)
}

// complete settles a task as its run would have.
func (r Recoverer) complete(g *dag.Graph, t dag.Task, m dag.Merge, a dag.Attempt) error {
	finished := a
	if t.Unverified != "" {
		finished, _ = g.Attempt(t.Unverified) // the first error of the database is that of the transaction
	}
	var said Said
	if r.Said != nil {
		said = r.Said(t, finished)
	}
	verdict := "skipped"
	if a.Verdict != "" || slices.ContainsFunc(a.Gates, func(c dag.GateRecord) bool { return c.Passed }) {
		verdict = "passed"
	}
	_ = g.NoteAttempt(a.ID, dag.Note{Knowledge: said.Knowledge})
	if err := g.Landed(t.Claim(), m.N, verdict); err != nil {
		return err
	}
	_ = g.CountRun(a.Run, true, dag.Done)
	now := r.Now()
	return journal.Add(g.Tx(), journal.Entry{
		At: now, Run: a.Run, Attempt: a.ID, Iteration: a.Iteration, Task: t.ID, Feature: t.Feature, Title: t.Title,
		Outcome: event.AttemptDone, Notes: said.Notes, Agent: a.Agent, Model: a.Model, ModelEffective: a.ModelEffective,
		StopReason: a.StopReason, Duration: now.Sub(a.StartedAt), Usage: a.Usage, Files: a.Files,
	})
}

// kept is what became of the changes in the slot of a dead attempt.
type kept struct {
	files []string // that it had changed
	ref   string   // of the commit that has them; "" if there is none
	lost  bool     // the slot is not as the attempt left it, and no commit has its work
}

// keep makes a commit of what a dead attempt left in its slot: the next attempt makes the slot
// look like something else. Finished work that is kept already stays as it is: since then,
// gates have left their files there.
func (r Recoverer) keep(ctx context.Context, at Parallel, last dag.Attempt) (k kept, err error) {
	ref := merge.WorkRef(last.Task, last.ID)
	was, err := at.Repo.Commit(ctx, ref)
	if err != nil || was != "" && Finished(last) {
		return k, err
	}
	s, err := at.Slots.At(last.Slot)
	if err != nil || s.Base() == "" { // torn, or gone
		k.lost = was == ""
		return k, nil //nolint:nilerr // then there is nothing of this attempt in it
	}
	if len(s.Unresolved()) > 0 { // the work before the merge is kept already
		return k, nil
	}
	w, err := s.Keep(ctx, s.Base(), "Work on "+last.Task)
	if err != nil || w.Commit == s.Base() {
		return k, err
	}
	out, err := at.Repo.Git(ctx, git.Call{}, "diff-tree", "-r", "-z", "--name-only", "--no-renames", s.Base(), w.Commit)
	if err != nil {
		return k, err
	}
	k.files = strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	if k.ref = ref; r.Rules.OnDirty == Stash && !Finished(last) {
		k.ref = merge.StashRef(last.Task, last.ID)
	}
	return k, merge.SetRefs(ctx, at.Repo, merge.Ref{Name: k.ref, Commit: w.Commit})
}

// clean removes the refs that nobody needs: of tasks that are done or gone, and of candidates that
// are not to land any more.
func (r Recoverer) clean(ctx context.Context, repo *git.Repo) error {
	refs, err := merge.ListRefs(ctx, repo)
	if err != nil || len(refs) == 0 {
		return err
	}
	var gone []merge.Ref
	err = r.Store.View(ctx, func(g *dag.Graph) error {
		for _, ref := range refs {
			kind, rest, _ := strings.Cut(strings.TrimPrefix(ref.Name, merge.Refs), "/")
			var needed bool
			var err error
			switch kind {
			case "work", "stash":
				id, _, _ := strings.Cut(rest, "/")
				var t dag.Task
				t, err = g.Task(id)
				needed = t.Status != dag.Done
			case "candidate":
				n, _ := strconv.ParseInt(rest, 10, 64) // nobody else writes there
				var m dag.Merge
				m, err = g.Merge(n)
				needed = m.State != dag.MergeLanded && m.State != dag.MergeDropped
			default:
				continue
			}
			switch {
			case errors.Is(err, dag.ErrNotFound), err == nil && !needed:
				gone = append(gone, merge.Ref{Name: ref.Name})
			case err != nil:
				return err
			}
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	if err := merge.SetRefs(ctx, repo, gone...); err != nil {
		return fmt.Errorf("remove refs: %w", err)
	}
	return nil
}
