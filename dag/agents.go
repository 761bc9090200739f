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
func (g Queue) LimitAgent(l AgentLimit) error {
	return g.tx.Exec(limitAgentSQL, ":agent", l.Agent, ":until", l.Until.UnixMilli(), ":reason", g.said(l.Reason), ":now", g.millis())
}

// AgentLimits lists those that are not over, the first to end first.
func (g Queue) AgentLimits() ([]AgentLimit, error) {
	return db.All(g.tx, agentLimitsSQL, func(r *db.Row) AgentLimit {
		return AgentLimit{Agent: r.Text(), Until: r.Time(), Reason: r.Text()}
	}, ":now", g.millis())
}

// LiftLimit forgets the limit of an agent, or of all if the name is empty, and ends the
// waits for it.
func (g Queue) LiftLimit(agent string) error {
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
func (g Queue) ForgetWaits(keep func(agent string) bool) error {
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

// AgentGate is what one agent may do at once. The zero value sets no limit.
type AgentGate struct {
	AtOnce     int           // attempts; 0 means any number
	StartEvery time.Duration // from one start to the next
	OneFirst   bool          // after a rate limit, one attempt until an answer is known: Answered says so
}

const (
	oneFirstSQL = `SELECT count(*) FROM agent_limits WHERE agent = :agent AND until <= :now;`
	answeredSQL = `DELETE FROM agent_limits WHERE agent = :agent AND until <= :now;`
	startSQL    = `SELECT next FROM agent_starts WHERE agent = :agent;`
	startedSQL  = `INSERT INTO agent_starts (agent, next) VALUES (:agent, :next) ON CONFLICT (agent) DO UPDATE SET next = :next;`
)

// Answered says that an agent works again after a limit that is over.
func (g Queue) Answered(agent string) error {
	return g.tx.Exec(answeredSQL, ":agent", agent, ":now", g.millis())
}

// atOnce is how many attempts an agent may make at once; 0 means any number.
func (g Queue) atOnce(agent string, gate AgentGate) int {
	if gate.OneFirst && g.number(oneFirstSQL, ":agent", agent, ":now", g.millis()) > 0 {
		return 1
	}
	return gate.AtOnce
}

// nextStart is when an agent may start again; zero means now. A clock that was set back
// does not make it wait.
func (g Queue) nextStart(agent string, gate AgentGate) time.Time {
	if gate.StartEvery <= 0 {
		return time.Time{}
	}
	next, _ := db.One(g.tx, startSQL, (*db.Row).Time, ":agent", agent)
	if !next.After(g.now) || next.After(g.now.Add(gate.StartEvery)) {
		return time.Time{}
	}
	return next
}
