package loop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/internal/testing/failpoint"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/merge"
	"ralph/prompt"
	"ralph/verify"
)

// lane takes the work of one attempt from its slot to the target. This file is about the slot,
// queue.go about the queue.
type lane struct {
	*Runner
	claim dag.Claim
	slot  *slot.Slot
	room  slot.Room
	gates verify.Gates // in the room
	end   func() error // of the gates; nil as long as the room shows nothing
	said  []string     // the messages of the agent's own commits
	work  string       // what was kept last

	below    string // what the work in the slot lay on before it was last merged
	tried    string // the tip that the work was last merged with, or only tried to
	conflict bool   // that did not work

	entry   dag.Merge // zero outside the queue
	lost    []attempt.Loss
	state   merge.State // of the entry: the database does not tell red from untested
	files   []string    // in which it conflicts
	message merge.Message
}

// newLane prepares the slot of a claim. It is nil if agents work in the project's own folder.
func (r *Runner) newLane(ctx context.Context, claim dag.Claim, j *attempt.Job) (*lane, error) {
	to := r.opts.Landing
	if err := elsewhere(claim, j, to.Repo != nil); err != nil || to.Repo == nil {
		return nil, err
	}
	failpoint.Hit("K3")
	l := &lane{Runner: r, claim: claim}
	base, err := l.lander.Tip(ctx)
	if err != nil {
		return nil, err
	}
	start := base
	if work, err := l.earlier(ctx); err != nil {
		return nil, err
	} else if work != "" {
		below, err := to.Repo.Commit(ctx, work+"^")
		if err != nil {
			return nil, err
		}
		if j.Finished != nil {
			base, start = below, work
		} else if start, err = l.goOn(ctx, base, below, work, r.scripted(j)); err != nil {
			return nil, err
		}
	}
	if space, err := to.Slots.Space(false); err == nil && space.Low {
		r.bus.warnOnce("disk", "the disk that slots are on is nearly full: "+space.String())
	}
	if l.slot, err = to.Slots.Take(ctx, claim.Slot, claim.Attempt, base, start); err != nil {
		return nil, err
	}
	l.tried, l.room = base, to.Slots.Room(claim.Slot)
	j.Place.Dir, j.Place.Sub, j.Place.Env = l.slot.Dir(), to.Slots.Sub(), l.slot.Env()
	return l, nil
}

// elsewhere refuses to verify work in the project's own folder that was finished in a slot, or the other
// way round: it is not there.
func elsewhere(claim dag.Claim, j *attempt.Job, slots bool) error {
	switch {
	case j.Finished == nil, slots == (claim.Resumed.Slot > 0):
		return nil
	case slots:
		return policy.Halted{Reason: "the work of " + claim.Task.ID + " is finished, but in this folder and not in a slot: have it verified with ralph run " + claim.Task.ID + " --in-place"}
	}
	return policy.Halted{Reason: "the work of " + claim.Task.ID + " is finished, but not in this folder: land it with ralph merge, or run in slots: --target BRANCH"}
}

// scripted says that the agent of a job does the same again each time.
func (r *Runner) scripted(j *attempt.Job) bool {
	return r.opts.Agents.Modelless != nil && r.opts.Agents.Modelless(j.Agent.Name)
}

// goOn is the commit from which an attempt goes on with earlier work: with that on the
// target, or without it where that does not merge or a script does it again.
func (l *lane) goOn(ctx context.Context, tip, base, work string, script bool) (string, error) {
	if script {
		return tip, nil
	}
	said, err := l.opts.Landing.Repo.Git(ctx, git.Call{}, "show", "-s", "--no-show-signature", "--format=%B", work)
	if err != nil {
		return "", err
	}
	built, err := merge.Build(ctx, l.opts.Landing.Repo, tip, base, work, said) // and so what it resolves
	if err != nil || len(built.Files) > 0 {
		return tip, err
	}
	return built.Candidate, nil
}

// earlier is the work that this attempt only has to land, or goes on with: the last that was kept, as an
// attempt may end before it has a slot.
func (l *lane) earlier(ctx context.Context) (string, error) {
	repo := l.opts.Landing.Repo
	if l.claim.Resume {
		work, err := repo.Commit(ctx, merge.WorkRef(l.claim.Task.ID, l.claim.Resumed.ID))
		if m := l.claim.Merge; work == "" && m.Work != m.Base && err == nil { // somebody removed the ref
			if work, err = repo.Commit(ctx, m.Work); work == "" && err == nil {
				err = policy.Halted{Reason: fmt.Sprintf("the work of %s is finished, but its commit %.10s is gone; to do it again: ralph task reset %[1]s", m.Task, m.Work)}
			}
		}
		return work, err
	}
	var attempts []dag.Attempt
	err := l.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { attempts, err = g.Attempts(l.claim.Task); return err })
	if err != nil {
		return "", err
	}
	kept, err := merge.Kept(ctx, repo)
	for _, a := range slices.Backward(attempts) {
		if a.StartedAt.Before(l.claim.Task.StartedAt) { // then the task was reset
			break
		}
		if ref := kept[a.ID]; ref != "" {
			return repo.Commit(ctx, ref)
		}
	}
	return "", err
}

func (l *lane) Shown() (git.State, string) {
	head, tree := l.slot.Shown()
	return git.State{Known: true, Branch: human.Branch(l.opts.Landing.Target), Head: head}, tree
}

func (l *lane) Tree(ctx context.Context) (string, error) { return l.slot.Tree(ctx) }

// Keep stores what is in the slot, but not a merge that nobody finished, and not what testing has left in it: the
// work as it was before is kept already.
func (l *lane) Keep(ctx context.Context) (left []string, err error) {
	if l.entry.N > 0 || len(l.slot.Unresolved(ctx)) > 0 {
		return nil, nil
	}
	_, left, err = l.keep(ctx)
	return left, err
}

// keep stores what is in the slot as a commit, with a name unless it is what the slot began with. Left is what
// cannot be part of it.
func (l *lane) keep(ctx context.Context) (work string, left []string, err error) {
	w, err := l.slot.Keep(ctx, l.slot.Base(), "Work on "+l.claim.Task.ID)
	left = seq.Map(w.Left, git.Left.String)
	if err != nil || w.Commit == l.slot.Base() {
		return l.slot.Base(), left, err
	}
	l.work = w.Commit
	return l.work, left, merge.SetRefs(ctx, l.opts.Landing.Repo, merge.Ref{Name: merge.WorkRef(l.claim.Task.ID, l.claim.Attempt), Commit: l.work})
}

// InConflict looks at nothing as long as the target stays, and says true once. Where no turn is cut, the agent is told
// that the target has moved.
func (l *lane) InConflict(ctx context.Context) (bool, error) {
	now, was := l.lander.Seen(), l.conflict
	if now == l.tried || len(l.slot.Unresolved(ctx)) > 0 {
		return false, nil
	}
	work, _, err := l.try(ctx, now)
	if err != nil || l.conflict && !was && l.opts.Landing.Cut {
		return l.conflict, err
	}
	return false, l.notifyMoved(ctx, now, work)
}

// try keeps what is in the slot and merges that with a commit, without showing it.
func (l *lane) try(ctx context.Context, onto string) (work string, built merge.Built, err error) {
	if work, _, err = l.keep(ctx); err == nil {
		built, err = merge.Build(ctx, l.opts.Landing.Repo, onto, l.slot.Base(), work, "Work on "+l.claim.Task.ID)
	}
	l.tried, l.conflict = onto, len(built.Files) > 0
	return work, built, err
}

func (l *lane) Follow(ctx context.Context, conflicts bool) (m attempt.Followed, err error) {
	base := l.slot.Base()
	now, err := l.lander.Tip(ctx)
	if errors.As(err, new(policy.Halted)) || now == base || len(l.slot.Unresolved(ctx)) > 0 {
		return m, nil // what halts the queue is said there
	}
	if err != nil {
		return m, err
	}
	work, built, err := l.try(ctx, now)
	if err != nil || l.conflict && !conflicts {
		return m, err
	}
	if m.Tree, err = l.opts.Landing.Repo.Tree(ctx, now); err != nil {
		return m, err
	}
	m.Commit = now
	if m.Merged, err = l.set(ctx, now, base, work, built); err == nil {
		l.bus.emit(event.Event{
			Type: event.TargetMoved, Task: l.claim.Task.ID, Title: l.claim.Task.Title, Attempt: l.claim.Attempt,
			Reason: strings.Join(m.By(), ", "), Files: m.Files, Merge: &event.Merge{Target: l.opts.Landing.Target, Onto: now},
		})
	}
	return m, err
}

// resolve takes the work out of the queue and shows its conflicts with the target. A script begins there
// again instead.
func (l *lane) resolve(ctx context.Context, script bool) (prompt.Merged, error) {
	e := l.entry
	l.emit(event.MergeConflict, strings.Join(l.files, ", "))
	if err := l.leave(ctx, "it conflicts with the target"); err != nil {
		return prompt.Merged{}, err
	}
	if !script {
		return l.set(ctx, e.Onto, e.Base, e.Work, merge.Built{Files: l.files})
	}
	if err := l.slot.Show(ctx, e.Onto, e.Onto); err != nil {
		return prompt.Merged{}, err
	}
	return l.since(ctx, e.Base, e.Onto, l.files)
}

// set shows work on another base in the slot, merged or else with its conflicts, and tells who changed what
// since the old one.
func (l *lane) set(ctx context.Context, onto, base, work string, built merge.Built) (m prompt.Merged, err error) {
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

// hear remembers what the agent wrote into its own commits, before the slot is set to another one.
func (l *lane) hear(ctx context.Context) error {
	text, err := l.slot.Message(ctx)
	if text != "" && !slices.Contains(l.said, text) { // of a slot that was not set since, they are the same
		l.said = append(l.said, text)
	}
	return err
}

// Bounds of what a prompt tells about what landed; it cuts further.
const (
	maxLanded = 20
	maxPatch  = 16 << 10
)

// since tells what came to the target: to files with their patches, or else at all.
func (l *lane) since(ctx context.Context, base, onto string, files []string) (m prompt.Merged, err error) {
	repo := l.opts.Landing.Repo
	m.From = "`git log -p " + base[:min(len(base), 10)] + "..`"
	commits, err := merge.Log(ctx, repo, base, onto, files...)
	for _, c := range commits[:min(len(commits), maxLanded)] {
		landed := prompt.Landed{By: c.Who(), Title: c.Title}
		if len(files) > 0 && err == nil {
			landed.Patch, err = merge.Change(ctx, repo, c.ID, files...)
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

// clear removes the refs of a task whose work is settled. If the task was taken away while it was
// landing, nobody has said yet what became of that.
func (l *lane) clear(ctx context.Context, status dag.Status) error {
	if l.entry.N == 0 && status != dag.Done && status != event.TaskDeleted {
		return nil
	}
	refs := []merge.Ref{{Name: merge.CandidateRef(l.claim.Attempt)}}
	landing := false
	err := l.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		m, _ := g.Merge(l.entry.N) // there is none if it is outside the queue
		landing = m.State == dag.MergeLanding
		attempts, err := g.Attempts(l.claim.Task)
		for _, a := range attempts {
			if status == dag.Done {
				refs = append(refs, merge.Ref{Name: merge.WorkRef(a.Task, a.ID)}, merge.Ref{Name: merge.StashRef(a.Task, a.ID)})
			}
		}
		return err
	})
	if err == nil && landing {
		_, err = l.reclaim(ctx)
	}
	if err != nil {
		return err
	}
	if status == event.TaskDeleted { // its attempts do not name it any more
		kept, err := merge.ListRefs(ctx, l.opts.Landing.Repo)
		if err != nil {
			return err
		}
		for _, ref := range kept {
			if strings.HasPrefix(ref.Name, merge.WorkRef(l.claim.Task.ID, "")) {
				refs = append(refs, merge.Ref{Name: ref.Name})
			}
		}
	}
	failpoint.Hit("K23")
	return merge.SetRefs(ctx, l.opts.Landing.Repo, refs...)
}
