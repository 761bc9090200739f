package dag

import (
	"fmt"
)

const (
	baseSQL            = `SELECT base FROM tasks WHERE id = :id;`
	setBaseSQL         = `UPDATE tasks SET base = :base WHERE id = :id AND owner = :owner AND generation = :generation;`
	featureGatesSQL    = `SELECT gates FROM features WHERE name = :name;`
	setFeatureGatesSQL = `UPDATE features SET gates = :gates, updated_at = :now WHERE n = :n;`
)

// Base is what the first attempt since the last reset found, "" before there was one.
func (g *Graph) Base(id string) (string, error) {
	return one(g, baseSQL, (*row).text, ":id", id)
}

// SetBase stores what a claimed task found when it began.
func (g *Graph) SetBase(c Claim, base string) error {
	err := g.tx.Exec(setBaseSQL, ":base", base, ":id", c.Task.ID, ":owner", c.Owner, ":generation", c.Generation)
	if err == nil && g.tx.Changes() != 1 {
		err = fmt.Errorf("task %s: %w", c.Task.ID, ErrLost)
	}
	return err
}

// FeatureGates lists the commands that check every task of a feature.
func (g *Graph) FeatureGates(name string) ([]string, error) {
	return one(g, featureGatesSQL, decode[string], ":name", name)
}

// SetFeatureGates replaces the commands that check every task of a feature.
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
