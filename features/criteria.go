package features

import (
	"context"
	"errors"
	"os"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/proof"
)

// Criteria are the success criteria of the feature's specification; there are none without one.
func (p *Planner) Criteria() ([]proof.Criterion, error) {
	text, err := ReadDocument(p.Path(Spec.File()))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return proof.Criteria(text), err
}

// number gives IDs to the criteria of a specification that have none. No ID is used again that a task, a proof or
// the specification before it has used.
func (p *Planner) number(ctx context.Context, text string) (string, error) {
	was, err := p.Criteria()
	if err != nil && !errors.Is(err, ErrNoText) {
		return text, err
	}
	var taken []string
	err = p.Store.View(ctx, func(g *dag.Graph) error {
		tasks, err := g.Tasks.List(dag.Filter{Feature: p.Name})
		if errors.Is(err, dag.ErrNotFound) {
			return nil
		}
		for _, t := range tasks {
			taken = append(taken, t.Proves...)
		}
		proofs, _ := g.Plan.Proofs(p.Name) // the first error of the database is that of the transaction
		for _, seen := range proofs {
			taken = append(taken, seen.Criterion)
		}
		return err
	})
	if err != nil {
		return text, err
	}
	numbered, added := proof.Number(text, was, taken...)
	if len(added) > 0 {
		p.Note("%s: %s got an ID: %s", Spec.File(), human.Count(len(added), "criterion"), strings.Join(added, ", "))
	}
	return numbered, nil
}

// numberSpec does so with the file: somebody may have written it, or added to it, by hand.
func (p *Planner) numberSpec(ctx context.Context) error {
	text, err := ReadDocument(p.Path(Spec.File()))
	if err != nil {
		return err
	}
	numbered, err := p.number(ctx, text)
	if err != nil || numbered == text {
		return err
	}
	return atomicfile.Write(p.Path(Spec.File()), []byte(numbered))
}

// proven finds criteria that no task proves, and tasks that prove none.
func (l *linter) proven(specs []dag.Spec) {
	proves := map[string]bool{}
	for _, id := range l.ground.Proven {
		proves[id] = true
	}
	for i := range specs {
		s := &specs[i]
		if len(s.Proves) > 0 && l.isGroup(s) {
			l.add(Fault, "proves", "%s is a group, which nobody works on: let one of its subtasks prove %s", name(s), strings.Join(s.Proves, ", "))
		}
		if unknown := proof.Unknown(s.Proves, l.ground.Criteria); len(unknown) > 0 && l.ground.Criteria != nil {
			l.add(Fault, "proves", "%s proves %s, which is no criterion of the specification", name(s), strings.Join(unknown, ", "))
		}
		for _, id := range s.Proves {
			proves[id] = true
		}
	}
	for _, c := range l.ground.Criteria {
		if c.ID != "" && !proves[c.ID] {
			l.add(Warning, unproven, "no task proves %s: %s", c.ID, plain.Cut(c.Text, 80))
		}
	}
}

// unproven is the rule that the agent is told once: it may be that no command can tell.
const unproven = "unproven"
