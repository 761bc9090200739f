package dag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/internal/risk"
)

const (
	// What a person accepted keeps what was known when they did: it is not examined again. A revert says nothing about work.
	rateSQL = `
UPDATE merges SET risk = :risk, factors = :factors
WHERE n = :n AND NOT (accepted AND risk IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM undoes u WHERE u.task = merges.task);`
	risksSQL = `SELECT risk FROM merges WHERE state = 'landed' AND risk IS NOT NULL ORDER BY n DESC LIMIT +:limit;`
)

// Rate stores how risky the work of a claimed task is.
func (g Queue) Rate(c Claim, n int64, s risk.Score) error {
	if err := g.Holds(c); err != nil {
		return err
	}
	factors, err := json.Marshal(slices.Concat([]risk.Factor{}, s.Factors))
	if err != nil {
		return err
	}
	return g.tx.Exec(rateSQL, ":n", n, ":risk", s.Risk, ":factors", g.said(string(factors)))
}

// pastWork is how much of what happened says something about what happens now.
const pastWork = 500

// Risks are those of the work that landed last, as far as they are known.
func (g History) Risks() ([]float64, error) {
	return db.All(g.tx, risksSQL, (*db.Row).Float, ":limit", pastWork)
}

// An estimate is good enough: what is compared was estimated alike.
const spentSQL = `
SELECT cost_usd, steps FROM attempts INDEXED BY attempts_outcome
WHERE outcome = 'done' AND ended_at IS NOT NULL AND cost_usd > 0 AND NOT cost_unknown ORDER BY ended_at DESC LIMIT +:limit;`

// Spent is what the last attempts took that did their task.
func (g History) Spent() ([]risk.Spent, error) {
	return db.All(g.tx, spentSQL, func(r *db.Row) risk.Spent { return risk.Spent{CostUSD: r.Float(), Steps: r.Int()} }, ":limit", pastWork)
}

// FailedWork is work that was rejected, or taken back after it had landed.
type FailedWork struct {
	Task  string
	Files []string
}

const (
	refusedSQL = `SELECT task_id, files FROM attempts WHERE outcome IN ('retried', 'failed') ORDER BY n DESC LIMIT +:limit;`
	// A task whose work was taken back may have landed since.
	takenBackSQL = `
SELECT m.task_id, (SELECT a.files FROM attempts a WHERE a.id = m.attempt) FROM undoes u CROSS JOIN tasks r ON r.n = u.task CROSS JOIN merges m ON m.task = u.undone
WHERE r.status = 'done' AND m.state = 'landed' AND m.n < (SELECT max(x.n) FROM merges x WHERE x.task = u.task AND x.state = 'landed') ORDER BY m.n DESC LIMIT +:limit;`
)

// FailedWork lists the last work that was rejected or taken back.
func (g History) FailedWork() ([]FailedWork, error) {
	scan := func(r *db.Row) FailedWork {
		defer r.Forgive() // a list that cannot be read is no reason to measure nothing
		return FailedWork{Task: r.Text(), Files: db.List[string](r)}
	}
	refused, _ := db.All(g.tx, refusedSQL, scan, ":limit", pastWork) // the first error of the database is that of all that follow
	back, err := db.All(g.tx, takenBackSQL, scan, ":limit", pastWork)
	return append(refused, back...), err
}

const (
	// Work that changed something and still stands: its task was not opened again, nor has it landed once more.
	stillDone = ` AND (candidate <> onto OR refs IS NOT NULL) AND EXISTS (SELECT 1 FROM tasks t WHERE t.n = merges.task AND t.status = 'done')
    AND NOT EXISTS (SELECT 1 FROM undoes u WHERE u.task = merges.task)
    AND NOT EXISTS (SELECT 1 FROM merges l WHERE l.task = merges.task AND l.n > merges.n AND l.state = 'landed') ORDER BY n;`
	unreviewedSQL  = `SELECT ` + mergeColumns + ` FROM merges INDEXED BY merges_unreviewed WHERE state = 'landed' AND reviewed_at IS NULL AND accepted = 0` + stillDone
	landedSinceSQL = `SELECT ` + mergeColumns + ` FROM merges WHERE state = 'landed' AND ended_at >= :since` + stillDone
	reviewedSQL    = `UPDATE merges SET reviewed_at = :now, reviewed_by = :who WHERE n = :n AND reviewed_at IS NULL;`
)

// Unreviewed lists the work that landed and stands, and that no person has accepted, before it landed or after. Of
// other work, and of a task that is deleted, nobody can say anything here.
func (g Queue) Unreviewed() ([]Merge, error) { return db.All(g.tx, unreviewedSQL, scanMerge) }

// LandedSince lists the work that landed since a time and stands, whoever has looked at it.
func (g Queue) LandedSince(at time.Time) ([]Merge, error) {
	return db.All(g.tx, landedSinceSQL, scanMerge, ":since", at.UnixMilli())
}

// acceptLanded is a person's word that work which has landed is good. The first one counts.
func (g Queue) acceptLanded(t Task, m Merge, why string) error {
	if !m.ReviewedAt.IsZero() {
		return nil
	}
	g.tx.Do(reviewedSQL, ":n", m.N, ":now", g.millis(), ":who", cmp.Or(g.actor.Who, "somebody"))
	g.log(t.N, LogSystem, "accepted after it had landed"+human.Lead(": ", why))
	return g.tx.Err()
}

const (
	sayUndoneSQL  = `UPDATE undoes SET message = :message WHERE task = :task AND undone = (SELECT n FROM tasks WHERE id = :undone);`
	undoneSaysSQL = `SELECT message FROM undoes WHERE task = :task AND undone = :undone;`
)

// SayUndone says what the next attempt at a task is told, once the task by takes its work back.
func (g Queue) SayUndone(by, undone, message string) error {
	t, err := g.nodeByID(by)
	if err != nil {
		return err
	}
	return g.change(fmt.Errorf("%w: %s does not take back the work of %s", ErrRefused, by, undone), sayUndoneSQL, ":task", t.n, ":undone", undone, ":message", g.said(message))
}
