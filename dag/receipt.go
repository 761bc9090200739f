package dag

import (
	"slices"

	"ralph/internal/db"
	"ralph/internal/event"
)

// Receipt is everything that is on record about an attempt. What is empty or nil
// is unknown.
type Receipt struct {
	Attempt
	Title        string // of the task; empty once it is deleted
	Feature      string
	Verification string  // of the task, now
	Last         bool    // no later attempt at the task is on record
	GatesJSON    string  // as they were stored, also if they cannot be read
	Shares       []Share // of the usage, if it is not all of this agent and model
	Part         bool    // it is one of another's, and no attempt of its own
}

// ReceiptFilter says which receipts are wanted. The zero value means all.
type ReceiptFilter struct {
	Run  string // a full ID
	Task string // a full ID
}

// One statement for each index that serves it.
const (
	receiptSelect = `SELECT ` + attemptColumns + `, t.title, (SELECT f.name FROM features f WHERE f.n = t.feature), t.verification,
    NOT EXISTS (SELECT 1 FROM attempts l WHERE l.task = a.task AND l.n > a.n), a.gates, a.shares
FROM attempts a JOIN runs r ON r.n = a.run LEFT JOIN tasks t ON t.n = a.task `
	receiptsSQL     = receiptSelect + `ORDER BY a.n;`
	receiptsRunSQL  = receiptSelect + `WHERE a.run = (SELECT n FROM runs WHERE id = :run) ORDER BY a.n;`
	receiptsTaskSQL = receiptSelect + `WHERE a.task = (SELECT n FROM tasks WHERE id = :task) ORDER BY a.n;`
)

// Receipts lists attempts, oldest first. Each attempt is listed once, so adding up
// what they cost counts nothing twice.
func (g History) Receipts(f ReceiptFilter) ([]Receipt, error) {
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
		Attempt: scanAttempt(r), Title: r.Text(), Feature: r.Text(), Verification: r.Text(), Last: r.Bool(), GatesJSON: r.Text(), Shares: db.List[Share](r),
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
		part := r
		part.Shares = nil
		if i > 0 {
			part = Receipt{Title: r.Title, Feature: r.Feature, Part: true}
			part.Attempt = Attempt{ID: r.ID, Run: r.Run, Task: r.Task, StartedAt: r.StartedAt, EndedAt: r.EndedAt}
		}
		part.Agent, part.Model, part.ModelEffective = s.Agent, s.Model, s.Model
		part.Usage = event.Usage{
			TokensIn: s.TokensIn, TokensCached: s.TokensCached, TokensOut: s.TokensOut, CostUSD: s.CostUSD, Estimated: s.Estimated, Unknown: s.Unknown,
		}
		list[i] = part
	}
	return list
}
