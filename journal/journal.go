// Package journal owns the memory of what each iteration did: one row for every
// way it can end. It never decides what is remembered; the loop does.
package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"ralph/internal/db"
)

// Entry is what one iteration did.
type Entry struct {
	At             time.Time
	Run            string
	Attempt        string
	Iteration      int
	Task           string
	Feature        string
	Title          string
	Outcome        string // done, failed, retried, released, interrupted, timeout, refused, error or limited
	Reason         string
	Notes          string // what the agent wanted remembered
	Agent          string
	Model          string // asked for
	ModelEffective string
	StopReason     string
	Duration       time.Duration
	TokensIn       *int64
	TokensCached   *int64
	TokensOut      *int64
	CostUSD        *float64 // nil when unknown
	Files          []string
}

const addSQL = `
INSERT INTO journal (at, run, attempt, iteration, task, feature, title, outcome, reason, notes, agent, model,
    model_effective, stop_reason, duration_ms, tokens_in, tokens_cached, tokens_out, cost_usd, files)
VALUES (:at, :run, :attempt, :iteration, :task, :feature, :title, :outcome, :reason, :notes, :agent, :model,
    :effective, :stop, :duration, :tokens_in, :tokens_cached, :tokens_out, :cost, :files);`

// Add remembers an entry, in the caller's transaction.
func Add(tx *db.Tx, e Entry) error {
	files := "[]"
	if len(e.Files) > 0 {
		b, err := json.Marshal(e.Files)
		if err != nil {
			return err
		}
		files = string(b)
	}
	return tx.Exec(addSQL, ":at", e.At.UnixMilli(), ":run", e.Run, ":attempt", orNull(e.Attempt), ":iteration", e.Iteration,
		":task", e.Task, ":feature", orNull(e.Feature), ":title", e.Title, ":outcome", e.Outcome, ":reason", e.Reason,
		":notes", e.Notes, ":agent", orNull(e.Agent), ":model", orNull(e.Model), ":effective", orNull(e.ModelEffective),
		":stop", orNull(e.StopReason), ":duration", e.Duration.Milliseconds(), ":tokens_in", e.TokensIn,
		":tokens_cached", e.TokensCached, ":tokens_out", e.TokensOut, ":cost", e.CostUSD, ":files", files)
}

const recentSQL = `
SELECT at, iteration, task, title, outcome, reason, notes, model, duration_ms, files
FROM journal WHERE run = :run ORDER BY n DESC LIMIT :limit;`

// Recent lists the last entries of a run, oldest first.
func Recent(tx *db.Tx, run string, limit int) ([]Entry, error) {
	var list []Entry
	err := tx.Each(recentSQL, func(stmt *sqlite.Stmt) error {
		e := Entry{
			Run: run, At: time.UnixMilli(stmt.ColumnInt64(0)).UTC(), Iteration: stmt.ColumnInt(1), Task: stmt.ColumnText(2),
			Title: stmt.ColumnText(3), Outcome: stmt.ColumnText(4), Reason: stmt.ColumnText(5), Notes: stmt.ColumnText(6),
			Model: stmt.ColumnText(7), Duration: time.Duration(stmt.ColumnInt64(8)) * time.Millisecond,
		}
		if err := json.Unmarshal([]byte(stmt.ColumnText(9)), &e.Files); err != nil {
			return fmt.Errorf("files of iteration %d: %w", e.Iteration, err)
		}
		list = append(list, e)
		return nil
	}, ":run", run, ":limit", limit)
	slices.Reverse(list)
	return list, err
}

// Render tells entries to an agent, a line each with their notes below.
func Render(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "Iteration %d: %s: %s", e.Iteration, e.Title, e.Outcome)
		if e.Reason != "" {
			fmt.Fprintf(&b, " (%s)", e.Reason)
		}
		b.WriteString("\n")
		if len(e.Files) > 0 {
			fmt.Fprintf(&b, "Files: %s\n", strings.Join(e.Files, ", "))
		}
		if e.Notes != "" {
			b.WriteString(strings.TrimSpace(e.Notes) + "\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
