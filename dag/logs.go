package dag

import (
	"strings"
	"time"

	"ralph/internal/db"
)

// LogKind is what an entry of a task's log is about.
type LogKind string

// The kinds of log entries.
const (
	LogFailure LogKind = "failure" // why it failed
	LogVerify  LogKind = "verify"  // why it was not accepted
	LogUser    LogKind = "user"    // what a person said to it
	LogSystem  LogKind = "system"  // what was done to it
)

// LogEntry is one line of a task's history.
type LogEntry struct {
	At   time.Time
	Kind LogKind
	Text string
}

const logSQL = `INSERT INTO task_logs (task, kind, at, text) VALUES (:task, :kind, :now, :text);`

func (g *transaction) log(n int64, kind LogKind, text string) {
	g.tx.Do(logSQL, ":task", n, ":kind", string(kind), ":now", g.millis(), ":text", g.said(text))
	g.auditTask(n, text)
}

// Log adds an entry to a task's history.
func (g Tasks) Log(id string, kind LogKind, text string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	g.log(t.n, kind, text)
	return g.tx.Err()
}

const logsSQL = `SELECT at, kind, text FROM task_logs WHERE task = +:task ORDER BY n;`

// Logs lists a task's history, oldest first.
func (g Tasks) Logs(t Task) ([]LogEntry, error) {
	return db.All(g.tx, logsSQL, func(r *db.Row) LogEntry { return LogEntry{At: r.Time(), Kind: LogKind(r.Text()), Text: r.Text()} }, ":task", t.N)
}

const lastFailureSQL = `
SELECT text FROM task_logs WHERE task = +:task AND kind IN ('failure', 'verify') ORDER BY n DESC LIMIT 1;`

// LastFailure is why the task last failed or was not accepted, or "".
func (g Tasks) LastFailure(t Task) (string, error) {
	return db.One(g.tx, lastFailureSQL, (*db.Row).Text, ":task", t.N)
}

const lastOfSQL = `
SELECT text FROM task_logs WHERE task = +:task AND kind = 'system' AND (text LIKE :how || '%' OR text LIKE 'reset by hand%') ORDER BY n DESC LIMIT 1;`

// Begin the entries in the log which the reason follows.
const (
	blockedByHand   = "blocked by hand"
	blockedInDoubt  = "blocked in doubt"
	cancelledByHand = "cancelled by hand"
	cancelledByWhen = "cancelled by when"
)

// WhyLeft says why a task is blocked or cancelled; "" of others, and where nobody said so.
func (g Tasks) WhyLeft(t Task) (string, error) {
	ways := map[Status][][2]string{
		Blocked:   {{blockedByHand, "a person blocked it"}, {blockedInDoubt, "nobody can say whether it is to run"}},
		Cancelled: {{cancelledByHand, "it is cancelled"}, {cancelledByWhen, "it was left out"}},
	}[t.Status]
	if ways == nil {
		return "", nil
	}
	how, _, _ := strings.Cut(ways[0][0], " ")
	text, err := db.One(g.tx, lastOfSQL, (*db.Row).Text, ":task", t.N, ":how", how)
	for _, way := range ways {
		if reason, found := strings.CutPrefix(text, way[0]); found {
			return way[1] + reason, err
		}
	}
	return "", err
}
