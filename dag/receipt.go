package dag

import (
	"slices"
	"time"

	"ralph/event"
	"ralph/internal/db"
)

// Receipt is everything that is on record about an attempt. What is empty or nil
// is unknown.
type Receipt struct {
	ID             string
	Run            string
	Task           string
	Title          string // of the task; empty once it is deleted
	Feature        string
	Verification   string // of the task, now
	Last           bool   // no later attempt at the task is on record
	Iteration      int
	Phase          Phase
	Agent          string
	Model          string // asked for
	ModelEffective string // that took effect
	Sandbox        string
	StartedAt      time.Time
	EndedAt        time.Time // zero while it runs
	Outcome        event.AttemptOutcome
	Reason         string
	StopReason     string
	Verdict        string
	Gates          string // JSON, as it was stored
	event.Usage
	Shares    []Share  // of the above, if they are not all of this agent and model
	Part      bool     // it is one of another's, and no attempt of its own
	Drift     []string // the detectors that fired
	Files     []string
	Base      string
	Tree      string // of the working folder before it, and after it; "" if that is not known
	TreeAfter string
}

// ReceiptFilter says which receipts are wanted. The zero value means all.
type ReceiptFilter struct {
	Run  string // a full ID
	Task string // a full ID
}

// One statement for each index that serves it.
const (
	receiptSelect = `
SELECT a.id, r.id, a.task_id, t.title, (SELECT f.name FROM features f WHERE f.n = t.feature), t.verification,
    NOT EXISTS (SELECT 1 FROM attempts l WHERE l.task = a.task AND l.n > a.n),
    a.iteration, a.phase, a.agent, a.model, a.model_effective, a.sandbox, a.started_at, a.ended_at, a.outcome, a.reason,
    a.stop_reason, a.verdict, a.gates, a.tokens_in, a.tokens_cached, a.tokens_out, a.cost_usd, a.cost_estimated, a.cost_unknown, a.shares, a.drift, a.files, a.base, a.tree, a.tree_after
FROM attempts a JOIN runs r ON r.n = a.run LEFT JOIN tasks t ON t.n = a.task `
	receiptsSQL     = receiptSelect + `ORDER BY a.n;`
	receiptsRunSQL  = receiptSelect + `WHERE a.run = (SELECT n FROM runs WHERE id = :run) ORDER BY a.n;`
	receiptsTaskSQL = receiptSelect + `WHERE a.task = (SELECT n FROM tasks WHERE id = :task) ORDER BY a.n;`
)

// Receipts lists attempts, oldest first. Each attempt is listed once, so adding up
// what they cost counts nothing twice.
func (g *Graph) Receipts(f ReceiptFilter) ([]Receipt, error) {
	query, args := receiptsSQL, []any(nil)
	switch {
	case f.Task != "":
		query, args = receiptsTaskSQL, []any{":task", f.Task}
	case f.Run != "":
		query, args = receiptsRunSQL, []any{":run", f.Run}
	}
	list, err := db.All(g.tx, query, scanReceipt, args...)
	return slices.DeleteFunc(list, func(r Receipt) bool { return f.Run != "" && r.Run != f.Run }), err
}

func scanReceipt(r *db.Row) Receipt {
	defer r.Forgive() // a list of files that cannot be read is no reason to withhold a receipt
	return Receipt{
		ID: r.Text(), Run: r.Text(), Task: r.Text(), Title: r.Text(), Feature: r.Text(), Verification: r.Text(), Last: r.Bool(),
		Iteration: r.Int(), Phase: Phase(r.Text()), Agent: r.Text(), Model: r.Text(), ModelEffective: r.Text(), Sandbox: r.Text(),
		StartedAt: r.Time(), EndedAt: r.Time(), Outcome: event.AttemptOutcome(r.Text()), Reason: r.Text(), StopReason: r.Text(), Verdict: r.Text(),
		Gates: r.Text(), Usage: usageOf(r), Shares: db.List[Share](r), Drift: db.List[string](r), Files: db.List[string](r), Base: r.Text(),
		Tree: r.Text(), TreeAfter: r.Text(),
	}
}

// Share is what one agent with one model used of an attempt: the one that worked, or
// one that verified.
type Share struct {
	Agent        string   `json:"agent"`
	Model        string   `json:"model"`
	TokensIn     int64    `json:"tokens_in,omitempty"`
	TokensCached int64    `json:"tokens_cached,omitempty"`
	TokensOut    int64    `json:"tokens_out,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	Estimated    bool     `json:"estimated,omitempty"`
	Unknown      bool     `json:"unknown,omitempty"`
}

// ShareOf is what an agent with a model used, as it is stored.
func ShareOf(agent, model string, u event.Usage) Share {
	s := Share{Agent: agent, Model: model, CostUSD: u.CostUSD, Estimated: u.Estimated, Unknown: u.Unknown}
	if u.Tokens() > 0 {
		s.TokensIn, s.TokensCached, s.TokensOut = u.TokensIn, u.TokensCached, u.TokensOut
	}
	return s
}

// Split is the receipt by agent and model, one for each, the first of which stands for
// the attempt: the others are no attempts of their own.
func (r Receipt) Split() []Receipt {
	if len(r.Shares) == 0 {
		return []Receipt{r}
	}
	list := make([]Receipt, len(r.Shares))
	for i, s := range r.Shares {
		part := Receipt{ID: r.ID, Run: r.Run, Task: r.Task, Title: r.Title, Feature: r.Feature, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Part: true}
		if i == 0 {
			part = r
			part.Shares = nil
		}
		part.Agent, part.Model, part.ModelEffective = s.Agent, s.Model, s.Model
		part.Usage = event.Usage{
			TokensIn: s.TokensIn, TokensCached: s.TokensCached, TokensOut: s.TokensOut, CostUSD: s.CostUSD, Estimated: s.Estimated, Unknown: s.Unknown,
		}
		list[i] = part
	}
	return list
}
