package features

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/plansync"
	"ralph/internal/proof"
	"ralph/internal/redact"
	"ralph/internal/taskfile"
	"ralph/prompt"
)

// Mode says what happens to tasks that a feature has already.
type Mode string

// The modes. Without one, a feature that has tasks is not built again.
const (
	Fresh   Mode = ""
	Replace Mode = "replace"
	Append  Mode = "append"
)

// Refusals of building.
var (
	ErrBuilt  = fmt.Errorf("%w: it has tasks already", dag.ErrRefused)
	ErrNoPlan = fmt.Errorf("%w: the agent's tasks are not usable", dag.ErrRefused)
)

// maxCorrections is how often faults go back to the agent.
const maxCorrections = 3

// Wish says what a graph is built from.
type Wish struct {
	Mode Mode
	Idea string // instead of documents, for tasks of no feature

	Template Template // that makes the tasks; none lets the plan say, or else the agent
}

// builder builds one graph.
type builder struct {
	*Planner
	at    *staging
	wish  Wish
	given map[string]string
	stay  []taskfile.Item // tasks that exist and stay
}

// Build has the agent turn the plan into tasks, or finds those that it proposed before, and
// keeps them if Confirm says so.
func (p *Planner) Build(ctx context.Context, wish Wish) (step Step, err error) {
	proposal, err := p.waiting(ctx, wish)
	if err == nil && proposal == nil {
		proposal, err = p.propose(ctx, wish)
	}
	if err != nil {
		return step, p.failed(BuildStep, err)
	}
	step = newStep(BuildStep, DidPropose, proposal.Path)
	step.Warnings = append(step.Warnings, proposal.Findings...)
	for _, t := range proposal.Tasks {
		step.Tasks = append(step.Tasks, t.ID)
	}
	keep, err := p.Confirm(ctx, proposal)
	if err != nil || !keep {
		return step, err
	}
	approved, err := p.Approve(ctx)
	approved.Warnings = step.Warnings
	return approved, err
}

// propose has the agent turn the plan into a graph and keeps it as a proposal. Faults in its
// answer go back to it. The graph shows nothing of a proposal until it is approved.
func (p *Planner) propose(ctx context.Context, wish Wish) (_ *Proposal, err error) {
	at, err := stage(p.step(BuildStep))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	b := &builder{Planner: p, at: at, wish: wish, given: map[string]string{}}
	if p.Name != "" {
		if err := errors.Join(p.read(Spec.File(), b.given), p.read(Plan.File(), b.given)); err != nil {
			return nil, err
		}
		if b.wish.Template.Name == "" {
			b.wish.Template = chosenTemplate(b.given[Plan.File()])
		}
		if _, planned := b.given[Plan.File()]; !planned && b.wish.Template.Name == "" {
			return nil, fmt.Errorf("%s: %w", Plan.File(), ErrMissing)
		}
		if err := p.planned(ctx); err != nil { // also if somebody wrote the plan by hand
			return nil, err
		}
	}
	if wish.Idea != "" {
		b.given["idea.md"] = wish.Idea
	}
	existing, err := b.existing(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(at.clear(), at.fill(b.given)); err != nil {
		return nil, err
	}
	if b.wish.Template.Name != "" {
		return b.fromTemplate(ctx)
	}
	if err := p.makeScratch(ctx, at.work(), existing); err != nil {
		return nil, fmt.Errorf("make the scratch project: %w", err)
	}
	defer p.guard(ctx)()
	specs, findings, err := b.converse(ctx, existing)
	if err != nil {
		return nil, err
	}
	return b.save(ctx, specs, findings)
}

// existing are the tasks that stay.
func (b *builder) existing(ctx context.Context) (items []taskfile.Item, err error) {
	if b.Name == "" {
		return nil, nil
	}
	err = b.Store.View(ctx, func(g *dag.Graph) error {
		items, _, err = plansync.Items(g, dag.Filter{Feature: b.Name})
		return err
	})
	switch {
	case err != nil || len(items) == 0:
		return nil, err
	case b.wish.Mode == Fresh:
		return nil, ErrBuilt
	case b.wish.Mode == Replace:
		return nil, nil
	}
	return items, nil
}

// converse ends when the agent's tasks are usable.
func (b *builder) converse(ctx context.Context, existing []taskfile.Item) (specs []dag.Spec, findings []Finding, err error) {
	b.Note("tasks: the agent is working")
	session, err := b.open(ctx, b.at)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, b.close(session, b.at, b.given, taskFiles...)) }()
	var stay strings.Builder
	for _, t := range existing {
		fmt.Fprintf(&stay, "%s %s %s\n", t.ID, t.Status, t.Title)
	}
	b.stay = existing
	text := prompt.Tasks(prompt.TasksInput{
		Criteria: len(b.ground().Criteria) > 0,
		Name:     b.Name, Project: b.Project.Root, Program: b.Program, Gates: b.Gates, Sections: b.Sections,
		Idea:     prompt.Document{Text: b.wish.Idea, From: "`idea.md` in your working folder"},
		Existing: prompt.Document{Text: stay.String(), From: "`ralph task list --all` in your working folder"},
	})
	answer := &answers{builder: b, seen: map[string]string{}}
	for round := 0; ; round++ {
		turn, err := b.prompt(ctx, session, text)
		if err != nil {
			return nil, nil, err
		}
		said, err := turn.Text()
		if err != nil {
			return nil, nil, err
		}
		specs, findings, err = b.check(ctx, answer, said)
		remind := round == 0 && slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule == unproven })
		if err != nil || !Faulty(findings) && !remind {
			return specs, findings, err
		}
		var faults []string
		for _, f := range findings {
			if f.Level == Fault || f.Rule == unproven {
				faults = append(faults, f.String())
			}
		}
		if round == maxCorrections {
			return nil, nil, fmt.Errorf("%w, after %d corrections: %s", ErrNoPlan, maxCorrections, strings.Join(faults, "; "))
		}
		first := faults[0]
		if len(faults) > 1 {
			first = fmt.Sprintf("%s (and %d more)", first, len(faults)-1)
		}
		b.Note("tasks: %s; asking the agent to correct that (%d of %d)", first, round+1, maxCorrections)
		text = prompt.Mend(strings.Join(faults, "\n"))
	}
}

// check takes an answer apart. The error is ours, not the agent's.
func (b *builder) check(ctx context.Context, answer *answers, said string) ([]dag.Spec, []Finding, error) {
	specs, where, err := answer.find(ctx, said)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, faultsOf(where, err), nil
	}
	specs = redact.Deep(b.Redact, specs)
	findings := append(b.adopt(specs, where), Lint(specs, b.ground())...)
	if _, err := b.dryRun(ctx, b.wish.Mode, specs, nil); errors.Is(err, dag.ErrRefused) {
		findings = append(faultsOf(where, err), findings...)
	} else if err != nil {
		return nil, nil, err
	}
	return specs, findings, nil
}

// ground is what the plan is held against.
func (b *builder) ground() Ground {
	g := Ground{Gates: b.Gates, Exists: b.exists, Protect: b.Protect, Criteria: proof.Criteria(b.given[Spec.File()])}
	for _, t := range b.stay {
		g.Proven = append(g.Proven, t.Proves...)
	}
	return g
}

// adopt makes the tasks those of the feature; another feature's name is a fault.
func (b *builder) adopt(specs []dag.Spec, where string) []Finding {
	var faults []Finding
	for i := range specs {
		s := &specs[i]
		if s.Feature != "" && !strings.EqualFold(s.Feature, b.Name) {
			faults = append(faults, Finding{Fault, "feature", fmt.Sprintf("%s, line %d: feature is %q; leave it out", where, s.Line, s.Feature)})
		}
		s.Feature = b.Name
		if s.Parent != "" {
			s.Feature = "" // it has its parent's
		}
	}
	return faults
}

// exists looks for a file among those that the agent was given and in the project.
func (b *builder) exists(path string) bool {
	if _, copied := b.given[path]; copied {
		return true
	}
	_, err := os.Stat(filepath.Join(b.Project.Root, filepath.FromSlash(path)))
	return err == nil
}
