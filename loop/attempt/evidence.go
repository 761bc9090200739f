package attempt

import (
	"cmp"
	"context"
	"slices"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/loop/land"
	"ralph/prompt"
	"ralph/verify"
	"ralph/verify/tamper"
)

// evidence is what the trees of the project show of the work.
type evidence struct {
	Worker
	job      Job
	lane     Lane // as in Ports
	trees    git.Trees
	before   git.State
	tree     string // what the attempt began with
	base     Base   // what the task began with
	began    string // what the feature began with, or the task, if it is the first
	taken    string // the tree that was taken last
	finished string // the tree when the agent said that it is done; empty until then

	landing   land.Candidate
	candidate string // the tree that would land; empty until it is known
	compared  map[[2]string]git.Difference
	protected []string         // what the work changed and must not
	old       string           // what the checks from before the work said of it: oldPassed, oldFailed, or "" if nothing
	failed    *verify.Result   // of a gate that does not accept it with these
	first     []dag.GateRecord // what gates say with the checks that the feature began with, where they do not pass
	cleared   bool             // the file of coverage that a gate is to write was not there before
	refuted   string           // what a witness printed against the work, without its source
	resolved  []prompt.Merged  // conflicts that sessions of this attempt resolved
}

// begin notes what the attempt finds, and learns what the task's first one found.
func (e *evidence) begin(ctx context.Context) error {
	e.before, e.tree = e.lane.Shown() // the slot has just been made to look so
	e.taken = e.tree
	if e.lane.Here() {
		now := git.Look(context.WithoutCancel(ctx), e.job.Place.Dir)
		if e.before.Known = now.Known; now.Known {
			e.before = now
		}
	}
	e.base = Base{Tree: e.tree}
	if stored := e.job.History.Base; stored != nil {
		e.base = *stored
	}
	e.began = cmp.Or(e.job.Proof.Tree, e.base.Tree)
	if err := e.dropMissing(ctx); err != nil {
		return err
	}
	if !e.trees.Whole(ctx, e.began) {
		e.began = e.tree
	}
	return nil
}

// dropMissing forgets trees that git does not have any more, as after a rewrite of the history. That what the task began with was one of
// them is a doubt about its work, in later attempts as well.
func (e *evidence) dropMissing(ctx context.Context) error {
	trees, h := []string{e.base.Tree}, &e.job.History
	for _, at := range h.Attempts {
		trees = append(trees, at.Tree, at.TreeAfter)
	}
	trees = slices.DeleteFunc(trees, func(id string) bool { return id == "" || id == e.tree })
	if e.tree == "" || len(trees) == 0 {
		return nil
	}
	missing, err := e.trees.Missing(ctx, trees...)
	if err != nil || len(missing) == 0 {
		return err
	}
	gone := func(at dag.Attempt) bool {
		return slices.Contains(missing, at.Tree) || slices.Contains(missing, at.TreeAfter)
	}
	if slices.Contains(missing, e.base.Tree) {
		e.base.Tree, e.base.Gone = e.tree, true
	}
	if gone(h.Finished) {
		h.Finished.Tree, h.Finished.TreeAfter = e.base.Tree, ""
	}
	h.Attempts = slices.DeleteFunc(slices.Clone(h.Attempts), gone)
	return nil
}

// take is the tree of the slot as it is, or of the candidate, if that is judged.
func (e *evidence) take(ctx context.Context) (string, error) {
	if e.candidate != "" { // nothing else is judged
		return e.candidate, nil
	}
	tree, err := e.lane.Tree(ctx)
	if err == nil {
		e.taken = tree
	}
	return tree, err
}

// verifiesOnly reports whether the work was finished by an earlier attempt.
func (e *evidence) verifiesOnly() bool { return e.job.Finished != nil }

// finish takes the tree with which the agent says that it is done. What happens
// later, while that is verified, is not its work.
func (e *evidence) finish(ctx context.Context) (string, error) {
	if !e.verifiesOnly() {
		ctx = context.WithoutCancel(ctx) // a run that is stopped keeps finished work
	}
	taken, err := e.take(ctx)
	e.finished = cmp.Or(e.job.History.Finished.TreeAfter, taken)
	return taken, err
}

// compare lists what differs between two trees. The list is the caller's.
func (e *evidence) compare(ctx context.Context, from, to string) ([]git.Change, error) {
	d, err := e.difference(ctx, from, to)
	return slices.Clone(d.Changes), err
}

// difference asks git once, and for the patches at the same time, which a verifier may be shown. What ralph itself
// writes is asked for after both trees were taken: another run may have begun to write its log between the two.
func (e *evidence) difference(ctx context.Context, from, to string) (d git.Difference, err error) {
	pair := [2]string{from, to}
	d, known := e.compared[pair]
	if known || from == to {
		return d, nil
	}
	if d, err = e.trees.Patches(ctx, from, to, maxPatch); err != nil {
		return d, err
	}
	if len(d.Changes) > 0 {
		own := e.OwnFiles(ctx)
		d.Changes = slices.DeleteFunc(d.Changes, func(c git.Change) bool { return git.Within(c.Path, own) })
	}
	e.compared[pair] = d
	return d, nil
}

// since lists the files that differ between two trees.
func (e *evidence) since(ctx context.Context, from, to string) (files []string) {
	if from == "" || to == "" || from == to {
		return nil
	}
	changes, err := e.compare(ctx, from, to)
	if err != nil {
		return nil // it is only for the record; verification compares, too
	}
	return seq.Map(changes, func(c git.Change) string { return c.Path })
}

// worked lists the files that the attempt's agent changed.
func (e *evidence) worked(ctx context.Context) []string {
	if e.candidate != "" {
		return e.since(ctx, e.base.Tree, e.candidate)
	}
	if old := e.job.History.Finished; e.verifiesOnly() {
		return slices.Concat(old.Files, e.since(ctx, old.Tree, e.finished))
	}
	return e.since(ctx, e.tree, cmp.Or(e.finished, e.taken))
}

// touched reports whether files of the project have changed since the attempt began, or that
// nobody can tell.
func (e *evidence) touched(ctx context.Context) bool {
	if e.tree == "" {
		return true
	}
	_, err := e.take(ctx)
	return err != nil || len(e.worked(ctx)) > 0
}

// changes lists what the work changed.
func (e *evidence) changes(ctx context.Context, now string, prevented bool) (work []git.Change, err error) {
	work, err = e.compare(ctx, e.base.Tree, now)
	if prevented {
		// No agent could write it, so a person did.
		work = slices.DeleteFunc(work, func(c git.Change) bool { return c.Path == configuration })
	}
	return work, err
}

// findDoubts finds what changes do to what checks the work, and outside the project's folder.
func (a *attempt) findDoubts(ctx context.Context, changes []git.Change, now string) error {
	e, words := &a.evidence, ownWords(a.job.Task)
	before, after, end := e.trees.Contents(ctx, e.base.Tree, now, bounded.Text)
	defer end()
	s, err := e.suite(changes, before)
	if err != nil {
		return err
	}
	for _, f := range tamper.Find(changes, s, before, after, e.job.Verify.Protect) {
		switch may := a.mayChange(f.Path); {
		case f.Hard() && may:
			a.doubt(f.What)
		case f.Hard():
			e.protected = append(e.protected, f.What)
		case !may:
			a.hold(verify.Doubt{Why: f.What, Words: words})
		}
	}
	if outside := leavesOutside(a.job.Task, changes); len(outside) > 0 {
		a.hold(verify.Doubt{Why: "it changes files outside the project's folder: " + human.Few(outside), Words: words})
	}
	return nil
}

const (
	preventing    = "namespaces" // the level of the sandbox at which ralph's configuration is read-only
	configuration = ".ralph.toml"
)

// Prevents reports whether agents cannot write ralph's own files in a sandbox of that
// level.
func Prevents(sandbox string) bool { return sandbox == preventing }

// files is a set of paths.
type files map[string]bool

func filesOf(changes []git.Change) files {
	f := files{}
	for _, c := range changes {
		for _, path := range c.Paths() {
			f[path] = true
		}
	}
	return f
}
