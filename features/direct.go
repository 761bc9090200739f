package features

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"ralph/dag"
	"ralph/internal/proof"
)

// DirectTask is a specification as one task.
type DirectTask struct {
	dag.NewTask
	Others string // success criteria that are no commands; the description has them
}

// ErrNoSpec is a feature without a specification.
var ErrNoSpec = fmt.Errorf("%w: it has no %s", dag.ErrRefused, Spec.File())

// Direct reads the specification as one task, with its success criteria as gates.
func (p *Planner) Direct() (t DirectTask, err error) {
	text, err := ReadDocument(p.Path(Spec.File()))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return t, fmt.Errorf("feature %s: %w", p.Name, ErrNoSpec)
	case err != nil:
		return t, fmt.Errorf("feature %s: %w", p.Name, err)
	}
	t.Gates, t.Others = proof.Commands(text)
	for _, c := range proof.Criteria(text) {
		if c.ID != "" && len(c.Commands) > 0 { // of the others, no gate says anything
			t.Proves = append(t.Proves, c.ID)
		}
	}
	t.Title, t.Feature = "Implement "+p.Name, p.Name
	t.Description = fmt.Sprintf("Do all that the specification of the feature asks for: .ralph/features/%s/%s.", p.Name, Spec.File())
	if t.Others != "" {
		t.Description += "\n\nAcceptance, besides the gates:\n\n" + t.Others
	}
	return t, nil
}

// Keep adds the task, unless the feature has it: then it returns that one, and added is false. It refuses a feature that has other
// tasks. The feature's file is written, too. With dry it changes nothing, and says what it would do.
func (p *Planner) Keep(ctx context.Context, t DirectTask, dry bool) (kept dag.Task, added bool, err error) {
	err = p.Store.Update(ctx, func(g *dag.Graph) error {
		tasks, err := g.Tasks.List(dag.Filter{Feature: p.Name})
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(tasks, func(task dag.Task) bool { return task.Title == t.Title }); i >= 0 {
			kept = tasks[i]
			return nil
		}
		if len(tasks) > 0 {
			return ErrBuilt
		}
		if added = true; dry {
			return nil
		}
		id, err := g.Plan.Add(t.NewTask)
		if err != nil {
			return err
		}
		kept, _ = g.Tasks.Get(id) // the first error of the database is that of what follows
		return g.History.Audit(id, "", t.Title)
	})
	if err == nil && added && !dry {
		_, err = p.Plans.Save(ctx, p.Name)
	}
	if err != nil {
		return kept, added, fmt.Errorf("feature %s: %w", p.Name, err)
	}
	return kept, added, nil
}
