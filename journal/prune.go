package journal

import (
	"errors"
	"math"
	"time"

	"ralph/internal/db"
)

// Retention says how long entries are kept.
type Retention struct {
	Now  time.Time
	Keep time.Duration // failures are kept longer
}

// longer is how many times as long failures are kept.
const longer = 3

// Pruned counts what was forgotten.
type Pruned struct {
	Entries  int // all of them
	Failures int // of those, the failures
}

// Failures are kept longer, because what did not work is what the next attempt
// most needs to know.
const (
	oldSQL = `
SELECT notes, title, reason, outcome IN ` + failures + ` FROM journal WHERE` + isOld + `;`
	forgetSQL = `
DELETE FROM journal WHERE` + isOld + `;`
	isOld    = ` at < CASE WHEN outcome IN ` + failures + ` THEN :failures ELSE :others END`
	failures = `('failed', 'retried', 'refused', 'timeout', 'error')`
)

const (
	uncountSQL = `
UPDATE journal_words SET docs = max(docs - :docs, 0) WHERE word = :word;`
	unusedSQL = `
DELETE FROM journal_words WHERE docs = 0;`
)

// Cutoffs are the times before which things are old: most things, and failures.
func (r Retention) Cutoffs() (others, failed time.Time) {
	return r.Now.Add(-r.Keep), r.Now.Add(-min(r.Keep, math.MaxInt64/longer) * longer)
}

// Prune forgets old entries, in the caller's transaction: the rows, their place
// in the full-text index and their words.
func Prune(tx *db.Tx, r Retention) (Pruned, error) {
	if r.Keep < 0 {
		return Pruned{}, errors.New("prune the journal: entries cannot be kept for less than no time")
	}
	others, failed := r.Cutoffs()
	cutoffs := []any{":others", others.UnixMilli(), ":failures", failed.UnixMilli()}
	var p Pruned
	gone := map[string]int{}
	for r := range tx.Rows(oldSQL, cutoffs...) {
		p.Entries++
		for word := range distinct(r.Text(), r.Text(), r.Text()) {
			gone[word]++
		}
		if r.Bool() {
			p.Failures++
		}
	}
	if p.Entries == 0 {
		return p, tx.Err() // most runs end so, and the words are many
	}
	tx.Do(forgetSQL, cutoffs...)
	for word, docs := range gone {
		tx.Do(uncountSQL, ":word", word, ":docs", docs)
	}
	return p, tx.Exec(unusedSQL)
}
