package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/proof"
	"ralph/sigils"
	"ralph/verify"
	"ralph/verify/suite"
)

// Proving is what a task says it proves.
type Proving struct {
	Tree     string            // what the feature began with; "" if nobody knows
	Criteria []proof.Criterion // of its specification
}

const (
	asTheFeatureBegan = "on what the feature began with, with the tests of the work"

	baseRuns = 3 // on what the feature began with: what fails by chance shows nothing
	maxShown = 200
)

// prove finds out which criteria the accepted work proves: a gate that accepts it has to fail on what the feature began with, with
// the tests of the work. What it finds is recorded before the work lands, because nobody could find it out afterwards.
func (a *attempt) prove(ctx context.Context, taken git.Taken) error {
	p := a.job.Proof
	if len(p.Criteria) == 0 || a.job.Verify.Skip {
		return nil
	}
	commit := a.evidence.landing.Commit
	if a.ports.Lane == nil {
		if state := git.LookAt(context.WithoutCancel(ctx), a.job.Place.Dir, taken); len(state.Uncommitted) == 0 {
			commit = state.Head
		}
	}
	candidates := func(c proof.Criterion) []string { return provedBy(c, a.work.Gates) }
	work, seen := cmp.Or(a.evidence.candidate, taken.Tree), map[string]failure{}
	for _, commands := range []bool{true, false} { // where the criterion is a command, that is all there is to test
		of := slices.DeleteFunc(slices.Clone(p.Criteria), func(c proof.Criterion) bool { return len(c.Commands) > 0 != commands })
		gates := slices.Compact(slices.Sorted(slices.Values(slices.Concat(seq.Map(of, candidates)...))))
		gates = slices.DeleteFunc(gates, func(gate string) bool { _, known := seen[gate]; return known })
		one, err := a.failing(ctx, work, gates, !commands)
		if err != nil {
			return err
		}
		maps.Copy(seen, one)
	}
	var proofs []dag.Proof
	for _, c := range p.Criteria {
		one := dag.Proof{Criterion: c.ID, Text: c.Text, Kind: dag.ProofNone, Base: a.evidence.began, Commit: commit}
		gates := candidates(c)
		for _, gate := range gates {
			if s := seen[gate]; s.unproven == "" {
				one.Kind, one.Gate, one.Shown = dag.ProofTest, gate, s.shown
				break
			} else if one.Shown == "" {
				one.Gate, one.Shown = gate, s.unproven
			}
		}
		if len(gates) == 0 {
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
	return a.ports.Record.Proofs(context.WithoutCancel(ctx), proofs)
}

// byVerdict is what a verifier says about a criterion, if it does.
func byVerdict(p dag.Proof, said []sigils.Proven, author string) dag.Proof {
	for _, s := range said {
		if s.Criterion == p.Criterion {
			p.Kind, p.Author, p.Shown, p.Gate, p.Base = dag.ProofVerdict, author, plain.Cut(strings.Join(strings.Fields(s.Text), " "), maxShown), "", ""
		}
	}
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
	return a.ports.Record.Proofs(context.WithoutCancel(ctx), proofs)
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
		return commands(func(check verify.Check) bool { return slices.Contains(c.Commands, check.Command) })
	}
	own := func(check verify.Check) bool { return check.Own }
	if slices.ContainsFunc(checks, own) {
		return commands(own)
	}
	return commands(func(verify.Check) bool { return true })
}

// failure is what a gate said of what the feature began with.
type failure struct {
	shown    string // what failed
	unproven string // why that shows nothing; "" if it does
}

// failing runs gates on what the feature began with, with the tests of this task. What others of the feature have tested meanwhile is not
// there: it would fail, too. The error is for what must end the attempt.
func (a *attempt) failing(ctx context.Context, work string, gates []string, scripts bool) (seen map[string]failure, err error) {
	seen = map[string]failure{}
	all := func(why string) map[string]failure {
		for _, gate := range gates {
			seen[gate] = failure{unproven: why}
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
	if gone, err := git.Missing(ctx, a.job.Place.Project, a.Objects, []string{base}); err != nil || len(gone) > 0 {
		return all("what the feature began with is gone from " + a.Objects), context.Cause(ctx)
	}
	mine, _, err := a.evidence.changes(ctx, work, a.prevented())
	var edits []git.Edit
	if err == nil {
		edits, err = a.evidence.withoutWork(ctx, base, work, suite.Tested{Mine: func(file string) bool { return filesOf(mine)[file] }, Scripts: scripts})
	}
	if err != nil {
		return all("the tests of the work cannot be told from it: " + err.Error()), context.Cause(ctx)
	}
	if len(edits) == 0 {
		return all("the feature has changed nothing but tests"), nil
	}
	red, err := a.inCopyOf(ctx, work, edits, gates, baseRuns, asTheFeatureBegan)
	if err != nil {
		return nil, err
	}
	var failed []string
	for _, gate := range gates {
		switch r := red[gate]; {
		case r.unknown != nil:
			seen[gate] = failure{unproven: "it cannot be run without the work: " + r.unknown.Error()}
		case r.passed && r.runs == 1:
			seen[gate] = failure{unproven: fmt.Sprintf("gate %q passes without the work, too", gate)}
		case r.passed:
			seen[gate] = failure{unproven: fmt.Sprintf("gate %q is flaky: without the work it failed, and passed in run %d", gate, r.runs)}
		case r.last.Killed:
			seen[gate] = failure{unproven: fmt.Sprintf("gate %q did not end without the work: %s", gate, r.last.Exit)}
		default:
			seen[gate], failed = failure{shown: firstFailure(r.last)}, append(failed, gate)
		}
	}
	if a.ports.Lane != nil || len(failed) == 0 { // in a slot the gates have just passed
		return seen, nil
	}
	// The copy may be to blame.
	control, err := a.inCopyOf(ctx, work, nil, failed, 1, inACopy)
	for _, gate := range failed {
		if c := control[gate]; c.unknown != nil || !c.passed {
			seen[gate] = failure{unproven: fmt.Sprintf("gate %q fails in any copy of the project", gate)}
		}
	}
	return seen, err
}

// ran is what came of the runs of one gate in a copy.
type ran struct {
	runs    int
	passed  bool // in the last of them
	last    verify.Result
	unknown error
}

// inCopyOf runs gates in a copy of the work, each so often unless it passes.
func (a *attempt) inCopyOf(ctx context.Context, work string, edits []git.Edit, gates []string, most int, why string) (map[string]ran, error) {
	came := map[string]ran{}
	runner, end, unknown := a.copyOf(ctx, a.evidence.base.Tree, work, edits)
	for _, gate := range gates {
		r := ran{unknown: unknown}
		for r.unknown == nil && !r.passed && r.runs < most {
			r.last, r.unknown = a.gateIn(ctx, runner, gate, why, a.verifyLog())
			if r.runs, r.passed = r.runs+1, r.last.Passed; r.unknown == nil {
				a.gateEnded(verify.Check{Result: r.last}, why)
			}
		}
		came[gate] = r
	}
	return came, cmp.Or(end(), context.Cause(ctx))
}

// firstFailure names what failed, in a line.
func firstFailure(r verify.Result) string {
	first, _, _ := strings.Cut(r.Failures, "\n")
	return plain.Cut(cmp.Or(strings.TrimSpace(first), r.Exit), maxShown)
}

// withoutWork makes a tree of the work what an earlier one was, but for what checks it. The edits carry what they put there, because
// the copy may be made of another base.
func (e *evidence) withoutWork(ctx context.Context, base, work string, of suite.Tested) (edits []git.Edit, err error) {
	changes, err := e.compare(ctx, base, work)
	if err != nil {
		return nil, err
	}
	before, after, end := git.Contents(ctx, e.job.Place.Project, e.Objects, base, work, maxTestFile)
	defer end()
	files := func() ([]string, error) { return git.Files(ctx, e.job.Place.Project, e.Objects, work) }
	s, err := suite.Of(suite.Base{
		Gates: e.job.Verify.Gates, Protect: e.job.Verify.Protect, Read: after, Files: files,
		Beside: func(dir string) ([]string, error) {
			list, err := files()
			return slices.DeleteFunc(list, func(file string) bool { return path.Dir(file) != dir }), err
		},
	})
	if err != nil {
		return nil, err
	}
	planned, err := s.Without(changes, before, of)
	if err != nil {
		return nil, err
	}
	for _, edit := range planned {
		if edit.From != "" {
			text, err := before(edit.From)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil: // too large to be looked at: it stays as the work has it
				continue
			default:
				edit.Content = append([]byte{}, text...)
			}
			edit.From = ""
		}
		edits = append(edits, git.Edit(edit))
	}
	slices.SortStableFunc(edits, func(x, y git.Edit) int { // removals first: a folder may become a file
		return cmp.Compare(min(len(x.Content), 1), min(len(y.Content), 1))
	})
	return edits, nil
}
