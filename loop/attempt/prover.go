package attempt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/plain"
	"ralph/verify"
	"ralph/verify/suite"
)

// Why gates run for a proof.
const (
	forNames  = "in a copy, for the names of its tests"
	asBegan   = "without the work, with the tests of the task"
	asHollow  = "without the work, with empty bodies of what it adds"
	mostRuns  = 3 // of a gate, for all of its proofs
	enough    = 3 // letters of a name that occur in a text by more than chance
	noTesting = "the task changes no test, and "
)

// found is what a gate shows: its kind, and what failed without the work, or why that is not enough.
type found struct {
	kind        dag.ProofKind
	shown, base string
}

// prover runs gates with and without the work.
type prover struct {
	*attempt
	work  string
	seen  map[string]found  // by command
	bases map[string]before // by tree
}

// gateRuns are those of one gate.
type gateRuns struct {
	*prover
	gate   string
	ask    bool // for names
	left   int
	with   verify.Result
	before before
	mine   map[string]bool // what passes with the work and may fail without it
}

// look finds what a gate shows. Literal is true if a criterion is this command. The error is for what must end the attempt.
func (p *prover) look(ctx context.Context, c verify.Check, literal bool) (found, error) {
	if f, known := p.seen[c.Command]; known {
		return f, nil
	}
	f, err := p.judge(ctx, c, literal)
	if err == nil {
		f.shown = plain.Excerpt(f.shown)
		p.seen[c.Command] = f
	}
	return f, err
}

func (p *prover) judge(ctx context.Context, c verify.Check, literal bool) (found, error) {
	if c.Flaky {
		return none("gate %q is flaky: it failed with the work, and passed when it ran again", c.Command), nil
	}
	began, why, err := p.base(ctx, c, literal)
	if err != nil || why != "" {
		return none("%s", why), err
	}
	r := &gateRuns{prover: p, gate: c.Command, ask: true, left: mostRuns, before: began}
	var unknown string
	if r.with, unknown, err = r.run(ctx, nil, forNames); err == nil && unknown == "" && !r.with.Passed { // because of that?
		r.ask = false
		r.with, unknown, err = r.run(ctx, nil, forNames)
	}
	switch {
	case err != nil:
		return found{}, err
	case unknown != "":
		return none("it cannot be run in a copy: %s", unknown), nil
	case !r.with.Passed:
		return none("gate %q fails in a copy of the work, too: %s", c.Command, r.with.Exit), nil
	}
	r.mine = provable(r.with.Reported, began)
	f, err := r.without(ctx, literal || len(shellTest(c.Command)) > 0)
	f.base = began.tree
	return f, err
}

// without runs the gate without the work. With itself, a gate that names no test counts as one.
func (r *gateRuns) without(ctx context.Context, itself bool) (found, error) {
	was, unknown, err := r.run(ctx, r.before.edits, asBegan)
	switch {
	case err != nil:
		return found{}, err
	case unknown != "":
		return none("it cannot be run without the work: %s", unknown), nil
	case was.Passed && r.before.words == "":
		return none(noTesting+"gate %q passes without the work, too", r.gate), nil
	case was.Passed:
		return none("gate %q passes without the work, too", r.gate), nil
	case was.Killed:
		return none("gate %q did not end without the work: %s", r.gate, was.Exit), nil
	}
	if name := r.failed(was); name != "" {
		return r.confirmed(ctx, name, func(again verify.Result) bool { return again.Reported.Fails(name) })
	}
	said := firstFailure(was)
	switch {
	case len(r.with.Reported.Passed) > 0 || r.with.Reported.Ran > 0:
		return r.hollow(ctx, was)
	case was.Unstartable:
		return partial("gate %q could not start without the work: %s", r.gate, said), nil
	case itself:
		return r.confirmed(ctx, said, func(again verify.Result) bool { return !again.Passed })
	}
	return partial("gate %q fails without the work (%s), but does not name the tests that pass with it", r.gate, said), nil
}

// confirmed runs the gate again: what fails by chance shows nothing.
func (r *gateRuns) confirmed(ctx context.Context, name string, same func(verify.Result) bool) (found, error) {
	if r.left == 0 {
		return found{kind: dag.ProofTest, shown: name}, nil
	}
	again, unknown, err := r.run(ctx, r.before.edits, asBegan)
	if err == nil && (unknown != "" || !same(again)) {
		return none("gate %q is flaky: without the work it failed, and passed in run 2 (%s)", r.gate, name), nil
	}
	return found{kind: dag.ProofTest, shown: name}, err
}

// hollow is for tests that did not run without the work: most often they do not compile without what it adds. They have to fail with
// that, too, as long as it does nothing.
func (r *gateRuns) hollow(ctx context.Context, was verify.Result) (found, error) {
	if r.ran(was) {
		return none("gate %q fails without the work, but no test that the task wrote or changed does: %s", r.gate, firstFailure(was)), nil
	}
	unbuilt := func(why string) found {
		return partial("the tests of gate %q did not build or load without the work (%s)%s", r.gate, firstFailure(was), why)
	}
	if len(r.before.hollow) == 0 || r.left == 0 {
		return unbuilt(""), nil
	}
	now, unknown, err := r.run(ctx, r.before.hollow, asHollow)
	switch {
	case err != nil:
		return found{}, err
	case unknown != "":
		return unbuilt(""), nil
	case now.Passed:
		return none("gate %q passes as well if what the work adds has empty bodies", r.gate), nil
	}
	if name := r.failed(now); name != "" {
		return found{kind: dag.ProofTest, shown: name + " (with empty bodies of what the work adds)"}, nil
	}
	if r.ran(now) {
		return none("no test that the task wrote or changed fails if what the work adds has empty bodies"), nil
	}
	return unbuilt(", nor with empty bodies of what it adds"), nil
}

// ran reports whether all of the tests did.
func (r *gateRuns) ran(in verify.Result) bool {
	for name := range r.mine {
		if _, there := in.Reported.Passed[name]; !there {
			return false
		}
	}
	return len(r.mine) > 0 || r.with.Reported.Ran == in.Reported.Ran
}

// failed is a test that failed in a run and passes with the work; "" if there is none.
func (r *gateRuns) failed(in verify.Result) string {
	all := r.with.Reported
	sameTests := all.Ran > 0 && all.Ran == in.Reported.Ran // of a runner that names only what fails
	for _, name := range slices.Sorted(maps.Keys(in.Reported.Passed)) {
		_, named := all.Passed[name]
		if in.Reported.Fails(name) && (r.mine[name] || sameTests && !named && wrote(r.before, name)) {
			return name
		}
	}
	return ""
}

// run runs the gate in a copy of the work. Unknown is why it cannot.
func (r *gateRuns) run(ctx context.Context, edits []git.Edit, why string) (res verify.Result, unknown string, err error) {
	r.left--
	runner, end, err := r.ports.Lane.Copy(ctx, edits)
	if r.ask {
		runner.Env = verify.AskNames(runner.Env)
	}
	if err == nil {
		if res, err = r.gateIn(ctx, runner, r.gate, why, r.verifyLog()); err == nil {
			r.gateEnded(verify.Check{Result: res}, why)
		}
	}
	if err != nil {
		unknown = err.Error()
	}
	return res, unknown, cmp.Or(end(), context.Cause(ctx))
}

// base is what a gate has to fail on: what the task began with. A task that only writes tests writes them for what the feature has, and a
// criterion that is a command may have been met by an earlier task. Why is the reason if this is not known.
func (p *prover) base(ctx context.Context, c verify.Check, literal bool) (b before, why string, err error) {
	b, why, err = p.without(ctx, p.evidence.base.Tree)
	if why != "" || err != nil || p.evidence.began == p.evidence.base.Tree {
		return b, why, err
	}
	if met := literal && !b.tests && c.PassedBefore(); met || len(b.edits) == 0 {
		return p.without(ctx, p.evidence.began)
	}
	return b, why, err
}

func (p *prover) without(ctx context.Context, tree string) (before, string, error) {
	if b, known := p.bases[tree]; known {
		return b, "", nil
	}
	if tree == "" || p.work == "" {
		return before{}, "git does not know what the task began with", nil
	}
	if gone, err := p.evidence.trees.Missing(ctx, tree); err != nil || len(gone) > 0 {
		return before{}, "git does not have what the task began with any more", context.Cause(ctx)
	}
	b, err := p.evidence.withoutWork(ctx, tree, p.work, p.prevented())
	if err != nil {
		return b, "the tests of the work cannot be separated from it: " + err.Error(), context.Cause(ctx)
	}
	p.bases[tree] = b
	return b, "", nil
}

// provable are tests that pass, by name: those that the task wrote or changed, as far as names show it.
func provable(said *verify.Report, b before) map[string]bool {
	all, mine := map[string]bool{}, map[string]bool{}
	for name, passed := range said.Passed {
		if passed {
			if all[name] = true; wrote(b, name) {
				mine[name] = true
			}
		}
	}
	if len(mine) == 0 { // names that tests make themselves
		return all
	}
	return mine
}

// wrote reports whether the name of a test occurs in what the task wrote of tests. Of one that changes none, all tests count: another
// task may have written them first.
func wrote(b before, name string) bool {
	if b.words == "" || strings.Contains(b.words, name) {
		return true
	}
	name, _, _ = strings.Cut(name, "[")
	parts := strings.Split(name, "/")
	for _, separator := range []string{"::", ".", " > ", " › "} {
		parts = append(parts, name[strings.LastIndex(name, separator)+1:])
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		part = strings.Trim(part, ":>› ")
		return len(part) >= enough && part != name && strings.Contains(b.words, part)
	})
}

// shellTest is the script of tests that a gate is; "" if it is anything else. A script always loads.
func shellTest(gate string) string {
	words := strings.Fields(gate)
	if len(words) == 2 && slices.Contains([]string{"sh", "bash", "dash", "ash"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 1 && path.Ext(words[0]) == ".sh" && suite.IsTest(path.Clean(words[0])) {
		return words[0]
	}
	return ""
}

func none(format string, args ...any) found {
	return found{kind: dag.ProofNone, shown: fmt.Sprintf(format, args...)}
}

func partial(format string, args ...any) found {
	return found{kind: dag.ProofPartial, shown: fmt.Sprintf(format, args...)}
}

// firstFailure names what failed, in a line that says something.
func firstFailure(r verify.Result) string {
	const telling = 12 // letters, at least
	for line := range strings.SplitSeq(r.Failures, "\n") {
		if line = strings.TrimSpace(line); len(line) >= telling {
			return plain.Excerpt(line)
		}
	}
	return r.Exit
}
