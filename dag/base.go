package dag

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

const (
	baseSQL            = `SELECT base FROM tasks WHERE id = :id;`
	setBaseSQL         = `UPDATE tasks SET base = :base WHERE id = :id AND owner = :owner AND generation = :generation;`
	featureGatesSQL    = `SELECT gates FROM features WHERE name = :name;`
	setFeatureGatesSQL = `UPDATE features SET gates = :gates, updated_at = :now WHERE n = :n;`
)

// Base is what the first attempt since the last reset found, "" before there was one.
func (g *Graph) Base(id string) (string, error) {
	base := ""
	err := g.tx.Each(baseSQL, func(stmt *sqlite.Stmt) error { base = stmt.ColumnText(0); return nil }, ":id", id)
	return base, err
}

// SetBase stores what a claimed task found when it began.
func (g *Graph) SetBase(c Claim, base string) error {
	err := g.tx.Exec(setBaseSQL, ":base", base, ":id", c.Task.ID, ":owner", c.Owner, ":generation", c.Generation)
	if err == nil && g.tx.Changes() != 1 {
		err = fmt.Errorf("task %s: %w", c.Task.ID, ErrLost)
	}
	return err
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
