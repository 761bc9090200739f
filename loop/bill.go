package loop

import (
	"cmp"
	"strings"

	"ralph/acp"
	"ralph/budget"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
)

// bill is what sessions have used, each at the price of its own model: one may tell
// what it costs while another does not.
type bill struct {
	used      acp.Usage // its cost is what is known of it
	estimated bool      // some of that by the table of prices
	unknown   bool      // a session worked, and nobody knows what it cost
}

// priced is the bill of one session. Whether it worked decides what it means if
// nothing was told.
func priced(prices budget.Prices, u acp.Usage, model string, worked bool) bill {
	b := bill{used: u}
	tokens := budget.TokenUse{Input: u.Input + u.CacheWrite, Cached: u.CacheRead, Output: u.Output}
	b.used.CostUSD, b.estimated, b.unknown = prices.Cost(u.CostUSD, model, tokens, worked)
	return b
}

// Bill is what a session that worked has used, at the price of its model.
func Bill(prices budget.Prices, u acp.Usage, model string) event.Usage {
	return *priced(prices, u, model, true).event()
}

// plus is what both used together.
func (b bill) plus(c bill) bill {
	sum := bill{used: b.used.Plus(c.used), estimated: b.estimated || c.estimated, unknown: b.unknown || c.unknown}
	if usd := sum.used.CostUSD; usd != nil {
		v := human.Exact(*usd)
		sum.used.CostUSD = &v
	}
	return sum
}

// same says that nothing was used in between.
func (b bill) same(c bill) bool {
	x, y := b.used.CostUSD, c.used.CostUSD
	b.used.CostUSD, c.used.CostUSD = nil, nil
	return b == c && (x == nil) == (y == nil) && (x == nil || *x == *y)
}

// note is the bill as it is stored; what nobody told is unknown, not 0.
func (b bill) note() dag.Note {
	n := dag.Note{CostUSD: b.used.CostUSD, Estimated: b.estimated, CostUnknown: &b.unknown}
	if b.used.Input+b.used.Output > 0 {
		n.TokensIn, n.TokensCached, n.TokensOut = toldOnly(b.used.Input), toldOnly(b.used.CacheRead), toldOnly(b.used.Output)
	}
	return n
}

// event is the bill as it is told.
func (b bill) event() *event.Usage {
	return &event.Usage{
		TokensIn: b.used.Input, TokensCached: b.used.CacheRead, TokensOut: b.used.Output,
		CostUSD: b.used.CostUSD, Estimated: b.estimated, Unknown: b.unknown,
	}
}

// bill is what the sessions of an attempt have used so far: the agent's, and those of
// judges, open or not.
func (a *attempt) bill() bill {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.billed()
}

// billed is bill for who holds the runner's lock.
func (a *attempt) billed() bill {
	sum := a.closed
	for key, session := range a.active {
		if strings.HasPrefix(key, a.claim.Attempt) {
			worked := (a.asked || key != a.claim.Attempt) && !free(session)
			sum = sum.plus(priced(a.opts.Prices, session.Usage(), a.modelOf(key, session), worked))
		}
	}
	return sum
}

// free says that a session cannot cost anything: an agent that only runs a script asks
// no model, and its silence about money is no gap in the bill.
func free(s Session) bool { return s.Evident() }

// modelOf is what a session's tokens are priced by: the model that it says it uses,
// else the one that it was asked for, or was to be.
func (a *attempt) modelOf(key string, s Session) string {
	m := s.Model()
	if model := cmp.Or(m.Effective, m.Requested); model != "" || key != a.claim.Attempt && a.opts.OwnJudge {
		return model
	}
	return a.choice.Model
}

// closing takes a session off the list of those that are open, and keeps what it
// used. Nothing was paid to a provider that only said it has no room.
func (a *attempt) closing(key, agent string, s Session, worked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, key)
	b := priced(a.opts.Prices, s.Usage(), a.modelOf(key, s), worked && !free(s))
	a.closed = a.closed.plus(b)
	model := s.Model().Effective
	if model == "" {
		model = s.Model().Requested
		if key == a.claim.Attempt || !a.opts.OwnJudge {
			model = a.choice.Model
		}
	}
	for i, other := range a.shares {
		if other.agent == agent && other.model == model {
			a.shares[i].bill = other.plus(b)
			return
		}
	}
	a.shares = append(a.shares, share{agent, model, b})
}

// share is what one agent with one model used.
type share struct {
	agent, model string
	bill
}

// split is who used what, the worker first; nil if all of it is the worker's.
func (a *attempt) split() []dag.Share {
	worker := func(s share) bool { return s.agent == a.agent && s.model == cmp.Or(a.model, a.choice.Model) }
	if len(a.shares) == 0 || len(a.shares) == 1 && worker(a.shares[0]) {
		return nil
	}
	list := []dag.Share{{Agent: a.agent, Model: cmp.Or(a.model, a.choice.Model)}} // it may have worked in an earlier attempt
	for _, s := range a.shares {
		n := s.note()
		one := dag.Share{
			Agent: s.agent, Model: s.model, TokensIn: n.TokensIn, TokensCached: n.TokensCached, TokensOut: n.TokensOut,
			CostUSD: n.CostUSD, Estimated: n.Estimated, Unknown: *n.CostUnknown,
		}
		if worker(s) {
			list[0] = one
		} else {
			list = append(list, one)
		}
	}
	return list
}
