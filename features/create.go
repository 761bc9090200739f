package features

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/internal/human"
)

// What a step did.
const (
	DidWrite   = "written"
	DidKeep    = "kept" // there was nothing left to do
	DidPropose = "proposed"
	DidApprove = "approved"
)

// BuildStep is the step that makes tasks; the others are kinds of documents.
const BuildStep = "build"

// Step is what one step of planning did, in the shape of docs/json.md.
type Step struct {
	Step     string    `json:"step"`
	Did      string    `json:"did"`
	Path     string    `json:"path"`
	Passes   int       `json:"passes"` // of the review
	Settled  bool      `json:"settled"`
	Findings []string  `json:"findings"` // of the review
	Warnings []Finding `json:"warnings"` // about tasks
	Tasks    []string  `json:"tasks"`
}

func newStep(step, did, path string) Step {
	return Step{Step: step, Did: did, Path: path, Findings: []string{}, Warnings: []Finding{}, Tasks: []string{}}
}

// Next is the command to type after the step.
func (s Step) Next(feature string) string {
	switch {
	case s.Step == string(Spec):
		return "ralph feature plan " + feature
	case s.Step == string(Plan):
		return "ralph feature build " + feature
	case s.Did == DidPropose:
		return "ralph feature approve " + feature
	default:
		return "ralph run --feature " + feature
	}
}

// StepError is why a step did not succeed.
type StepError struct {
	Step    string
	Feature string // empty for tasks of none
	Err     error
}

func (e *StepError) Error() string {
	if e.Feature == "" {
		return fmt.Sprintf("create tasks: %v", e.Err)
	}
	return fmt.Sprintf("feature %s: %v", e.Feature, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// failed says which step an error is about.
func (p *Planner) failed(step string, err error) error {
	if err == nil {
		return nil
	}
	return &StepError{step, p.Name, err}
}

// Create takes a feature from an idea to tasks: it does the steps that are left. It returns
// all of them, and the command to type next.
func (p *Planner) Create(ctx context.Context, r Request) (steps []Step, next string, err error) {
	tasks := 0
	err = p.Store.View(ctx, func(g *dag.Graph) error {
		f, err := g.Plan.Feature(p.Name)
		tasks = f.Total()
		return err
	})
	if err != nil {
		return nil, "", err
	}
	for _, kind := range []Kind{Spec, Plan} {
		path := p.Path(kind.File())
		switch {
		case Exists(path) && !p.begun(string(kind)):
			p.Note("%s exists and is kept", path)
			steps = append(steps, newStep(string(kind), DidKeep, path))
			if r.Idea != "" {
				p.Note("--from %s is not used for it", r.From)
			}
		case tasks > 0:
		case kind == Spec && r.Idea == "" && p.Ask == nil && !p.begun(string(kind)):
			return steps, fmt.Sprintf("ralph feature spec %s --from FILE", p.Name), nil
		default:
			step, err := p.Write(ctx, Request{Kind: kind, Idea: r.Idea, From: r.From})
			if errors.Is(err, ErrNothing) {
				return steps, "ralph feature spec " + p.Name, nil
			}
			if err != nil {
				return steps, "", err
			}
			steps = append(steps, step)
		}
		r.Idea, r.From = "", "" // the specification has it now
	}
	step := newStep(BuildStep, DidKeep, p.Path(TasksFile))
	switch {
	case tasks > 0:
		p.Note("feature %s has %s, which are kept", p.Name, human.Count(tasks, "task"))
		return steps, step.Next(p.Name), nil
	case p.Saved():
		if _, err = p.Plans.Load(ctx, p.Name); err == nil {
			p.Note("%s exists and is kept", step.Path)
		}
	default:
		step, err = p.Build(ctx, Wish{})
	}
	return append(steps, step), step.Next(p.Name), err
}
