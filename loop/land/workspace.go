package land

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/merge"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/verify"
)

// Workspace is the slot of an attempt, and the room in which its work is judged. By itself it has work judged on what the attempt
// began with, and lands nothing: that is for the run to do, on another machine.
type Workspace struct {
	to     Options
	claim  dag.Claim
	slot   *slot.Slot
	room   slot.Room
	gates  verify.Gates // in the room
	end    func() error // of the gates; nil as long as the room shows nothing
	said   []string     // the messages of the agent's own commits
	work   string       // what was kept last
	named  string       // what has a name
	lands  bool         // here, and not for another machine
	refs   []merge.Made // tags and branches that the attempt made, or goes on with
	unkept error        // what kept refs from being kept the last time
	saved  []merge.Made // those of them that have a name below refs/ralph
	entry  dag.Merge    // what is judged; zero outside the queue
}

// Open makes the slot of a claim show a commit, on a base.
func (o Options) Open(ctx context.Context, claim dag.Claim, base, start string) (*Workspace, error) {
	s, err := o.Slots.Take(ctx, claim.Slot, claim.Attempt, base, start)
	return &Workspace{to: o, claim: claim, slot: s, room: o.Slots.Room(claim.Slot)}, err
}

// Place is where the agent works: its folder, that in the repository, and what tells it from others.
func (w *Workspace) Place() (dir, sub string, env []string) {
	return w.slot.Dir(), w.to.Slots.Sub(), w.slot.Env()
}

// Work is what was kept last, and what is below it; "" if nothing was.
func (w *Workspace) Work() (base, work string) { return w.slot.Base(), w.work }

// Gone reports whether the slot was deleted.
func (w *Workspace) Gone() bool { return w.slot.Gone() }

// Shown is what the slot was last made to look like. An agent may have changed it since.
func (w *Workspace) Shown() (git.State, string) {
	head, tree := w.slot.Shown()
	return git.State{Known: true, Branch: w.to.name(), Head: head}, tree
}

// Here reports whether that is the project's own folder, in which a person has something checked out.
func (w *Workspace) Here() bool { return w.to.Here }

// Base is the commit of the target that the work in the slot lies on.
func (w *Workspace) Base() string { return w.slot.Base() }

// Tree is what is in the slot now, of the same kind.
func (w *Workspace) Tree(ctx context.Context) (string, error) { return w.slot.Tree(ctx) }

// Hold is for the time in which no process works in the slot: what is seen of it first counts until release.
func (w *Workspace) Hold() (release func()) { return w.slot.Hold() }

// Keep stores what is in the slot, so that it can be used for other work, and returns what cannot be kept. It keeps neither a merge that
// nobody finished, nor what testing has left: the work as it was before is kept already.
func (w *Workspace) Keep(ctx context.Context) (left []string, err error) {
	if w.entry.N > 0 || len(w.slot.Unresolved(ctx)) > 0 {
		return nil, nil
	}
	_, left, err = w.keep(ctx)
	return left, err
}

// InConflict is false: where the target is by now is for the run to know.
func (w *Workspace) InConflict(context.Context) (bool, error) { return false, nil }

// Follow does nothing: the run merges the work with the target.
func (w *Workspace) Follow(context.Context, bool) (f Followed, err error) { return f, nil }

// Submit has what is in the slot judged on what is below it.
func (w *Workspace) Submit(ctx context.Context, _ Credit, judge Judge) (c Candidate, err error) {
	if w.entry, err = w.finish(ctx); err != nil {
		return c, err
	}
	w.entry.N, w.entry.Onto, w.entry.Candidate = 1, w.entry.Base, w.entry.Work
	if c, err = w.candidate(ctx); err != nil {
		return c, err
	}
	if v := judge(c); !v.Over && !v.Passed {
		err = w.slot.Show(ctx, c.Onto, c.Commit)
		w.entry = dag.Merge{}
	}
	return c, err
}

// Land leaves the work to the run.
func (w *Workspace) Land(context.Context) (Outcome, error) { return Landed, nil }

// Show makes the room look like a commit: what the slot began with, or what is below the candidate. The room is a folder
// like the slot that no agent writes; all that is judged is judged there.
func (w *Workspace) Show(ctx context.Context, commit string) error { return w.show(ctx, commit, nil) }

func (w *Workspace) show(ctx context.Context, commit string, refs map[string]string) error {
	w.Close()
	err := w.room.Show(ctx, w.slot.Base(), commit)
	if err == nil {
		err = w.room.SetRefs(ctx, refs)
	}
	if errors.As(err, new(*slot.SetupError)) || errors.Is(err, slot.ErrFull) { // no other work could be judged either
		return policy.Halted{Reason: err.Error()}
	}
	if err != nil {
		return err
	}
	w.gates, w.end, err = w.to.Gates(w.room)
	return err
}

// Close ends what was judged in the room last.
func (w *Workspace) Close() {
	if w.end != nil {
		_ = w.end() // what is left goes with the sandbox
	}
	w.end = nil
}

// Room runs gates in the room, with the variables that tell it from others. It shows something.
func (w *Workspace) Room() (verify.Gates, []string) { return w.gates, w.room.Env() }

// Lacks lists what git ignores in the project's own folder and the room, which shows something, lacks. Gates run in that folder, and
// leave it as it is; they are nil where they cannot.
func (w *Workspace) Lacks(ctx context.Context) (missing []string, gates *verify.Gates, end func() error, err error) {
	if missing, err = w.room.Lacks(ctx); err == nil && len(missing) > 0 && w.to.Folder != nil {
		gates, end, err = w.to.Folder()
	}
	return missing, gates, end, err
}

// Copy makes the room look like the candidate with edits, until it ends. Its tags and branches are there, too.
func (w *Workspace) Copy(ctx context.Context, edits []git.Edit) (verify.Gates, func() error, error) {
	commit, err := w.entry.Candidate, error(nil)
	trees := git.Trees{Sub: w.to.Slots.Sub()}
	edits = slices.Clone(edits)
	for i := range edits {
		e := &edits[i]
		if e.Path = trees.Name(e.Path); e.From != "" {
			e.From = trees.Name(e.From)
		}
	}
	var written map[string]time.Time
	if len(edits) > 0 { // then the room shows something
		if commit, err = w.room.Edited(ctx, w.entry.Onto, commit, edits); err == nil {
			written, err = git.Written(w.room.Top(), edits)
		}
	}
	refs := map[string]string{}
	if err == nil {
		refs, err = w.refsOfCandidate(ctx)
	}
	if err == nil {
		err = w.show(ctx, commit, refs)
	}
	if err == nil {
		err = git.Later(w.room.Top(), edits, written)
	}
	return w.gates, func() error { return w.show(ctx, w.entry.Candidate, refs) }, err
}

// finish keeps work that is to land. It is an error if not all of it can be.
func (w *Workspace) finish(ctx context.Context) (m dag.Merge, err error) {
	if err := w.astray(ctx); err != nil {
		return m, err
	}
	if err := w.hear(ctx); err != nil {
		return m, err
	}
	work, left, err := w.keep(ctx)
	if err != nil {
		return m, err
	}
	if len(left) > 0 {
		return m, policy.Unlandable{Reason: strings.Join(left, "; ")}
	}
	if w.unkept != nil { // an agent can break its git, and its files are kept all the same
		return m, policy.Unlandable{Reason: w.unkept.Error()}
	}
	m.Base, m.Work = w.slot.Base(), work
	failpoint.Hit("before-queue")
	m.Refs = entryRefs(w.refs, w.Here())
	m.Patch, err = merge.Patch(ctx, w.to.Repo, m.Base, work)
	m.Patch = withRefs(m.Patch, m.Refs)
	return m, err
}

// astray is a policy.Tampered if work did to the history what no work may do, and a policy.Halted if that is damaged.
func (w *Workspace) astray(ctx context.Context) error {
	why, err := w.slot.Astray(ctx)
	if err == nil && why != "" {
		err = policy.Tampered{Reason: why}
	}
	return halted(err)
}

// hear remembers what the agent wrote into its own commits, before the slot is set to another one.
func (w *Workspace) hear(ctx context.Context) error {
	text, err := w.slot.Message(ctx)
	if text != "" && !slices.Contains(w.said, text) { // of a slot that was not set since, they are the same
		w.said = append(w.said, text)
	}
	return err
}

// keep stores what is in the slot as a commit, with a name unless it is what the slot began with. Left is what
// cannot be part of it.
func (w *Workspace) keep(ctx context.Context) (work string, left []string, err error) {
	kept, err := w.slot.Keep(ctx, w.slot.Base(), "Work on "+w.claim.Task.ID)
	if err != nil && ctx.Err() == nil {
		if _, lost := w.slot.Astray(ctx); lost != nil {
			err = halted(lost)
		}
	}
	left = seq.Map(kept.Left, git.Left.String)
	if err != nil {
		return w.slot.Base(), left, err
	}
	refs, unkept := w.keepRefs(ctx, kept)
	if w.unkept = unkept; unkept != nil && ctx.Err() != nil {
		return w.slot.Base(), left, unkept
	}
	if kept.Commit == w.slot.Base() {
		return w.slot.Base(), left, w.setRefs(ctx, refs)
	}
	if w.work = kept.Commit; w.named != w.work {
		refs = append(refs, merge.Ref{Name: merge.WorkRef(w.claim.Task.ID, w.claim.Attempt), Commit: w.work})
	}
	if err = w.setRefs(ctx, refs); err == nil {
		w.named = w.work
	}
	return w.work, left, err
}

// setRefs names what was kept.
func (w *Workspace) setRefs(ctx context.Context, refs []merge.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	err := merge.SetRefs(ctx, w.to.Repo, refs...)
	if err == nil {
		w.saved = w.refs
	}
	return err
}

// candidate is the entry as it is judged.
func (w *Workspace) candidate(ctx context.Context) (c Candidate, err error) {
	if err := w.room.Begin(); err != nil {
		return c, err
	}
	c = Candidate{Onto: w.entry.Onto, Commit: w.entry.Candidate, Patch: w.entry.Patch, Accepted: w.entry.Accepted, Resolved: w.slot.Resolves()}
	for i, commit := range []string{c.Onto, c.Commit} {
		if c.Trees[i], err = w.to.Repo.Tree(ctx, commit); err != nil {
			return c, err
		}
	}
	return c, nil
}
