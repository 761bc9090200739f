package loop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/verify"
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
	if a.opts.Skip {
		return nil
	}
	var taken git.Taken
	err := git.Rules(ctx, a.opts.Dir, a.opts.Objects)
	if err == nil {
		taken, err = a.take(ctx)
	}
	switch {
	case errors.Is(err, git.ErrUnknown):
		a.blind = err
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
	if stored == "" {
		a.base = Base{Tree: a.tree}
		return nil
	}
	return json.Unmarshal([]byte(stored), &a.base)
}

// prepare learns what there is before the agent begins.
func (a *attempt) prepare(ctx context.Context) error {
	if a.opts.Skip {
		return nil
	}
	if err := a.begin(ctx); err != nil {
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

// take is the tree of the project as it is, without ralph's own folder.
func (a *attempt) take(ctx context.Context) (git.Taken, error) {
	taken, err := git.Take(ctx, a.opts.Dir, a.opts.Objects, append([]string{".ralph"}, a.opts.Own...)...)
	if err == nil {
		a.taken = taken
	}
	return taken, err
}

// filesInside lists what the attempt changed in repositories inside the project, as
// far as a tree was taken: git status does not look into them for us.
func (a *attempt) filesInside(ctx context.Context) []string {
	if a.tree == "" || len(a.taken.Inside) == 0 {
		return nil
	}
	return slices.DeleteFunc(a.since(ctx, a.tree, a.taken.Tree), func(name string) bool {
		return !slices.ContainsFunc(a.taken.Inside, func(in string) bool { return strings.HasPrefix(name, in+"/") })
	})
}

// examine compares the project with what the task began with, and returns its tree.
func (a *attempt) examine(ctx context.Context) (string, error) {
	f := &a.facts
	f.Tampering, f.Unchanged = nil, false
	f.Evident = a.claim.Task.Kind == dag.Check || a.evident()
	allowed := a.claim.Task.AllowTampering
	if a.session != nil && !allowed {
		touched, err := a.session.Tampered()
		if err != nil {
			return "", err
		}
		for _, path := range touched {
			f.Tampering = append(f.Tampering, "protected: "+path)
		}
	}
	if a.base.Tree == "" {
		if a.blind != nil && !f.Evident {
			a.warnFirst("git", "changes cannot be judged: "+a.blind.Error())
		}
		return "", nil
	}
	taken, err := a.take(ctx)
	now := taken.Tree
	if errors.Is(err, git.ErrUnknown) {
		// It was there when the task began, and without it nothing can be judged.
		f.Tampering = append(f.Tampering, "the git repository is gone")
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
	f.Unchanged = len(changes) == 0 && git.HeadTree(ctx, a.opts.Dir, taken.Inside...) == a.headTree
	if allowed {
		return now, nil
	}
	of := func(tree string) verify.Read {
		return func(path string) ([]byte, error) {
			return git.Show(ctx, a.opts.Dir, a.opts.Objects, tree, path, maxTestFile)
		}
	}
	gates, _ := a.commands()
	findings := verify.Tampering(changes, of(a.base.Tree), of(now), a.opts.Protect)
	findings = append(findings, verify.Hollowed(changes, of(a.base.Tree), of(now), gates)...)
	silenced, err := verify.LeftOut(changes, of(a.base.Tree), of(now), func() ([]string, error) {
		return git.Files(ctx, a.opts.Dir, a.opts.Objects, a.base.Tree)
	})
	if err != nil {
		return "", err
	}
	for _, finding := range append(findings, silenced...) {
		f.Tampering = append(f.Tampering, finding.What)
	}
	return now, nil
}

// examineAgain looks for tampering only: the agent lives on while the gates run, and
// what gates leave behind is not the work's.
func (a *attempt) examineAgain(ctx context.Context) error {
	unchanged := a.facts.Unchanged
	_, err := a.examine(ctx)
	a.facts.Unchanged = unchanged
	return err
}

// tellTampering says what an attempt touched that nobody asked about, because it
// did not end with "done".
func (a *attempt) tellTampering(d Decision) {
	if a.facts.Verified || a.claim.Task.AllowTampering || d.Action == Abort {
		return
	}
	touched, err := a.session.Tampered()
	if err == nil && len(touched) > 0 {
		a.warn(a.claim.Task.ID, "the agent changed what it must not: "+strings.Join(touched, ", "))
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
	compare := func(from, to string) ([]git.Change, error) {
		if from == to {
			return nil, nil
		}
		return git.Compare(ctx, a.opts.Dir, a.opts.Objects, from, to)
	}
	all, err := compare(a.base.Tree, now)
	if err != nil || a.tree == a.base.Tree && a.resumed == nil {
		return all, err
	}
	own := map[string]bool{}
	for _, span := range a.spans(now) {
		changes, err := compare(span[0], span[1])
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
// died nobody knows what it ended with, so all until the next one began is its own.
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
	if a.resumed != nil { // its agent worked until its run died
		return append(spans, [2]string{a.claim.Resumed.Tree, now})
	}
	return append(spans, [2]string{a.tree, now})
}
