package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/loop/policy"
	"ralph/verify"
	"ralph/verify/tamper"
)

// Base is where a task began: what was there before its first attempt. It is kept
// with the task, so that neither a second run nor somebody else's work between two
// attempts can be taken for the task's own.
type Base struct {
	Tree  string                   `json:"tree,omitempty"` // empty where git cannot tell
	Gates map[string]verify.Result `json:"gates,omitempty"`
}

// begin notes what the attempt finds, and learns what the task's first one found.
func (a *attempt) begin(ctx context.Context) error {
	var taken git.Taken
	err := git.Rules(ctx, a.opts.Dir, a.opts.Objects)
	if err == nil {
		taken, err = a.take(ctx)
	}
	switch {
	case errors.Is(err, git.ErrUnknown):
		a.blind = err
	case err != nil && a.opts.Skip && ctx.Err() == nil:
		a.bus.warnOnce("trees", "what attempts change cannot be seen: "+err.Error()) // nobody wants to judge by it
	case err != nil:
		return err
	default:
		a.tree, a.headTree = taken.Tree, git.HeadTree(ctx, a.opts.Dir, taken.Inside...)
	}
	stored := ""
	err = a.opts.Store.View(ctx, func(g *dag.Graph) error {
		if stored, err = g.Base(a.claim.Task.ID); err != nil {
			return err
		}
		a.earlierTries, err = g.Attempts(a.claim.Task)
		return err
	})
	if err != nil {
		return err
	}
	a.base = Base{Tree: a.tree}
	if stored != "" {
		a.base = Base{}
		if err := json.Unmarshal([]byte(stored), &a.base); err != nil {
			return err
		}
	}
	return a.dropMissing(ctx)
}

// dropMissing forgets trees that are no longer stored: somebody emptied the folder, and
// no task is to blame that nothing can be compared with them.
func (a *attempt) dropMissing(ctx context.Context) error {
	trees := []string{a.base.Tree}
	for _, at := range a.earlierTries {
		trees = append(trees, at.Tree, at.TreeAfter)
	}
	trees = slices.DeleteFunc(trees, func(id string) bool { return id == "" || id == a.tree })
	if a.tree == "" || len(trees) == 0 {
		return nil
	}
	missing, err := git.Missing(ctx, a.opts.Dir, a.opts.Objects, trees)
	if err != nil || len(missing) == 0 {
		return err
	}
	if slices.Contains(missing, a.base.Tree) {
		a.bus.warn(a.claim.Task.ID, "what the task began with is gone from "+a.opts.Objects+": only changes from now on count")
		a.base.Tree = a.tree
	}
	if old := &a.claim.Resumed; slices.Contains(missing, old.Tree) || slices.Contains(missing, old.TreeAfter) {
		old.Tree, old.TreeAfter = a.base.Tree, ""
	}
	a.earlierTries = slices.DeleteFunc(a.earlierTries, func(at dag.Attempt) bool {
		return slices.Contains(missing, at.Tree) || slices.Contains(missing, at.TreeAfter)
	})
	return nil
}

// prepare learns what there is before the agent begins. Where nothing is verified,
// recovery still has to know what the attempt found.
func (a *attempt) prepare(ctx context.Context) error {
	if err := a.begin(ctx); err != nil || a.opts.Skip {
		return err
	}
	if err := a.baseline(ctx); err != nil {
		return err
	}
	return a.keepBase(ctx)
}

// keepBase stores what the gates said before the task's work, if that is news.
func (a *attempt) keepBase(ctx context.Context) error {
	commands, _ := a.commands()
	for _, command := range commands {
		if _, known := a.base.Gates[command]; known {
			continue
		}
		if res := a.known(command); res != nil {
			if a.base.Gates == nil {
				a.base.Gates = map[string]verify.Result{}
			}
			kept := *res
			kept.Tail = "" // only the names of failures are compared
			a.base.Gates[command] = kept
		}
	}
	b, err := json.Marshal(a.base)
	if err != nil {
		return err
	}
	return a.opts.Store.Update(ctx, func(g *dag.Graph) error { return g.SetBase(a.claim, string(b)) })
}

// take is the tree of the project as it is, without what ralph itself writes.
func (a *attempt) take(ctx context.Context) (git.Taken, error) {
	taken, err := git.Take(ctx, a.opts.Dir, a.opts.Objects, a.own(ctx)...)
	if err != nil {
		return taken, err
	}
	if len(taken.Large) > 0 {
		a.bus.warnOnce("large", fmt.Sprintf("of files above %d MiB only size and time are evidence: %s; ignore those that nobody works on", git.LargeFile>>20, human.List(taken.Large, 5)))
	}
	a.taken = taken
	return taken, nil
}

// takeNow is take, if the task's beginning is known: otherwise a tree is of no use.
func (a *attempt) takeNow(ctx context.Context) (git.Taken, error) {
	if a.base.Tree == "" {
		return git.Taken{}, nil
	}
	return a.take(ctx)
}

// finish takes the tree with which the agent says that it is done. What happens
// later, while that is verified, is not its work. Work that is only verified was
// finished by an earlier attempt.
func (a *attempt) finish(ctx context.Context) (git.Taken, error) {
	if a.resumed != nil {
		taken, err := a.takeNow(ctx)
		a.finished = cmp.Or(a.claim.Resumed.TreeAfter, taken.Tree)
		return taken, err
	}
	taken, err := a.takeNow(context.WithoutCancel(ctx)) // a run that is stopped keeps finished work
	a.finished = taken.Tree
	return taken, err
}

// compare lists what differs between two trees, except for what ralph itself writes:
// another run may have begun to write its log between the two.
func (a *attempt) compare(ctx context.Context, from, to string) ([]git.Change, error) {
	if from == to {
		return nil, nil
	}
	changes, err := git.Compare(ctx, a.opts.Dir, a.opts.Objects, from, to)
	own := a.own(ctx)
	return slices.DeleteFunc(changes, func(c git.Change) bool { return within(c.Path, own) }), err
}

// within says that a file is one of these, or in one of them.
func within(name string, list []string) bool {
	return slices.ContainsFunc(list, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

// examine compares a tree with what the task began with, and returns the one that
// shows the task's own work.
func (a *attempt) examine(ctx context.Context, taken git.Taken, err error) (string, error) {
	f := &a.facts
	f.Work.Tampering, f.Work.Unchanged = nil, false
	f.Work.Evident = a.claim.Task.Kind == dag.Check || a.evident()
	allowed := a.claim.Task.AllowTampering
	if a.session != nil && !allowed {
		touched, err := a.session.Tampered()
		if err != nil {
			return "", err
		}
		for _, path := range touched {
			f.Work.Tampering = append(f.Work.Tampering, "protected: "+path)
		}
	}
	if a.base.Tree == "" {
		if a.blind != nil && !f.Work.Evident {
			a.bus.warnOnce("git", "changes cannot be judged: "+a.blind.Error())
		}
		return "", nil
	}
	now := taken.Tree
	if errors.Is(err, git.ErrUnknown) {
		// It was there when the task began, and without it nothing can be judged.
		f.Work.Tampering = append(f.Work.Tampering, "the git repository is gone")
		return "", nil
	}
	if err != nil {
		return "", err
	}
	changes, err := a.ownChanges(ctx, now)
	if err != nil {
		return "", err
	}
	if a.session != nil && a.session.Sandbox() == preventing {
		// No agent could write it, so a person did.
		changes = slices.DeleteFunc(changes, func(c git.Change) bool { return c.Path == configuration })
	}
	f.Work.Unchanged = len(changes) == 0 && git.HeadTree(ctx, a.opts.Dir, taken.Inside...) == a.headTree
	shown := now
	if a.resumed != nil {
		shown = a.finished
	}
	if allowed {
		return shown, nil
	}
	of := func(tree string) tamper.Read {
		return func(path string) ([]byte, error) {
			return git.Show(ctx, a.opts.Dir, a.opts.Objects, tree, path, maxTestFile)
		}
	}
	gates, _ := a.commands()
	findings := tamper.Find(changes, of(a.base.Tree), of(now), a.opts.Protect)
	findings = append(findings, tamper.NeuteredGates(changes, of(a.base.Tree), of(now), gates)...)
	silenced, err := tamper.ExcludedTests(changes, of(a.base.Tree), of(now), func() ([]string, error) {
		return git.Files(ctx, a.opts.Dir, a.opts.Objects, a.base.Tree)
	})
	if err != nil {
		return "", err
	}
	for _, finding := range append(findings, silenced...) {
		f.Work.Tampering = append(f.Work.Tampering, finding.What)
	}
	return shown, nil
}

// examineAgain looks for tampering only: the agent lives on while the gates run, and
// what gates leave behind is not the work's.
func (a *attempt) examineAgain(ctx context.Context) error {
	unchanged := a.facts.Work.Unchanged
	taken, err := a.takeNow(ctx)
	_, err = a.examine(ctx, taken, err)
	a.facts.Work.Unchanged = unchanged
	return err
}

// tellTampering says what an attempt touched that nobody asked about, because it
// did not end with "done".
func (a *attempt) tellTampering(d policy.Decision) {
	if a.facts.Work.Checked || a.claim.Task.AllowTampering || d.Action == policy.Abort {
		return
	}
	touched, err := a.session.Tampered()
	if err == nil && len(touched) > 0 {
		a.bus.warn(a.claim.Task.ID, "the agent changed what it must not: "+strings.Join(touched, ", "))
	}
}

// preventing is the level of the sandbox at which ralph's configuration is read-only.
const (
	preventing    = "namespaces"
	configuration = ".ralph.toml"
)

// maxTestFile is how much of a file is searched for tests.
const maxTestFile = 2 << 20

// ownChanges lists what differs from where the task began, as far as it changed
// while one of its attempts was under way: a person, or another task, may have
// worked in between.
func (a *attempt) ownChanges(ctx context.Context, now string) ([]git.Change, error) {
	all, err := a.compare(ctx, a.base.Tree, now)
	if err != nil || a.tree == a.base.Tree && a.resumed == nil {
		return all, err
	}
	own := map[string]bool{}
	for _, span := range a.spans(now) {
		changes, err := a.compare(ctx, span[0], span[1])
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			own[c.Path], own[c.Old] = true, true
		}
	}
	return slices.DeleteFunc(all, func(c git.Change) bool { return !own[c.Path] && (c.Old == "" || !own[c.Old]) }), nil
}

// spans are the trees between which the task's attempts worked. Of one whose run
// died before its agent said that it is done, nobody knows what it ended with, so all
// until the next one began is its own.
func (a *attempt) spans(now string) [][2]string {
	var spans [][2]string
	from := ""
	for _, at := range a.earlierTries {
		if at.Tree == "" || at.ID == a.claim.Attempt || at.StartedAt.Before(a.claim.Task.StartedAt) {
			continue
		}
		if from != "" {
			spans = append(spans, [2]string{from, at.Tree})
			from = ""
		}
		if at.TreeAfter != "" {
			spans = append(spans, [2]string{at.Tree, at.TreeAfter})
		} else {
			from = at.Tree
		}
	}
	if from != "" && a.resumed == nil {
		spans = append(spans, [2]string{from, a.tree})
	}
	if a.resumed != nil && a.claim.Resumed.TreeAfter != "" {
		return spans // it is one of those above
	}
	if a.resumed != nil { // kept by a version that did not say what it ended with
		return append(spans, [2]string{a.claim.Resumed.Tree, now})
	}
	return append(spans, [2]string{a.tree, now})
}
