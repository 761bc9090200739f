package dag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode"
)

// NewTask is a task that is added by itself: without a line or a status.
type NewTask = Spec

// Add puts one task into the graph and returns its ID. A parent that had ended
// is open again; a parent in progress, an unknown reference, a feature that
// differs from the parent's and a cycle are refused.
func (g Plan) Add(t NewTask) (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	if _, err := g.featureNumber(t.Feature); err != nil {
		return "", err
	}
	t.Status, t.Satisfied = "", false
	ids, err := g.Import([]Spec{t})
	if err != nil {
		return "", g.worded(err)
	}
	for _, other := range t.Related {
		_ = g.history().Audit(ids[0], "", "related to "+other) // the transaction keeps its first error
	}
	return ids[0], g.tx.Err()
}

// worded says what is wrong with a task that has no line.
func (g Plan) worded(err error) error {
	var fault *PlaceError
	if !errors.As(err, &fault) {
		var faults PlanError
		if errors.As(err, &faults) {
			return faults[0].Err
		}
		return err
	}
	switch fault.Kind {
	case UnknownRef:
		return fmt.Errorf("task %s: %w", fault.Name, ErrNotFound)
	case OtherFeature:
		return fmt.Errorf("%w: a subtask has its parent's feature, and %s has %s", ErrRefused, fault.Parent, nameOrNone(fault.Feature))
	default:
		return fmt.Errorf("%w: %s is in progress and cannot take subtasks now", ErrRefused, fault.Name)
	}
}

// WithFreeID inserts a row, beginning with the ID that is wished for, if any. A random ID
// may be taken: at a million tasks some are.
func (g Plan) WithFreeID(prefix, wish string, insert func(id string) error) (string, error) {
	for range 100 {
		id := cmp.Or(wish, g.newID(prefix))
		if err := insert(id); err != nil || g.tx.Changes() == 1 {
			return id, err
		}
		wish = ""
	}
	return "", fmt.Errorf("no free ID %s* after 100 tries", prefix)
}

const addChildrenSQL = `
UPDATE tasks SET children = children + :count, emptied = 0, not_before = 0, wait_reason = NULL, updated_at = :now WHERE n = :n;`

// addChildren counts children of a parent, if there is one, that are already stored, one of
// them with that status.
func (g Plan) addChildren(parent int64, count int, status Status) {
	if parent != 0 {
		g.tx.Do(addChildrenSQL, ":n", parent, ":count", count, ":now", g.millis())
		g.rollUp(parent, "", status)
	}
}

// The longest texts that are kept. They are generous for people and small enough
// that no single task can fill a prompt or the disk.
const (
	maxTitle       = 16 << 10
	maxDescription = 1 << 20
)

// visible reports whether a terminal shows something for it.
func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

func nameOrNone(feature string) string { return cmp.Or(feature, "none") }

const editSQL = `UPDATE tasks SET ({details}) = ({values}), updated_at = :now WHERE n = :n;`

// Edit changes what a task says: the fields that are named become what they are in to. Its status and its place have verbs of their own.
func (g Plan) Edit(id string, to Detail, fields ...string) error {
	t, err := g.tasks().Get(id)
	if err != nil {
		return err
	}
	s := t.Spec()
	for _, name := range fields {
		f, known := FieldNamed(name)
		if !known {
			return fmt.Errorf("%w: %q is not a field of a task", ErrRefused, name)
		}
		f.Copy(&s.Detail, &to)
	}
	s.Group = s.Group && !slices.Contains(fields, "kind") // saying what a task is for makes it one
	if err := s.check(); err != nil {
		return err
	}
	g.auditTask(t.N, "edited")
	g.tx.Do(statement(editSQL), s.detailArgs(":n", t.N, ":now", g.millis())...)
	g.recount(t.N, t.Satisfies)
	if parent := g.node(t.N).parent; t.Status == Failed && parent != 0 {
		g.catchUp(parent, Failed) // what a failure means may have changed
	}
	return g.tx.Err()
}
