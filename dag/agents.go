package dag

import (
	"encoding/json"
	"time"
)

// AgentLimit is a provider's limit: until then that agent has no room for us.
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

// LimitAgent records that an agent has met a limit. What is known about another
// agent, and what every run after this one should know, is in one place.
func (g *Graph) LimitAgent(l AgentLimit) error {
	return g.tx.Exec(limitAgentSQL, ":agent", l.Agent, ":until", l.Until.UnixMilli(), ":reason", g.said(l.Reason), ":now", g.millis())
}

// AgentLimits lists those that are not over, the first to end first.
func (g *Graph) AgentLimits() ([]AgentLimit, error) {
	return collect(g, agentLimitsSQL, func(r *row) AgentLimit {
		return AgentLimit{Agent: r.text(), Until: r.time(), Reason: r.text()}
	}, ":now", g.millis())
}

// LiftLimit forgets the limit of an agent, or of all if the name is empty, and lets
// the tasks go that wait for it.
func (g *Graph) LiftLimit(agent string) error {
	if err := g.tx.Exec(liftWaitsSQL, ":agent", agent); err != nil {
		return err
	}
	return g.tx.Exec(liftLimitsSQL, ":agent", agent)
}

const (
	agentWaitsSQL    = `SELECT DISTINCT wait_agent FROM tasks INDEXED BY tasks_waiting WHERE not_before > 0 AND wait_agent IS NOT NULL AND agent IS NULL;`
	forgetAgentWaits = `
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL, wait_agent = NULL
WHERE not_before > 0 AND agent IS NULL AND wait_agent = :agent;`
)

// ForgetWaits lets tasks go that wait for an agent which the coming run does not
// need: keep says for which they go on waiting. Tasks that bring their own agent
// wait for it in any case.
func (g *Graph) ForgetWaits(keep func(agent string) bool) error {
	agents, err := collect(g, agentWaitsSQL, (*row).text)
	if err != nil {
		return err
	}
	for _, agent := range agents {
		if keep(agent) {
			continue
		}
		if err := g.tx.Exec(forgetAgentWaits, ":agent", agent); err != nil {
			return err
		}
	}
	return nil
}

// Skip says what a claim leaves alone for now.
type Skip struct {
	Agent    string   // that works on tasks which bring none
	Agents   []string // that have no room
	Features []string // that have spent what they may
	Tasks    []string // by ID
}

const (
	skippedAllSQL     = `SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY queue_all WHERE queue <= :doomed LIMIT 1);`
	skippedFeatureSQL = `SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue <= :doomed LIMIT 1);`
	skippedTreeSQL    = subtree + `SELECT count(*) FROM sub JOIN tasks t ON t.n = sub.n WHERE t.queue <= :doomed;`
)

// Skipped says whether a claim that found nothing would find something if nothing
// were skipped.
func (g *Graph) Skipped(opts ClaimOptions) (bool, error) {
	if opts.Skip.empty() {
		return false, nil
	}
	query, args := skippedAllSQL, []any{":doomed", 0}
	if opts.KeepGoing {
		args[1] = 1
	}
	switch {
	case opts.Scope.Task != "":
		t, err := g.byHand(opts.Scope.Task)
		if err != nil {
			return false, err
		}
		query, args = skippedTreeSQL, append(args, ":n", t.n)
	case opts.Scope.Feature != "":
		n, err := g.featureNumber(opts.Scope.Feature)
		if err != nil {
			return false, err
		}
		query, args = skippedFeatureSQL, append(args, ":feature", n)
	}
	n, err := g.number(query, args...)
	return n > 0, err
}

func (s Skip) empty() bool { return len(s.Agents)+len(s.Features)+len(s.Tasks) == 0 }

// These cost a look at everything that is skipped, and are used only while
// something is.
const (
	skipped = ` AND (feature IS NULL OR feature NOT IN (SELECT value FROM json_each(:features)))
    AND coalesce(agent, :agent) NOT IN (SELECT value FROM json_each(:agents))
    AND id NOT IN (SELECT value FROM json_each(:tasks)) ORDER BY priority, n LIMIT 1`

	claimAllSkipSQL     = claimSet + `SELECT n FROM tasks INDEXED BY queue_all WHERE queue = 0` + skipped + claimGet
	claimFeatureSkipSQL = claimSet +
		`SELECT n FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue = 0` + skipped + claimGet
	claimAllKeepGoingSkipSQL = claimSet + `
SELECT n FROM (
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_all WHERE queue = 0` + skipped + `)
    UNION ALL
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_all WHERE queue = 1` + skipped + `)
) ORDER BY priority, n LIMIT 1` + claimGet
	claimFeatureKeepGoingSkipSQL = claimSet + `
SELECT n FROM (
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue = 0` + skipped + `)
    UNION ALL
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue = 1` + skipped + `)
) ORDER BY priority, n LIMIT 1` + claimGet
	claimTreeSkipSQL = claimSet + `
WITH RECURSIVE sub (n) AS (
    SELECT n FROM tasks WHERE id = :task
    UNION ALL
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
)
SELECT n FROM (
    SELECT t.n, t.id, t.priority, t.feature, t.agent FROM sub CROSS JOIN tasks t ON t.n = sub.n WHERE t.queue = 0 OR t.queue = :doomed
) WHERE true` + skipped + claimGet
)

// skipping is the same claim without what is to be skipped.
func (g *Graph) skipping(query string, args []any, s Skip) (string, []any, error) {
	features := []int64{}
	for _, name := range s.Features {
		n, err := g.featureNumber(name)
		if err != nil {
			return "", nil, err
		}
		features = append(features, n)
	}
	numbers, err := json.Marshal(features)
	if err != nil {
		return "", nil, err
	}
	args = append(args, ":features", string(numbers), ":agents", listJSON(s.Agents), ":agent", s.Agent, ":tasks", listJSON(s.Tasks))
	switch query {
	case claimFeatureSQL:
		return claimFeatureSkipSQL, args, nil
	case claimAllKeepGoingSQL:
		return claimAllKeepGoingSkipSQL, args, nil
	case claimFeatureKeepGoingSQL:
		return claimFeatureKeepGoingSkipSQL, args, nil
	case claimTreeSQL:
		return claimTreeSkipSQL, args, nil
	default:
		return claimAllSkipSQL, args, nil
	}
}
