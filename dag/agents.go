package dag

import (
	"time"

	"ralph/internal/db"
)

// AgentLimit is a provider's limit: the agent is rate-limited until then.
type AgentLimit struct {
	Agent  string
	Until  time.Time
	Reason string
}

const (
	limitAgentSQL = `
INSERT INTO agent_limits (agent, until, reason, at) VALUES (:agent, :until, :reason, :now)
ON CONFLICT (agent) DO UPDATE SET until = :until, reason = :reason, at = :now;`
	agentLimitsSQL = `SELECT agent, until, reason FROM agent_limits WHERE until > :now ORDER BY until, agent;`
	liftLimitsSQL  = `DELETE FROM agent_limits WHERE :agent = '' OR agent = :agent;`
	liftWaitsSQL   = `
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL, wait_agent = NULL
WHERE not_before > 0 AND wait_agent IS NOT NULL AND (:agent = '' OR wait_agent = :agent);`
)

// LimitAgent records that an agent has met a limit, for every run.
func (g *Graph) LimitAgent(l AgentLimit) error {
	return g.tx.Exec(limitAgentSQL, ":agent", l.Agent, ":until", l.Until.UnixMilli(), ":reason", g.said(l.Reason), ":now", g.millis())
}

// AgentLimits lists those that are not over, the first to end first.
func (g *Graph) AgentLimits() ([]AgentLimit, error) {
	return db.All(g.tx, agentLimitsSQL, func(r *db.Row) AgentLimit {
		return AgentLimit{Agent: r.Text(), Until: r.Time(), Reason: r.Text()}
	}, ":now", g.millis())
}

// LiftLimit forgets the limit of an agent, or of all if the name is empty, and ends the
// waits for it.
func (g *Graph) LiftLimit(agent string) error {
	g.tx.Do(liftWaitsSQL, ":agent", agent)
	return g.tx.Exec(liftLimitsSQL, ":agent", agent)
}

const (
	agentWaitsSQL    = `SELECT DISTINCT wait_agent FROM tasks INDEXED BY tasks_waiting WHERE not_before > 0 AND wait_agent IS NOT NULL AND agent IS NULL;`
	forgetAgentWaits = `
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL, wait_agent = NULL
WHERE not_before > 0 AND agent IS NULL AND wait_agent = :agent;`
)

// ForgetWaits ends the waits for agents that the coming run does not need; keep says which
// ones it needs. Tasks that bring their own agent wait for it in any case.
func (g *Graph) ForgetWaits(keep func(agent string) bool) error {
	agents, _ := db.All(g.tx, agentWaitsSQL, (*db.Row).Text)
	for _, agent := range agents {
		if !keep(agent) {
			g.tx.Do(forgetAgentWaits, ":agent", agent)
		}
	}
	return g.tx.Err()
}

// Skip says what a claim leaves alone for now.
type Skip struct {
	Agent    string   // that works on tasks which bring none
	Agents   []string // that are rate-limited
	Features []string // that have spent what they may
	Tasks    []string // by ID
}

const (
	skippedAllSQL     = `SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY queue_all WHERE queue <= :doomed LIMIT 1);`
	skippedFeatureSQL = `SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue <= :doomed LIMIT 1);`
	skippedTreeSQL    = subtree + `SELECT count(*) FROM sub JOIN tasks t ON t.n = sub.n WHERE t.queue <= :doomed;`
)

// Skipped reports whether a claim that found nothing would find something if nothing
// were skipped.
func (g *Graph) Skipped(opts ClaimOptions) (bool, error) {
	if opts.Skip.empty() {
		return false, nil
	}
	query, args, err := scoped(g, opts.Scope, skippedAllSQL, skippedFeatureSQL, skippedTreeSQL)
	if err != nil {
		return false, err
	}
	return g.number(query, append(args, ":doomed", opts.KeepGoing)...) > 0, g.tx.Err()
}

func (s Skip) empty() bool { return len(s.Agents)+len(s.Features)+len(s.Tasks) == 0 }
