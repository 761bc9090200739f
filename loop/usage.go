package loop

import (
	"cmp"
	"strings"

	"ralph/acp"
	"ralph/budget"
	"ralph/dag"
	"ralph/event"
)

// priced is what one session used, at the price of its model. Whether it worked decides
// what it means if it reported nothing.
func priced(prices budget.Prices, u acp.Usage, model string, worked bool) event.Usage {
	out := event.Usage{TokensIn: u.Input, TokensCached: u.CacheRead, TokensOut: u.Output}
	tokens := budget.TokenUse{Input: u.Input + u.CacheWrite, Cached: u.CacheRead, Output: u.Output}
	out.CostUSD, out.Estimated, out.Unknown = prices.Cost(u.CostUSD, model, tokens, worked)
	return out
}

// usage is what the sessions of an attempt have used so far: the agent's, and those of
// verifiers, open or not.
func (a *attempt) usage() event.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usageLocked()
}

// usageLocked is usage for who holds the runner's lock.
func (a *attempt) usageLocked() event.Usage {
	sum := a.closed
	for key, session := range a.active {
		if strings.HasPrefix(key, a.claim.Attempt) {
			worked := (a.asked || key != a.claim.Attempt) && !free(session)
			sum = sum.Add(priced(a.opts.Prices, session.Usage(), a.modelOf(key, session), worked))
		}
	}
	return sum
}

// free says that a session cannot cost anything: an agent that only runs a script asks
// no model, and its silence about money is no gap in the sum.
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
// used. Nothing was paid to a provider that only answered with its rate limit.
func (a *attempt) closing(key, agent string, s Session, worked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, key)
	used := priced(a.opts.Prices, s.Usage(), a.modelOf(key, s), worked && !free(s))
	a.closed = a.closed.Add(used)
	model := s.Model().Effective
	if model == "" {
		model = s.Model().Requested
		if key == a.claim.Attempt || !a.opts.OwnJudge {
			model = a.choice.Model
		}
	}
	for i, other := range a.shares {
		if other.agent == agent && other.model == model {
			a.shares[i].Usage = other.Add(used)
			return
		}
	}
	a.shares = append(a.shares, share{agent, model, used})
}

// share is what one agent with one model used.
type share struct {
	agent, model string
	event.Usage
}

// split is who used what, the worker first; nil if all of it is the worker's.
func (a *attempt) split() []dag.Share {
	worker := func(s share) bool { return s.agent == a.agent && s.model == cmp.Or(a.model, a.choice.Model) }
	if len(a.shares) == 0 || len(a.shares) == 1 && worker(a.shares[0]) {
		return nil
	}
	list := []dag.Share{{Agent: a.agent, Model: cmp.Or(a.model, a.choice.Model)}} // it may have worked in an earlier attempt
	for _, s := range a.shares {
		one := dag.ShareOf(s.agent, s.model, s.Usage)
		if worker(s) {
			list[0] = one
		} else {
			list = append(list, one)
		}
	}
	return list
}
