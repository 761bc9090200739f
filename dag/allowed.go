package dag

import "ralph/internal/db"

const (
	allowedSQL  = `SELECT gate, failures FROM allowed_failures;`
	allowSQL    = `INSERT INTO allowed_failures (gate, failures) VALUES (:gate, :failures) ON CONFLICT (gate) DO UPDATE SET failures = excluded.failures;`
	disallowSQL = `DELETE FROM allowed_failures WHERE gate = :gate;`
)

// AllowedFailures is what gates may fail with: for each that may, the lines that name failures.
func (g Plan) AllowedFailures() (map[string]string, error) {
	type row struct{ gate, failures string }
	rows, err := db.All(g.tx, allowedSQL, func(r *db.Row) row { return row{r.Text(), r.Text()} })
	allowed := map[string]string{}
	for _, r := range rows {
		allowed[r.gate] = r.failures
	}
	return allowed, err
}

// AllowFailures lets a gate fail with these lines, and with no other.
func (g Plan) AllowFailures(gate, failures string) error {
	return g.tx.Exec(allowSQL, ":gate", gate, ":failures", failures)
}

// DisallowFailures says that a gate has passed: it has to from now on.
func (g Plan) DisallowFailures(gate string) error {
	return g.tx.Exec(disallowSQL, ":gate", gate)
}
