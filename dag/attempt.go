package dag

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// Attempt is one agent's try at one task.
type Attempt struct {
	ID        string
	Run       string
	Task      string
	Iteration int
	Phase     string
	Agent     string
	Model     string
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
	Outcome   string
	Reason    string
	TokensIn  *int64
	TokensOut *int64
	CostUSD   *float64 // nil when unknown
}

const beginAttemptSQL = `
INSERT INTO attempts (id, run, task, task_id, iteration, generation, started_at)
VALUES (:id, (SELECT n FROM runs WHERE id = :run), :task, :task_id, :iteration, :generation, :now)
ON CONFLICT (id) DO NOTHING;`

func (g *Graph) beginAttempt(opts ClaimOptions, t Task) (string, error) {
	for range 100 {
		id := g.newID("a-")
		err := g.tx.Exec(beginAttemptSQL, ":id", id, ":run", opts.Run.ID, ":task", t.N, ":task_id", t.ID,
			":iteration", opts.Iteration, ":generation", t.Generation, ":now", g.millis())
		if err != nil {
			return "", err
		}
		if g.tx.Changes() == 1 {
			return id, nil
		}
	}
	return "", fmt.Errorf("no free attempt ID after 100 tries")
}

const endAttemptSQL = `
UPDATE attempts SET phase = 'settled', ended_at = :now, outcome = :outcome, reason = :reason
WHERE id = :id AND task = :task AND generation = :generation AND ended_at IS NULL;`

func (g *Graph) endAttempt(task int64, c Claim, outcome, reason string) error {
	return g.tx.Exec(endAttemptSQL, ":id", c.Attempt, ":task", task, ":generation", c.Generation,
		":outcome", outcome, ":reason", orNull(reason), ":now", g.millis())
}

const attemptsSQL = `
SELECT a.id, r.id, a.task_id, a.iteration, a.phase, a.agent, a.model, a.started_at, a.ended_at, a.outcome, a.reason,
    a.tokens_in, a.tokens_out, a.cost_usd
FROM attempts a JOIN runs r ON r.n = a.run WHERE a.task = :task ORDER BY a.n;`

// Attempts lists the attempts at a task, oldest first.
func (g *Graph) Attempts(t Task) ([]Attempt, error) {
	var list []Attempt
	err := g.tx.Each(attemptsSQL, func(stmt *sqlite.Stmt) error {
		r := row{stmt: stmt}
		list = append(list, Attempt{
			ID: r.text(), Run: r.text(), Task: r.text(), Iteration: r.int(), Phase: r.text(), Agent: r.text(), Model: r.text(),
			StartedAt: r.time(), EndedAt: r.time(), Outcome: r.text(), Reason: r.text(),
			TokensIn: r.optionalInt64(), TokensOut: r.optionalInt64(), CostUSD: r.optionalFloat(),
		})
		return r.err
	}, ":task", t.N)
	return list, err
}
