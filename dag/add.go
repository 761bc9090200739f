package dag

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// NewTask is a task that is added by itself: without a line or a status.
type NewTask = Spec

// Add puts one task into the graph and returns its ID. A parent that had ended
// is open again; a parent in progress, an unknown reference, a feature that
// differs from the parent's and a cycle are refused.
func (g *Graph) Add(t NewTask) (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	feature, err := g.featureNumber(t.Feature)
	if err != nil {
		return "", err
	}
	var parent Task
	if t.Parent != "" {
		if parent, err = g.adopt(t.Parent, t.Feature); err != nil {
			return "", err
		}
		feature = g.number(featureNumberSQL, ":name", parent.Feature)
	}
	added := planned{spec: &t, status: Pending, held: parent.holds(), doomed: parent.Doomed || parent.Status == Failed}
	if err := g.insert(&added, parent.N, feature); err != nil {
		return "", err
	}
	g.addChildren(parent.N, 1, Pending)
	for _, blocker := range t.After {
		b, err := g.Task(blocker)
		if err != nil {
			return "", err
		}
		if err := g.link(b.N, added.n); err != nil {
			return "", err
		}
	}
	for _, other := range t.Related {
		if err := g.Relate(added.id, other); err != nil {
			return "", err
		}
	}
	return added.id, g.tx.Err()
}

// WithFreeID inserts a row, beginning with the ID that is wished for, if any. A random ID
// may be taken: at a million tasks some are.
func (g *Graph) WithFreeID(prefix, wish string, insert func(id string) error) (string, error) {
	for range 100 {
		id := cmp.Or(wish, g.newID(prefix))
		if err := insert(id); err != nil || g.tx.Changes() == 1 {
			return id, err
		}
		wish = ""
	}
	return "", fmt.Errorf("no free ID %s* after 100 tries", prefix)
}

// adopt finds the parent of a new task, which has its parent's feature.
func (g *Graph) adopt(parentID, feature string) (Task, error) {
	parent, err := g.Task(parentID)
	switch {
	case err != nil:
		return Task{}, err
	case parent.Status == InProgress:
		return Task{}, fmt.Errorf("%w: %s is in progress and cannot take subtasks now", ErrRefused, parent.ID)
	case feature != "" && !strings.EqualFold(parent.Feature, feature):
		return Task{}, fmt.Errorf("%w: a subtask has its parent's feature, and %s has %s", ErrRefused, parent.ID, nameOrNone(parent.Feature))
	}
	return parent, nil
}

const addChildrenSQL = `
UPDATE tasks SET children = children + :count, emptied = 0, not_before = 0, wait_reason = NULL, updated_at = :now WHERE n = :n;`

// addChildren counts children of a parent, if there is one, that are already stored, one of
// them with that status.
func (g *Graph) addChildren(parent int64, count int, status Status) {
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

func checkText(title, description string, gates []string) error {
	switch {
	case strings.TrimSpace(title) == "":
		return fmt.Errorf("%w: a title must not be empty", ErrRefused)
	case utf8.ValidString(title) && !strings.ContainsFunc(title, visible):
		return fmt.Errorf("%w: a title must have something in it that can be seen", ErrRefused)
	case len(title) > maxTitle:
		return fmt.Errorf("%w: the title has %d bytes; at most %d are kept", ErrRefused, len(title), maxTitle)
	case len(description) > maxDescription:
		return fmt.Errorf("%w: the description has %d bytes; at most %d are kept", ErrRefused, len(description), maxDescription)
	case !utf8.ValidString(title) || !utf8.ValidString(description):
		return fmt.Errorf("%w: title and description must be UTF-8 text", ErrRefused)
	case strings.ContainsRune(title, 0) || strings.ContainsRune(description, 0):
		return fmt.Errorf("%w: title and description must not contain NUL", ErrRefused)
	}
	return checkCommands("gate", gates)
}

func checkCommands(what string, commands []string) error {
	for _, command := range commands {
		if strings.TrimSpace(command) == "" {
			return fmt.Errorf("%w: a %s must not be empty", ErrRefused, what)
		}
		if !utf8.ValidString(command) || strings.ContainsRune(command, 0) {
			return fmt.Errorf("%w: a %s must be UTF-8 text without NUL", ErrRefused, what)
		}
	}
	return nil
}

func nameOrNone(feature string) string { return cmp.Or(feature, "none") }

// Edit says what to change about a task: its fields are called like those of a Spec, and what is nil stays as it is. An
// empty agent, model or effort means the configured one again.
type Edit struct {
	Title       *string
	Description *string
	Priority    *int64
	Kind        *Kind
	Agent       *string
	Model       *string
	Effort      *Effort
	Gates       *[]string
	MaxRetries  *int // below 0 means the configured number again
	Locks       *[]string
	Paths       *[]string
	Tags        *[]string
	Proves      *[]string
	Context     *[]string
	Output      *string // empty means none
	OnFail      *OnFail
	Timeout     *time.Duration // 0 means the configured one again

	MayChange *[]string
	ExpectRed *string // empty means none
}

const editSQL = `UPDATE tasks SET ` + setDetails + `, updated_at = :now WHERE n = :n;`

// Edit changes what a task says. Its status and its place have verbs of their own.
func (g *Graph) Edit(id string, e Edit) error {
	t, err := g.Task(id)
	if err != nil {
		return err
	}
	s := t.Spec()
	edits, to := reflect.ValueOf(e), reflect.ValueOf(&s).Elem()
	for i := range edits.NumField() {
		value, field := edits.Field(i), to.FieldByName(edits.Type().Field(i).Name)
		switch {
		case value.IsNil():
		case field.Kind() == reflect.Pointer:
			field.Set(value)
		default:
			field.Set(value.Elem())
		}
	}
	if s.MaxRetries != nil && *s.MaxRetries < 0 {
		s.MaxRetries = nil
	}
	s.Group = s.Group && e.Kind == nil // saying what a task is for makes it one
	if err := s.check(); err != nil {
		return err
	}
	g.auditTask(t.N, "edited")
	g.tx.Do(editSQL, s.detailArgs(":n", t.N, ":now", g.millis())...)
	g.recount(t.N, t.Satisfies)
	if parent := g.node(t.N).parent; t.Status == Failed && parent != 0 {
		g.catchUp(parent, Failed) // what a failure means may have changed
	}
	return g.tx.Err()
}
