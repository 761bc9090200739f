package dag

import (
	"fmt"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
)

// Planning is one session with an agent that planned: it belongs to no task, but it
// costs money as well.
type Planning struct {
	ID             string
	Step           string // spec, plan or build
	Feature        string // empty for tasks of none
	Agent          string
	Model          string // asked for
	ModelEffective string // that took effect
	StartedAt      time.Time
	EndedAt        time.Time // zero while it is open, or if ralph died
	Worked         time.Duration
	event.Usage
}

const beginPlanningSQL = `
INSERT INTO plannings (id, step, feature, feature_name, agent, model, model_effective, started_at, cost_unknown)
VALUES (:id, :step, :feature, :name, :agent, :model, :effective, :now, 1);`

// BeginPlanning records that a session is open, and gives it an ID and a time. What it
// costs is unknown until it reports it.
func (g Plan) BeginPlanning(p *Planning) error {
	feature, err := g.featureNumber(p.Feature)
	if err != nil {
		return err
	}
	p.ID, p.StartedAt, p.Unknown = g.newID("p-"), g.now.UTC().Truncate(time.Millisecond), true
	return g.tx.Exec(beginPlanningSQL, ":id", p.ID, ":step", p.Step, ":feature", db.OrNull(feature), ":name", db.OrNull(p.Feature),
		":agent", db.OrNull(p.Agent), ":model", db.OrNull(p.Model), ":effective", db.OrNull(p.ModelEffective), ":now", g.millis())
}

const notePlanningSQL = `
UPDATE plannings SET model_effective = :effective, ended_at = iif(:over, :now, NULL), worked = :worked, tokens_in = :tokens_in,
    tokens_cached = :tokens_cached, tokens_out = :tokens_out, cost_usd = :cost, cost_estimated = :estimated, cost_unknown = :unknown
WHERE id = :id;`

// NotePlanning stores what a session has used so far, and whether it is over.
func (g Plan) NotePlanning(p Planning, over bool) error {
	in, cached, out := p.Counts()
	missing := fmt.Errorf("session %s of planning: %w", p.ID, ErrNotFound)
	return g.change(missing, notePlanningSQL, ":id", p.ID, ":effective", db.OrNull(p.ModelEffective), ":over", over, ":now", g.millis(),
		":worked", p.Worked.Milliseconds(), ":tokens_in", in, ":tokens_cached", cached, ":tokens_out", out,
		":cost", p.CostUSD, ":estimated", p.Estimated, ":unknown", p.Unknown)
}

const planningsSQL = `
SELECT id, step, feature_name, agent, model, model_effective, started_at, ended_at, worked,
    tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown
FROM plannings ORDER BY n;`

// Plannings lists all sessions of planning, oldest first.
func (g Plan) Plannings() ([]Planning, error) {
	return db.All(g.tx, planningsSQL, func(r *db.Row) Planning {
		return Planning{
			ID: r.Text(), Step: r.Text(), Feature: r.Text(), Agent: r.Text(), Model: r.Text(), ModelEffective: r.Text(),
			StartedAt: r.Time(), EndedAt: r.Time(), Worked: r.Duration(), Usage: usageOf(r),
		}
	})
}

const (
	plannedColumns = `
SELECT 0, sum(tokens_in), sum(tokens_cached), sum(tokens_out), round(sum(cost_usd), 9), coalesce(max(cost_estimated), 0),
    coalesce(sum(cost_unknown), 0), coalesce(sum(worked), 0) FROM plannings `
	plannedFeatureSQL = plannedColumns + `WHERE feature = :feature;`
	plannedSinceSQL   = plannedColumns + `WHERE started_at >= :since;`
)
