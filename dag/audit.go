package dag

import (
	"cmp"
	"slices"
	"time"

	"ralph/internal/db"
)

// Actor is a person who changes something, and from where.
type Actor struct {
	Who    string // an operating system's user, a name in a chat, a token's name; "" for a run
	Via    string // "command line", or the command through which it was done: "mcp", "watch"
	Action string // the command, as it is typed
}

// AuditEntry is one change that a person made.
type AuditEntry struct {
	At      time.Time
	Actor   Actor
	Task    string // "" if it concerns none
	Request string // that was answered; "" for none
	Text    string
}

const (
	auditSQL = `
INSERT INTO audit (at, who, via, action, task_id, request, text) VALUES (:now, :who, :via, :action, :task, :request, :text);`
	auditsSQL     = `SELECT at, who, via, action, task_id, request, text FROM audit ORDER BY n DESC LIMIT +:limit;`
	pruneAuditSQL = `DELETE FROM audit WHERE at < :others AND ` + EndedSQL + ` RETURNING n;`
	taskIDSQL     = `SELECT id FROM tasks WHERE n = :n;`
)

// Actor is who changes the graph; without a name it is a run.
func (g *Graph) Actor() Actor { return g.actor }

// Audit puts on record what the actor did. Runs are on record elsewhere.
func (g History) Audit(task, request, text string) error {
	if g.actor.Who == "" {
		return g.tx.Err()
	}
	g.audited = true
	return g.tx.Exec(auditSQL, ":now", g.millis(), ":who", g.actor.Who, ":via", g.actor.Via, ":action", g.actor.Action,
		":task", db.OrNull(task), ":request", db.OrNull(request), ":text", g.said(text))
}

// Audited says that something was recorded in the transaction.
func (g *Graph) Audited() bool { return g.audited }

func (g *transaction) auditTask(n int64, text string) {
	if g.actor.Who == "" {
		return
	}
	id, _ := db.One(g.tx, taskIDSQL, (*db.Row).Text, ":n", n)
	_ = g.history().Audit(id, "", text) // the transaction keeps its first error
}

// Audits lists the last changes that people made, oldest first; a limit of 0 is none.
func (g History) Audits(limit int) ([]AuditEntry, error) {
	list, err := db.All(g.tx, auditsSQL, func(r *db.Row) AuditEntry {
		return AuditEntry{At: r.Time(), Actor: Actor{Who: r.Text(), Via: r.Text(), Action: r.Text()}, Task: r.Text(), Request: r.Text(), Text: r.Text()}
	}, ":limit", cmp.Or(limit, -1))
	slices.Reverse(list)
	return list, err
}

// PruneAudit removes what people changed long ago, in tasks that ended long ago or in none, and says how much that was.
func (g History) PruneAudit(c Cutoffs) (int, error) {
	gone, err := db.All(g.tx, pruneAuditSQL, (*db.Row).Int64, c.Args()...)
	return len(gone), err
}
