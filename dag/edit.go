package dag

import "fmt"

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

	AllowTampering *bool
}

const editSQL = `
UPDATE tasks SET title = :title, description = :description, priority = :priority, kind = :kind,
    agent = :agent, model = :model, gates = :gates, max_retries = :max_retries,
    allow_tampering = :tampering, updated_at = :now
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
	if e.MaxRetries != nil {
		t.MaxRetries = e.MaxRetries
		if *e.MaxRetries < 0 {
			t.MaxRetries = nil
		}
	}
	if err := checkText(t.Title, t.Description, t.Gates); err != nil {
		return err
	}
	if t.Kind != Work && t.Kind != Check {
		return fmt.Errorf("%w: a task's kind is work or check, not %q", ErrRefused, t.Kind)
	}
	return g.tx.Exec(editSQL, ":n", t.N, ":title", t.Title, ":description", t.Description, ":priority", t.Priority,
		":kind", string(t.Kind), ":agent", orNull(t.Agent), ":model", orNull(t.Model), ":gates", listJSON(t.Gates),
		":max_retries", t.MaxRetries, ":tampering", t.AllowTampering, ":now", g.millis())
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
