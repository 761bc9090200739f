package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
	"ralph/journal"
)

// Usage is what attempts used, added up, and how much of its cost is known.
type Usage struct {
	event.Usage
	Attempts     int
	EstimatedUSD float64 // of the cost
	Known        int     // attempts whose cost is known
	Guessed      int     // of them, estimated
	Silent       int     // attempts in which an agent worked and nobody knows what that cost
	Partly       int     // of them, some of it is known
	Parts        int     // of those known or silent, that are no attempts of their own
}

func usageOf(r dag.Receipt) Usage {
	u := Usage{Usage: r.Usage, Attempts: 1}
	if r.CostUSD != nil {
		u.Known = 1
		if r.Estimated {
			u.EstimatedUSD, u.Guessed = *r.CostUSD, 1
		}
	}
	if r.Unknown {
		u.Silent, u.Partly = 1, u.Known
	}
	if r.Part {
		u.Attempts, u.Parts = 0, u.Known+u.Silent-u.Partly
	}
	return u
}

func (u Usage) plus(v Usage) Usage {
	u.Usage = u.Add(v.Usage)
	u.Attempts += v.Attempts
	u.EstimatedUSD += v.EstimatedUSD
	u.Known += v.Known
	u.Guessed += v.Guessed
	u.Silent += v.Silent
	u.Partly += v.Partly
	u.Parts += v.Parts
	return u
}

// CachedShare is how much of what was read came from a cache, from 0 to 1; nil if the
// agents did not report it.
func (u Usage) CachedShare() *float64 {
	if u.TokensCached == 0 {
		return nil
	}
	share := math.Round(1000*float64(u.TokensCached)/float64(u.TokensIn+u.TokensCached)) / 1000
	return &share
}

// Spending is what was used under one heading.
type Spending struct {
	Key      string
	Title    string // of a task
	Usage    Usage
	Done     int // attempts that ended with the task done
	Verified int // of them, with gates or a verifier
}

// Headings of what was spent.
const (
	ByModel   = "model"
	ByTask    = "task"
	ByFeature = "feature"
	ByDay     = "day"
	ByAgent   = "agent"
)

// Spend adds up receipts under headings that key gives them, the dearest first.
// Every receipt is counted under one heading.
func Spend(receipts []dag.Receipt, key func(dag.Receipt) (key, title string)) []Spending {
	at := map[string]int{}
	var list []Spending
	for _, r := range receipts {
		k, title := key(r)
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k], list = i, append(list, Spending{Key: k})
		}
		s := &list[i]
		s.Title = cmp.Or(title, s.Title)
		s.Usage = s.Usage.plus(usageOf(r))
		if r.Outcome.Done() {
			s.Done++
		}
		if verified(r) {
			s.Verified++
		}
	}
	slices.SortStableFunc(list, func(a, b Spending) int {
		return cmp.Or(cmp.Compare(b.Usage.Cost(), a.Usage.Cost()), cmp.Compare(b.Usage.Attempts, a.Usage.Attempts), strings.Compare(a.Key, b.Key))
	})
	return list
}

// Split lists who used what, where an attempt was not one agent's alone: for headings
// of agents and models.
func Split(receipts []dag.Receipt) []dag.Receipt {
	return slices.Concat(seq.Map(receipts, dag.Receipt.Split)...)
}

// Total adds up everything.
func Total(list []Spending) Spending {
	total := Spending{Key: "total"}
	for _, s := range list {
		total.Usage = total.Usage.plus(s.Usage)
		total.Done += s.Done
		total.Verified += s.Verified
	}
	return total
}

// PerVerified is what one verified done cost, or nil if that is not known or there
// is none. It counts what was spent in vain, too.
func (s Spending) PerVerified() *float64 {
	if s.Verified == 0 || s.Usage.Known == 0 || s.Usage.Silent > 0 {
		return nil
	}
	each := human.Exact(s.Usage.Cost() / float64(s.Verified))
	return &each
}

// ModelOf is the model that worked: the one that took effect, else the one that
// was asked for.
func ModelOf(r dag.Receipt) string { return cmp.Or(r.ModelEffective, r.Model) }

// verified says that an attempt got its task done and that this was checked.
func verified(r dag.Receipt) bool {
	if !r.Outcome.Done() {
		return false
	}
	gates := gatesOf(r.GatesJSON)
	if refused(gates) != nil {
		return false
	}
	if r.Last && r.Verification == "passed" {
		return true
	}
	return len(gates) > 0 || strings.HasPrefix(r.Verdict, "pass")
}

// Costs is what was spent, by one heading.
type Costs struct {
	By    string     `json:"by"`
	Rows  []Spending `json:"rows"`
	Total Spending   `json:"total"`
}

// headings give each receipt the one heading that it is counted under.
var headings = map[string]func(dag.Receipt) (key, title string){
	ByModel: func(r dag.Receipt) (string, string) { return cmp.Or(ModelOf(r), NoModel), "" },
	ByTask: func(r dag.Receipt) (string, string) {
		if r.Task == "" {
			return "(planning)", ""
		}
		return r.Task, r.Title
	},
	ByFeature: func(r dag.Receipt) (string, string) { return cmp.Or(r.Feature, "(none)"), "" },
	ByDay:     func(r dag.Receipt) (string, string) { return r.StartedAt.Local().Format(time.DateOnly), "" },
	ByAgent:   func(r dag.Receipt) (string, string) { return cmp.Or(r.Agent, "(none started)"), "" },
}

// LoadCosts adds up what one run spent, or all runs and planning. By agent and by model, what
// a verifier used is counted under its own name.
func LoadCosts(g *dag.Graph, by, run string) (Costs, error) {
	receipts, _ := Receipts(g, run)
	if run == "" {
		plannings, _ := g.Plan.Plannings()
		for _, p := range plannings {
			receipts = append(receipts, dag.Receipt{Title: p.Step, Feature: p.Feature, Attempt: dag.Attempt{
				ID: p.ID, Agent: p.Agent, Model: p.Model, ModelEffective: p.ModelEffective, StartedAt: p.StartedAt, EndedAt: p.EndedAt, Usage: p.Usage,
			}})
		}
	}
	c := Costs{By: by, Total: Total(Spend(receipts, headings[by]))}
	if by == ByModel || by == ByAgent {
		receipts = Split(receipts)
	}
	c.Rows = jsonval.List(Spend(receipts, headings[by]))
	return c, g.Tx().Err()
}

// Receipts are those of one run or of all. The journal remembers the title and the feature of
// a task that was deleted.
func Receipts(g *dag.Graph, run string) ([]dag.Receipt, error) {
	receipts, _ := g.History.Receipts(dag.ReceiptFilter{Run: run})
	var entries map[string]journal.Entry
	for i, r := range receipts {
		if r.Title != "" {
			continue
		}
		if entries == nil {
			entries = journalOf(g, run)
		}
		receipts[i].Title, receipts[i].Feature = entries[r.ID].Title, entries[r.ID].Feature
	}
	return receipts, g.Tx().Err()
}
