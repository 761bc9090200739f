package dag

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

const (
	beginSQL = `
UPDATE tasks SET base = coalesce(base, :base) WHERE id = :id AND owner = :owner AND generation = :generation RETURNING base;`
	featureGatesSQL    = `SELECT gates FROM features WHERE name = :name;`
	setFeatureGatesSQL = `UPDATE features SET gates = :gates, updated_at = :now WHERE n = :n;`
)

// Begin stores what a claimed task finds, unless an attempt since the last reset
// did so before, and returns what the first one found.
func (g *Graph) Begin(c Claim, base string) (string, error) {
	first := ""
	err := g.tx.Each(beginSQL, func(stmt *sqlite.Stmt) error { first = stmt.ColumnText(0); return nil },
		":base", base, ":id", c.Task.ID, ":owner", c.Owner, ":generation", c.Generation)
	if err == nil && first == "" {
		err = fmt.Errorf("task %s: %w", c.Task.ID, ErrLost)
	}
	return first, err
}

// FeatureGates lists the commands that judge every task of a feature.
func (g *Graph) FeatureGates(name string) ([]string, error) {
	var gates []string
	err := g.tx.Each(featureGatesSQL, func(stmt *sqlite.Stmt) error {
		r := row{stmt: stmt}
		gates = r.list()
		return r.err
	}, ":name", name)
	return gates, err
}

// SetFeatureGates replaces the commands that judge every task of a feature.
func (g *Graph) SetFeatureGates(name string, gates []string) error {
	n, err := g.featureNumber(name)
	if err != nil {
		return err
	}
	if err := checkText("x", "", gates); err != nil {
		return err
	}
	return g.tx.Exec(setFeatureGatesSQL, ":n", n, ":gates", listJSON(gates), ":now", g.millis())
}
