package land

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/prompt"
)

// Lane takes the work of one attempt from its slot to the target. This file is about the slot,
// queue.go about the queue.
type Lane struct {
	*Workspace
	*Lander

	below    string // what the work in the slot lay on before it was last merged
	tried    string // the tip that the work was last merged with, or only tried to
	conflict bool   // that did not work
	held     bool   // it waits for a person
	on       string // the commit of held work that it stands on; "" for none, or if that has landed

	lost    []Loss
	state   merge.State // of the entry: the database does not tell red from untested
	files   []string    // in which it conflicts
	message merge.Message
}

// Followed is what the slot is based on now, if that is something else than before.
type Followed struct {
	Commit, Tree string
	prompt.Merged
}

// InConflict looks at nothing as long as the target stays, and says true once. Where no turn is cut, the agent is told
// that the target has moved.
func (l *Lane) InConflict(ctx context.Context) (bool, error) {
	now, was := l.seen(), l.conflict
	if l.on != "" || now == l.tried || len(l.slot.Unresolved(ctx)) > 0 {
		return false, nil
	}
	work, _, err := l.try(ctx, now)
	if err != nil || l.conflict && !was && l.Cut {
		return l.conflict, err
	}
	return false, l.notifyMoved(ctx, now, work)
}

// Follow brings what is in the slot onto the target, if that has moved. Work that conflicts
// stays where it is, unless the slot is to show the conflicts.
func (l *Lane) Follow(ctx context.Context, conflicts bool) (f Followed, err error) {
	base := l.slot.Base()
	now, err := l.end(ctx)
	if errors.As(err, new(policy.Halted)) || now == base || len(l.slot.Unresolved(ctx)) > 0 {
		return f, nil // what halts the queue is said there
	}
	if err != nil {
		return f, err
	}
	work, built, err := l.try(ctx, now)
	if err != nil || l.conflict && !conflicts {
		return f, err
	}
	if f.Tree, err = l.Repo.Tree(ctx, now); err != nil {
		return f, err
	}
	f.Commit = now
	if f.Merged, err = l.set(ctx, now, base, work, built); err == nil {
		l.Tell(event.Event{
			Type: event.TargetMoved, Task: l.claim.Task.ID, Title: l.claim.Task.Title, Attempt: l.claim.Attempt,
			Reason: strings.Join(f.By(), ", "), Files: f.Files, Merge: &event.Merge{Target: l.Target, Onto: now},
		})
	}
	return f, err
}

// try keeps what is in the slot and merges that with a commit, without showing it.
func (l *Lane) try(ctx context.Context, onto string) (work string, built merge.Built, err error) {
	if work, _, err = l.keep(ctx); err == nil {
		built, err = merge.Build(ctx, l.Repo, onto, l.slot.Base(), work, "Work on "+l.claim.Task.ID)
	}
	l.tried, l.conflict = onto, len(built.Files) > 0
	return work, built, err
}

// notifyMoved tells an agent that its target has moved, and which of the files that it changed were changed there. That
// is said once as long as the slot stays where it is: prompts that follow the target say what landed.
func (l *Lane) notifyMoved(ctx context.Context, now, work string) error {
	base := l.slot.Base()
	m, err := l.since(ctx, base, now, nil)
	if err != nil || len(m.Landed) == 0 {
		return err
	}
	l.Notify(ctx, l.claim, "moved\x00"+base, fmt.Sprintf("%s has moved: %s. Your folder follows when your turn ends.", l.name(), human.Few(m.By())))
	mine, err1 := l.Repo.DiffTrees(ctx, base, work)
	theirs, err2 := l.Repo.DiffTrees(ctx, base, now)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	landed := seq.Set(theirs, func(d git.Diff) string { return d.Path })
	var both []string
	for _, d := range mine {
		if landed[d.Path] && len(both) < maxLanded {
			both = append(both, d.Path)
		}
	}
	if len(both) == 0 {
		return nil
	}
	if m, err = l.since(ctx, base, now, both); err == nil {
		l.Notify(ctx, l.claim, "files\x00"+strings.Join(both, "\x00"), fmt.Sprintf("You changed %s, and so did %s, which has landed on %s.",
			human.List(m.Files, 10), human.Few(m.By()), l.name()))
	}
	return err
}

// set shows work on another base in the slot, merged or else with its conflicts, and tells who changed what
// since the old one.
func (l *Lane) set(ctx context.Context, onto, base, work string, built merge.Built) (m prompt.Merged, err error) {
	if err := l.hear(ctx); err != nil {
		return m, err
	}
	if len(built.Files) == 0 {
		err = l.slot.Show(ctx, onto, built.Candidate)
	} else {
		err = l.slot.Conflict(ctx, base, onto, work)
	}
	if err != nil {
		return m, err
	}
	l.below, l.tried, l.conflict = base, onto, false
	return l.since(ctx, base, onto, built.Files)
}

// Bounds of what a prompt tells about what landed; it cuts further.
const (
	maxLanded = 20
	maxPatch  = 16 << 10
)

// since tells what came to the target: to files with their patches, or else at all.
func (l *Lane) since(ctx context.Context, base, onto string, files []string) (m prompt.Merged, err error) {
	m.From = "`git log -p " + base[:min(len(base), 10)] + "..`"
	commits, err := merge.Log(ctx, l.Repo, base, onto, files...)
	for _, c := range commits[:min(len(commits), maxLanded)] {
		landed := prompt.Landed{By: c.Who(), Title: c.Title}
		if len(files) > 0 && err == nil {
			landed.Patch, err = merge.Change(ctx, l.Repo, c.ID, files...)
			landed.Patch = plain.Head(strings.ToValidUTF8(landed.Patch, "?"), maxPatch)
		}
		m.Landed = append(m.Landed, landed)
	}
	for _, name := range files {
		here, rerr := filepath.Rel(l.slot.Dir(), filepath.Join(l.slot.Top(), filepath.FromSlash(name)))
		m.Files, err = append(m.Files, filepath.ToSlash(here)), errors.Join(err, rerr)
	}
	return m, err
}

// Held tells that the work waits for a person.
func (l *Lane) Held() {
	l.held = true
	l.emit(event.MergeHeld, "")
}

// Settled ends the room and removes the refs that nobody needs once the work is settled. If the task was taken away while it was
// landing, nobody has said yet what became of that.
func (l *Lane) Settled(ctx context.Context, status dag.Status) error {
	defer l.Close()
	if l.Here() {
		if err := l.leaveHere(ctx, status, l.held); err != nil {
			return err
		}
	}
	if l.entry.N == 0 && status != dag.Done && status != event.TaskDeleted {
		return nil
	}
	landing, done := false, ""
	err := l.Store.View(ctx, func(g *dag.Graph) error {
		m, _ := g.Queue.Merge(l.entry.N) // there is none if it is outside the queue
		landing = m.State == dag.MergeLanding
		return g.Tx().Err()
	})
	if err == nil && landing {
		_, err = l.Reclaim(ctx)
	}
	if err != nil {
		return err
	}
	if status == dag.Done {
		done = l.claim.Task.ID
	}
	failpoint.Hit("before-ref-removal")
	return Site{Repo: l.Repo}.Clean(ctx, l.Store, done)
}
