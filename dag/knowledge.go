package dag

import (
	"time"

	"ralph/internal/db"
)

// KnowledgeUse is how often an entry of knowledge was part of a prompt, and what came of that.
type KnowledgeUse struct {
	Used, Done int       // attempts whose prompt had it; of these, those that were done
	Idle       int       // tasks in a row, up to now, that were not done with it
	At         time.Time // the last time
}

const (
	useKnowledgeSQL = `
INSERT INTO knowledge_uses (entry, used, done, idle, task, used_at) VALUES (:entry, 1, :done, 1 - :done, :task, :now)
ON CONFLICT (entry) DO UPDATE SET used = used + 1, done = done + :done, task = :task, used_at = :now,
    idle = iif(:done, 0, idle + (idle = 0 OR task <> :task));`
	knowledgeUsesSQL = `SELECT entry, used, done, idle, used_at FROM knowledge_uses;`
)

// UseKnowledge counts that an attempt at a task had those entries in its prompt, and whether it was done.
func (g History) UseKnowledge(entries []string, task string, done bool) error {
	for _, e := range entries {
		if err := g.tx.Exec(useKnowledgeSQL, ":entry", e, ":task", task, ":done", done, ":now", g.millis()); err != nil {
			return err
		}
	}
	return nil
}

// KnowledgeUses are the uses of all entries that were ever used.
func (g History) KnowledgeUses() (map[string]KnowledgeUse, error) {
	uses := map[string]KnowledgeUse{}
	_, err := db.All(g.tx, knowledgeUsesSQL, func(r *db.Row) (none struct{}) {
		uses[r.Text()] = KnowledgeUse{Used: r.Int(), Done: r.Int(), Idle: r.Int(), At: r.Time()}
		return none
	})
	return uses, err
}
