package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/proof"
	"ralph/sigils"
	"ralph/verify"
)

// Proving is what a task says it proves.
type Proving struct {
	Tree     string            // what the feature began with; "" if nobody knows
	Criteria []proof.Criterion // of its specification
}

const (
	asTheFeatureBegan       = "on what the feature began with"
	asTheFeatureBeganTested = "on what the feature began with, with the tests of the task"
	asTheTaskBegan          = "on what the task began with, with its tests"

	baseRuns = 3 // on what the feature began with: what fails by chance shows nothing
	maxShown = 200
)

// prove finds out which criteria the accepted work proves: a gate that accepts it has to fail on what the feature began with, with
// the tests of the work. What it finds is recorded before the work lands, because nobody could find it out afterwards.
func (a *attempt) prove(ctx context.Context, taken string) error {
	p := a.job.Proof
	if len(p.Criteria) == 0 || a.job.Verify.Skip {
		return nil
	}
	commit := a.evidence.landing.Commit
	candidates := func(c proof.Criterion) []string { return provedBy(c, a.work.Gates) }
	var gates, tests []string
	for _, c := range p.Criteria {
		for _, gate := range candidates(c) {
			if !slices.Contains(gates, gate) {
				gates = append(gates, gate)
			}
			if len(c.Commands) == 0 {
				tests = append(tests, gate)
			}
		}
	}
	seen, err := a.failing(ctx, cmp.Or(a.evidence.candidate, taken), gates, tests)
	if err != nil {
		return err
	}
	var proofs []dag.Proof
	for _, c := range p.Criteria {
		one := dag.Proof{Criterion: c.ID, Text: c.Text, Kind: dag.ProofNone, Commit: commit}
		gates := candidates(c)
		for _, gate := range gates {
			s := seen.tested[gate]
			if plain := seen.plain[gate]; len(c.Commands) > 0 && plain.unproven == "" {
				s = plain
			}
			if s.unproven == "" {
				one.Kind, one.Gate, one.Shown, one.Base = dag.ProofTest, gate, s.shown, s.base
				break
			} else if one.Shown == "" {
				one.Gate, one.Shown = gate, s.unproven
			}
		}
		switch {
		case len(gates) > 0:
		case len(c.Commands) > 0:
			one.Shown = fmt.Sprintf("%q is no gate of the task; make it one: ralph task update %s --gate", c.Commands[0], a.job.Task.ID)
		default:
			one.Shown = "no gate of the task is about it"
		}
		if one.Kind == dag.ProofNone && a.work.Verdict != nil && a.work.Verdict.Pass {
			one = byVerdict(one, a.work.Verdict.Proven, cmp.Or(a.job.Agent.Verifier, a.use.Name))
		}
		if one.Kind == dag.ProofNone {
			a.warn(a.job.Task.ID, fmt.Sprintf("%s is not proven: %s", c.ID, one.Shown))
		}
		proofs = append(proofs, one)
	}
	return a.keepProofs(ctx, proofs)
}

// keepProofs records proofs. Of an attempt that has lost its task, nothing counts; whoever ends it says so.
func (a *attempt) keepProofs(ctx context.Context, proofs []dag.Proof) error {
	err := a.ports.Record(context.WithoutCancel(ctx), Record{Proofs: proofs})
	if errors.Is(err, dag.ErrLost) {
		return nil
	}
	return err
}

// byVerdict is what a verifier says about a criterion, if it does. What ralph saw itself is not lost by that.
func byVerdict(p dag.Proof, said []sigils.Proven, author string) dag.Proof {
	i := slices.IndexFunc(said, func(s sigils.Proven) bool { return s.Criterion == p.Criterion })
	if i < 0 {
		return p
	}
	why := ""
	if p.Gate != "" {
		why = " (its test shows nothing: " + p.Shown + ")"
	}
	p.Kind, p.Author, p.Shown = dag.ProofVerdict, author, plain.Cut(strings.Join(strings.Fields(said[i].Text), " "), maxShown)+why
	return p
}

// acceptedCriteria are the criteria of the whole specification that a verifier says are met, when it accepts the feature.
func (a *attempt) acceptedCriteria(ctx context.Context, v verify.Verdict) error {
	var proofs []dag.Proof
	for _, c := range proof.Criteria(a.Documents(a.job.Task).Spec.Text) {
		one := byVerdict(dag.Proof{Criterion: c.ID, Text: c.Text, Kind: dag.ProofNone, Commit: a.evidence.before.Head}, v.Proven, a.use.Name)
		if c.ID != "" && one.Kind == dag.ProofVerdict {
			proofs = append(proofs, one)
		}
	}
	if len(proofs) == 0 {
		return nil
	}
	return a.keepProofs(ctx, proofs)
}

// provedBy are the gates that can prove a criterion: where it is commands, these; otherwise the task's own, or, if it has none, all.
func provedBy(c proof.Criterion, checks []verify.Check) []string {
	commands := func(wanted func(verify.Check) bool) (list []string) {
		for _, check := range checks {
			if check.Passed && !check.ExpectRed && wanted(check) {
				list = append(list, check.Command)
			}
		}
		return list
	}
	if len(c.Commands) > 0 {
		words := func(command string) string { return strings.Join(strings.Fields(command), " ") }
		wanted := seq.Map(c.Commands, words)
		return commands(func(check verify.Check) bool { return slices.Contains(wanted, words(check.Command)) })
	}
	own := func(check verify.Check) bool { return check.Own }
	if slices.ContainsFunc(checks, own) {
		return commands(own)
	}
	return commands(func(verify.Check) bool { return true })
}

// failure is what a gate said without the work.
type failure struct {
	shown    string // what failed
	base     string // the tree on which it did
	unproven string // why that shows nothing; "" if it does
}

// failures are what gates said without the work, by command.
type failures struct {
	plain  map[string]failure // without the tests of the task, too
	tested map[string]failure // because of them
}

// failing runs gates without the work. Tests are those that have to fail because of the task's own tests, and not for another reason. The
// error is for what must end the attempt.
func (a *attempt) failing(ctx context.Context, work string, gates, tests []string) (seen failures, err error) {
	seen = failures{map[string]failure{}, map[string]failure{}}
	all := func(why string) failures {
		for _, gate := range gates {
			seen.plain[gate], seen.tested[gate] = failure{unproven: why}, failure{unproven: why}
		}
		return seen
	}
	if len(gates) == 0 {
		return seen, nil
	}
	base := a.evidence.began
	if base == "" || a.evidence.base.Tree == "" || work == "" {
		return all("git does not know what the feature began with"), nil
	}
	if gone, err := a.evidence.trees.Missing(ctx, base); err != nil || len(gone) > 0 {
		return all("git does not have what the feature began with any more"), context.Cause(ctx)
	}
	old, err := a.evidence.withoutWork(ctx, base, work, a.prevented())
	if err != nil {
		return all("the tests of the work cannot be told from it: " + err.Error()), context.Cause(ctx)
	}
	plain, err := a.inCopyOf(ctx, old.all, gates, asTheFeatureBegan)
	if err != nil {
		return seen, err
	}
	var left []string
	for _, gate := range gates {
		seen.plain[gate], seen.tested[gate] = plain[gate].failure(gate, base), failure{unproven: "the task changes no test"}
		if seen.plain[gate].unproven != "" || slices.Contains(tests, gate) {
			left = append(left, gate)
		}
	}
	settle := func(gate string, f failure) {
		seen.tested[gate] = f
		if f.unproven == "" {
			left = slices.DeleteFunc(left, func(g string) bool { return g == gate })
		}
	}
	if old.tests && len(left) > 0 {
		tested, err := a.inCopyOf(ctx, old.code, left, asTheFeatureBeganTested)
		if err != nil {
			return seen, err
		}
		for gate, r := range tested {
			f := r.failure(gate, base)
			if without := plain[gate]; f.unproven == "" && !without.passed && !old.lacks(gate) && !verify.Worse(without.last, r.last) {
				f.unproven = fmt.Sprintf("gate %q fails without the tests of the task, too, and with them it names no other failure", gate)
			}
			settle(gate, f)
		}
		if err := a.failsBefore(ctx, old.own, seen.tested); err != nil {
			return seen, err
		}
	}
	if !old.tests {
		if err := a.turned(ctx, work, left, settle); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// failsBefore takes back what passes on what the task itself began with, with its tests: then they fail on what the feature began with
// for want of something else. A task that only writes tests writes them for what was there.
func (a *attempt) failsBefore(ctx context.Context, edits []git.Edit, seen map[string]failure) error {
	var gates []string
	for gate, f := range seen {
		if f.unproven == "" {
			gates = append(gates, gate)
		}
	}
	if len(gates) == 0 || len(edits) == 0 {
		return nil
	}
	slices.Sort(gates)
	before, err := a.inCopyOf(ctx, edits, gates, asTheTaskBegan)
	for gate, r := range before {
		if f := r.failure(gate, ""); f.unproven != "" {
			seen[gate] = f
		}
	}
	return err
}

// turned looks at gates that were red before a task that changes no test: tests that somebody wrote first are proof if its work makes them
// pass. They have to name what failed: a gate may also be red because what it runs is not there.
func (a *attempt) turned(ctx context.Context, work string, gates []string, settle func(string, failure)) error {
	gates = slices.DeleteFunc(slices.Clone(gates), func(gate string) bool {
		return !slices.ContainsFunc(a.work.Gates, func(c verify.Check) bool { return c.Command == gate && c.TurnedGreen() })
	})
	if len(gates) == 0 {
		return nil
	}
	mine, err := a.evidence.changes(ctx, work, a.prevented())
	if err != nil {
		return context.Cause(ctx)
	}
	before, err := a.inCopyOf(ctx, undone(mine), gates, asBefore)
	for gate, r := range before {
		f := r.failure(gate, a.evidence.base.Tree)
		if f.unproven == "" && r.last.Failures == "" {
			f.unproven = fmt.Sprintf("the task changes no test, and gate %q did not say what failed before it", gate)
		}
		settle(gate, f)
	}
	return err
}

// ran is what came of the runs of one gate in a copy.
type ran struct {
	runs    int
	passed  bool // in the last of them
	last    verify.Result
	unknown error
}

// failure says whether the runs show that a gate fails there.
func (r ran) failure(gate, base string) failure {
	switch {
	case r.unknown != nil:
		return failure{unproven: "it cannot be run without the work: " + r.unknown.Error()}
	case r.passed && r.runs == 1:
		return failure{unproven: fmt.Sprintf("gate %q passes without the work, too", gate)}
	case r.passed:
		return failure{unproven: fmt.Sprintf("gate %q is flaky: without the work it failed, and passed in run %d", gate, r.runs)}
	case r.last.Killed:
		return failure{unproven: fmt.Sprintf("gate %q did not end without the work: %s", gate, r.last.Exit)}
	}
	return failure{shown: firstFailure(r.last), base: base}
}

// inCopyOf runs gates in a copy of the work, each baseRuns times unless it passes or does not end.
func (a *attempt) inCopyOf(ctx context.Context, edits []git.Edit, gates []string, why string) (map[string]ran, error) {
	came := map[string]ran{}
	runner, end, unknown := a.ports.Lane.Copy(ctx, edits)
	for _, gate := range gates {
		r := ran{unknown: unknown}
		for r.unknown == nil && !r.passed && !r.last.Killed && r.runs < baseRuns {
			r.last, r.unknown = a.gateIn(ctx, runner, gate, why, a.verifyLog())
			if r.runs, r.passed = r.runs+1, r.last.Passed; r.unknown == nil {
				a.gateEnded(verify.Check{Result: r.last}, why)
			}
		}
		came[gate] = r
	}
	return came, cmp.Or(end(), context.Cause(ctx))
}

// firstFailure names what failed, in a line that says something.
func firstFailure(r verify.Result) string {
	const telling = 12 // letters, at least
	for line := range strings.SplitSeq(r.Failures, "\n") {
		if line = strings.TrimSpace(line); len(line) >= telling {
			return plain.Cut(line, maxShown)
		}
	}
	return r.Exit
}
