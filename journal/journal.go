// Package journal owns the memory of what each iteration did: one row for every
// way it can end. It never decides what is remembered; the loop does.
package journal

import (
	"errors"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/words"
)

// ErrNotFound says that no entry has the number asked for.
var ErrNotFound = errors.New("no such journal entry")

// Entry is what one iteration did.
type Entry struct {
	N              int64 // its number, given by Add
	At             time.Time
	Run            string
	Attempt        string
	Iteration      int
	Task           string
	Feature        string
	Title          string
	Outcome        event.AttemptOutcome
	Reason         string
	Notes          string // what the agent wanted remembered
	Agent          string
	Model          string // asked for
	ModelEffective string
	StopReason     string
	Duration       time.Duration
	event.Usage
	Files []string
}

const addSQL = `
INSERT INTO journal (at, run, attempt, iteration, task, feature, title, outcome, reason, notes, agent, model,
    model_effective, stop_reason, duration_ms, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown, files)
VALUES (:at, :run, :attempt, :iteration, :task, :feature, :title, :outcome, :reason, :notes, :agent, :model,
    :effective, :stop, :duration, :tokens_in, :tokens_cached, :tokens_out, :cost, :estimated, :unknown, :files);`

const countSQL = `
INSERT INTO journal_words (word, docs) VALUES (:word, 1)
ON CONFLICT (word) DO UPDATE SET docs = docs + 1;`

// Add remembers an entry, in the caller's transaction. Its number is given here.
func Add(tx *db.Tx, e Entry) error {
	in, cached, out := e.Counts()
	tx.Do(addSQL, ":at", e.At.UnixMilli(), ":run", e.Run, ":attempt", db.OrNull(e.Attempt), ":iteration", e.Iteration,
		":task", e.Task, ":feature", db.OrNull(e.Feature), ":title", e.Title, ":outcome", string(e.Outcome), ":reason", e.Reason,
		":notes", e.Notes, ":agent", db.OrNull(e.Agent), ":model", db.OrNull(e.Model), ":effective", db.OrNull(e.ModelEffective),
		":stop", db.OrNull(e.StopReason), ":duration", e.Duration.Milliseconds(), ":tokens_in", in,
		":tokens_cached", cached, ":tokens_out", out, ":cost", e.CostUSD, ":estimated", e.Estimated, ":unknown", e.Unknown,
		":files", db.JSON(e.Files))
	for word := range distinct(e.Notes, e.Title, e.Reason) {
		tx.Do(countSQL, ":word", word)
	}
	return tx.Err()
}

// distinct is the set of the words of some texts.
func distinct(texts ...string) map[string]bool {
	set := map[string]bool{}
	for _, text := range texts {
		for word := range words.All(text) {
			set[word] = true
		}
	}
	return set
}
