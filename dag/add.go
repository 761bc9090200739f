package dag

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/db"
)

// NewTask is what Add needs to know. References are full IDs; use Resolve for
// what people type.
type NewTask struct {
	Title       string
	Description string
	Priority    int64
	Parent      string
	Feature     string // a name; empty inherits the parent's
	After       []string
	Kind        Kind // empty means work
	Agent       string
	Model       string
	Gates       []string
	MaxRetries  *int
	Locks       []string // that a claim takes with it: a name, or path: and a path
	Paths       []string // globs: what it will touch

	AllowTampering bool
	ExpectRed      string // the gate that its work makes fail
}

const insertSQL = `
INSERT INTO tasks (id, title, description, status, priority, parent, feature, kind, agent, model, gates,
    max_retries, allow_tampering, expect_red, locks, paths, created_at, updated_at, held, doomed)
VALUES (:id, :title, :description, 'pending', :priority, :parent, :feature, :kind, :agent, :model, :gates,
    :max_retries, :tampering, :expect_red, :locks, :paths, :now, :now, :held, :doomed)
ON CONFLICT (id) DO NOTHING;`

// Add puts one task into the graph and returns its ID. A parent that had ended
// is open again; a parent in progress, an unknown reference, a feature that
// differs from the parent's and a cycle are refused.
func (g *Graph) Add(t NewTask) (string, error) {
	t.Kind = cmp.Or(t.Kind, Work)
	if err := checkTask(t.Title, t.Description, t.Gates, t.Kind); err != nil {
		return "", err
	}
	if t.MaxRetries != nil && *t.MaxRetries < 0 {
		return "", fmt.Errorf("%w: retries cannot be %d", ErrRefused, *t.MaxRetries)
	}
	if err := cleanClaims(&t.Locks, &t.Paths); err != nil {
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
	n, id, err := g.insert(t, parent, feature)
	if err != nil {
		return "", err
	}
	g.addChildren(parent.N, 1, Pending)
	for _, blocker := range t.After {
		b, err := g.Task(blocker)
		if err != nil {
			return "", err
		}
		if err := g.link(b.N, n); err != nil {
			return "", err
		}
	}
	return id, g.tx.Err()
}

func (g *Graph) insert(t NewTask, parent Task, feature int64) (n int64, id string, err error) {
	id, err = g.withFreeID("t-", "", func(id string) error {
		return g.tx.Exec(insertSQL, ":id", id, ":title", t.Title, ":description", t.Description,
			":priority", t.Priority, ":parent", db.OrNull(parent.N), ":feature", db.OrNull(feature), ":kind", string(t.Kind),
			":agent", db.OrNull(t.Agent), ":model", db.OrNull(t.Model), ":gates", db.JSON(t.Gates),
			":max_retries", t.MaxRetries, ":tampering", t.AllowTampering, ":expect_red", db.OrNull(t.ExpectRed), ":locks", db.JSON(t.Locks), ":paths", db.JSON(t.Paths), ":now", g.millis(),
			":held", parent.holds(), ":doomed", parent.Doomed || parent.Status == Failed)
	})
	return g.tx.LastInsert(), id, err
}

// withFreeID inserts a row, beginning with the ID that is wished for, if any. A random ID
// may be taken: at a million tasks some are.
func (g *Graph) withFreeID(prefix, wish string, insert func(id string) error) (string, error) {
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

func checkTask(title, description string, gates []string, kind Kind) error {
	if err := checkText(title, description, gates); err != nil {
		return err
	}
	if kind != Work && kind != Check {
		return fmt.Errorf("%w: a task's kind is work or check, not %q", ErrRefused, kind)
	}
	return nil
}

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
	if err := checkTask(t.Title, t.Description, t.Gates, t.Kind); err != nil {
		return err
	}
	if err := cleanClaims(&t.Locks, &t.Paths); err != nil {
		return err
	}
	return g.tx.Exec(editSQL, ":n", t.N, ":title", t.Title, ":description", t.Description, ":priority", t.Priority,
		":kind", string(t.Kind), ":agent", db.OrNull(t.Agent), ":model", db.OrNull(t.Model), ":gates", db.JSON(t.Gates),
		":max_retries", t.MaxRetries, ":tampering", t.AllowTampering, ":expect_red", db.OrNull(t.ExpectRed), ":locks", db.JSON(t.Locks), ":paths", db.JSON(t.Paths), ":now", g.millis())
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
