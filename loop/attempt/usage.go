package attempt

import (
	"cmp"
	"slices"
	"sync"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
)

// meter adds up what the sessions of an attempt use, the agent's and those of verifiers.
type meter struct {
	prices budget.Prices
	report func(Used)

	mu     sync.Mutex
	open   []*metered
	closed event.Usage
	shares []share
}

// metered is an open session.
type metered struct {
	Session
	agent   string
	asked   string // the model it was asked for; "" if that is the verifier's own
	own     bool   // it is the attempt's agent
	another bool   // it is another agent than the attempt's
	worked  bool   // it was sent a prompt
}

// share is what one agent with one model used.
type share struct {
	agent, model string
	used         event.Usage
}

// used is what the session has used so far, at the price of its model. Whether it worked
// decides what it means if nothing was reported.
func (s *metered) used(prices budget.Prices, worked bool) event.Usage {
	m, u := s.Model(), s.Usage()
	model := cmp.Or(m.Effective, m.Requested)
	if !s.another {
		model = cmp.Or(model, s.asked)
	}
	free := s.Evident() // it only runs a script and asks no model: its silence about money is no gap
	e := event.Usage{TokensIn: u.Input + u.CacheWrite, TokensCached: u.CacheRead, TokensOut: u.Output, CostUSD: u.CostUSD}
	return prices.Charge(e, model, worked && !free)
}

// resume begins with what an attempt has used on another machine.
func (m *meter) resume(u AgentUse, model string) {
	m.closed = u.Usage
	for _, s := range u.Shares {
		used := event.Usage{TokensIn: s.TokensIn, TokensCached: s.TokensCached, TokensOut: s.TokensOut, CostUSD: s.CostUSD, Estimated: s.Estimated, Unknown: s.Unknown}
		m.shares = append(m.shares, share{s.Agent, s.Model, used})
	}
	if len(u.Shares) == 0 {
		m.shares = []share{{u.Name, cmp.Or(u.Model, model), u.Usage}}
	}
}

func (m *meter) add(s *metered) {
	m.mu.Lock()
	m.open = append(m.open, s)
	m.mu.Unlock()
}

// tell reports what all sessions have used so far, and returns it. The lock is held
// meanwhile: of two that report, the later must not have the older sum.
func (m *meter) tell() event.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum, usd := m.closed, (*float64)(nil)
	for _, s := range m.open {
		sum = sum.Add(s.used(m.prices, s.worked))
		if s.own {
			usd = s.SessionUSD()
		}
	}
	m.report(Used{sum, usd})
	return sum
}

// prompted notes that a session was sent a prompt: from now on it costs something.
func (m *meter) prompted(s *metered) {
	m.mu.Lock()
	s.worked = true
	m.mu.Unlock()
}

// close takes a session off the list and keeps what it used.
func (m *meter) close(s *metered, worked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = slices.DeleteFunc(m.open, func(other *metered) bool { return other == s })
	used := s.used(m.prices, worked)
	m.closed = m.closed.Add(used)
	model := s.Model().Effective
	if model == "" {
		model = s.asked
		if s.another {
			model = s.Model().Requested
		}
	}
	for i, other := range m.shares {
		if other.agent == s.agent && other.model == model {
			m.shares[i].used = other.used.Add(used)
			return
		}
	}
	m.shares = append(m.shares, share{s.agent, model, used})
}

// abandon ends the sessions that a panic has left open.
func (m *meter) abandon() {
	for _, s := range slices.Clone(m.open) {
		_ = s.Close() // the panic is what is reported
		m.close(s, s.worked)
		m.tell()
	}
}

// split is who used what, the worker first; nil if all of it is the worker's.
func (m *meter) split(agent, model string) []dag.Share {
	worker := func(s share) bool { return s.agent == agent && s.model == model }
	if len(m.shares) == 0 || len(m.shares) == 1 && worker(m.shares[0]) {
		return nil
	}
	list := []dag.Share{{Agent: agent, Model: model}} // it may have worked in an earlier attempt
	for _, s := range m.shares {
		one := dag.ShareOf(s.agent, s.model, s.used)
		if worker(s) {
			list[0] = one
		} else {
			list = append(list, one)
		}
	}
	return list
}
