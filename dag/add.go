package dag

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/db"
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
UPDATE tasks SET children = children + :count, not_before = 0, wait_reason = NULL, updated_at = :now WHERE n = :n;`

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
	for _, gate := range gates {
		if strings.TrimSpace(gate) == "" {
			return fmt.Errorf("%w: a gate must not be empty", ErrRefused)
		}
		if !utf8.ValidString(gate) || strings.ContainsRune(gate, 0) {
			return fmt.Errorf("%w: a gate must be UTF-8 text without NUL", ErrRefused)
		}
	}
	return nil
}

func nameOrNone(feature string) string { return cmp.Or(feature, "none") }

// Edit says what to change about a task; what is nil stays as it is. An empty
// agent or model means the configured one again.
type Edit struct {
	Title       *string
	Description *string
	Priority    *int64
	Kind        *Kind
	Agent       *string
	Model       *string
	Gates       *[]string
	MaxRetries  *int // below 0 means the configured number again
	Locks       *[]string
	Paths       *[]string

	AllowTampering *bool
	ExpectRed      *string // empty means none
}

const editSQL = `
UPDATE tasks SET title = :title, description = :description, priority = :priority, kind = :kind,
    agent = :agent, model = :model, gates = :gates, max_retries = :max_retries,
    allow_tampering = :tampering, expect_red = :expect_red, locks = :locks, paths = :paths, updated_at = :now
WHERE n = :n;`

// Edit changes what a task says. Its status and its place have verbs of their own.
func (g *Graph) Edit(id string, e Edit) error {
	t, err := g.Task(id)
	if err != nil {
		return err
	}
	set(&t.Title, e.Title)
	set(&t.Description, e.Description)
	set(&t.Priority, e.Priority)
	set(&t.Kind, e.Kind)
	set(&t.Agent, e.Agent)
	set(&t.Model, e.Model)
	set(&t.Gates, e.Gates)
	set(&t.AllowTampering, e.AllowTampering)
	set(&t.ExpectRed, e.ExpectRed)
	set(&t.Locks, e.Locks)
	set(&t.Paths, e.Paths)
	if e.MaxRetries != nil {
		t.MaxRetries = e.MaxRetries
		if *e.MaxRetries < 0 {
			t.MaxRetries = nil
		}
	}
	s := Spec{Title: t.Title, Description: t.Description, Gates: t.Gates, Kind: t.Kind, Locks: t.Locks, Paths: t.Paths}
	if err := s.check(); err != nil {
		return err
	}
	g.auditTask(t.N, "edited")
	return g.tx.Exec(editSQL, ":n", t.N, ":title", t.Title, ":description", t.Description, ":priority", t.Priority,
		":kind", string(t.Kind), ":agent", db.OrNull(t.Agent), ":model", db.OrNull(t.Model), ":gates", db.JSON(t.Gates),
		":max_retries", t.MaxRetries, ":tampering", t.AllowTampering, ":expect_red", db.OrNull(t.ExpectRed), ":locks", db.JSON(s.Locks), ":paths", db.JSON(s.Paths), ":now", g.millis())
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
