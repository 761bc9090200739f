package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/plain"
	"ralph/internal/proof"
	"ralph/sigils"
	"ralph/verify"
)

// Proving is what a task says it proves.
type Proving struct {
	Tree     string            // what the feature began with; "" if unknown
	Criteria []proof.Criterion // of its specification
}

// prove finds out which criteria the accepted work proves: by name, a test has to fail without the work and pass with it. What it finds
// is recorded before the work lands, because afterwards it cannot be found out.
func (a *attempt) prove(ctx context.Context, taken string) error {
	p := a.job.Proof
	if len(p.Criteria) == 0 || a.job.Verify.Skip {
		return nil
	}
	prover := &prover{attempt: a, work: cmp.Or(a.evidence.candidate, taken), seen: map[string]found{}, bases: map[string]before{}}
	commands := func(command string) bool {
		return slices.ContainsFunc(p.Criteria, func(c proof.Criterion) bool { return names(c, command) })
	}
	var proofs []dag.Proof
	for _, c := range p.Criteria {
		one := dag.Proof{Criterion: c.ID, Text: c.Text, Kind: dag.ProofNone, Commit: a.evidence.landing.Commit}
		gates := provedBy(c, a.work.Gates)
		for i, gate := range gates {
			f, err := prover.look(ctx, gate, commands(gate.Command))
			if err != nil {
				return err
			}
			if better := f.kind == dag.ProofTest || f.kind == dag.ProofPartial && one.Kind == dag.ProofNone; better || i == 0 {
				one.Kind, one.Gate, one.Shown, one.Base = f.kind, gate.Command, f.shown, f.base
			}
			if f.kind == dag.ProofTest {
				break
			}
		}
		switch {
		case len(gates) > 0:
		case len(c.Commands) > 0:
			one.Shown = fmt.Sprintf("%q is no gate of the task; make it one: ralph task update %s --gate", c.Commands[0], a.job.Task.ID)
		default:
			one.Shown = "no gate of the task is about it"
		}
		if one.Kind != dag.ProofTest && a.work.Verdict.Passes() {
			one = byVerdict(one, a.work.Verdict.Proven, cmp.Or(a.job.Agent.Verifier, a.use.Name))
		}
		if !one.Kind.Proves() {
			a.warn(a.job.Task.ID, fmt.Sprintf("%s is not proven: %s", c.ID, one.Shown))
		}
		proofs = append(proofs, one)
	}
	return a.keepProofs(ctx, proofs)
}

// keepProofs records proofs. Of an attempt that has lost its task, nothing counts; the caller reports that.
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
		why = " (its test does not: " + p.Shown + ")"
	}
	p.Kind, p.Author, p.Shown = dag.ProofVerdict, author, plain.Excerpt(said[i].Text)+why
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

// provedBy are the gates that can prove a criterion: where it is commands, these; otherwise the task's own, or, if it has none, all. Of
// several, those count that run tests, if some do.
func provedBy(c proof.Criterion, checks []verify.Check) []verify.Check {
	that := func(list []verify.Check, wanted func(verify.Check) bool) []verify.Check {
		return slices.DeleteFunc(slices.Clone(list), func(c verify.Check) bool { return !wanted(c) })
	}
	list := that(checks, func(check verify.Check) bool { return check.Passed && !check.ExpectRed })
	if len(c.Commands) > 0 {
		return that(list, func(check verify.Check) bool { return names(c, check.Command) })
	}
	if own := that(list, func(check verify.Check) bool { return check.Own }); len(own) > 0 {
		list = own
	}
	if tests := that(list, func(check verify.Check) bool { return check.Reported != nil && check.Reported.Any }); len(tests) > 0 {
		return tests
	}
	return list
}

// names reports whether a criterion is that command.
func names(c proof.Criterion, command string) bool {
	words := func(command string) string { return strings.Join(strings.Fields(command), " ") }
	return slices.ContainsFunc(c.Commands, func(one string) bool { return words(one) == words(command) })
}
