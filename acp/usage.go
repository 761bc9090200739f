package acp

import "encoding/json"

// Usage is what was used. Counts are zero where the agent does not report them.
type Usage struct {
	Input      int64    `json:"inputTokens"` // without what came from a cache
	CacheRead  int64    `json:"cachedReadTokens"`
	CacheWrite int64    `json:"cachedWriteTokens"`
	Output     int64    `json:"outputTokens"`
	Total      int64    `json:"totalTokens"` // as the agent counts
	CostUSD    *float64 `json:"-"`           // nil when it is not known
}

// Plus is what both used together.
func (u Usage) Plus(v Usage) Usage {
	u.Input += v.Input
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.Output += v.Output
	u.Total += v.Total
	if v.CostUSD != nil {
		cost := *v.CostUSD
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		u.CostUSD = &cost
	}
	return u
}

// minus is what a count that only grows has grown by; a count that fell was
// started again.
func (u Usage) minus(v Usage) Usage {
	if u.Input < v.Input || u.Output < v.Output || u.CacheRead < v.CacheRead || u.CacheWrite < v.CacheWrite {
		return u
	}
	u.Input -= v.Input
	u.CacheRead -= v.CacheRead
	u.CacheWrite -= v.CacheWrite
	u.Output -= v.Output
	u.Total = max(u.Total-v.Total, 0)
	return u
}

func (u Usage) counted() bool { return u.Input+u.CacheRead+u.CacheWrite+u.Output+u.Total > 0 }

// meter counts a session's usage. Agents report cost as a sum of the session, in
// updates that may come late; tokens come with each answer, and from our own agent
// also while a turn lasts. What was handed out with a turn is not handed out again.
type meter struct {
	cumulative bool  // tokens are sums of the session, too
	tokens     Usage // the last sum reported, if so
	used       Usage // handed out so far
	turn       Usage // what this turn has used so far, if the agent says so before its answer
	context    int64 // the most that a request of this turn took

	cost     float64 // the last sum reported
	settled  float64 // of it, handed out, or paid before we came
	costSeen bool
}

// newMeter counts from what a session had cost before: agents go on with the sum
// of a session that is resumed.
func newMeter(cumulative bool, before float64) meter {
	return meter{cumulative: cumulative, cost: before, settled: before}
}

// slack is how much a sum may fall by being added up in another order.
const slack = 1e-6

// sum notes the cost of the session so far. A sum that fell was started again.
func (m *meter) sum(usd float64) {
	switch {
	case usd < 0:
		return
	case usd < m.cost*(1-slack):
		m.settled = 0
	case usd < m.cost:
		usd = m.cost
	}
	m.cost, m.costSeen = usd, true
}

// took notes what the last request took of the context. An agent that counts no
// tokens has then used at least as many.
func (m *meter) took(tokens int64) { m.context = max(m.context, tokens) }

// settle is what a turn that ended with this count has used. In a turn in which
// nothing was said or done the provider refused the request, unless it counts what
// came out; what the agent wanted to put in was not used then.
func (m *meter) settle(reported Usage, nothing bool) Usage {
	turn := reported
	switch {
	case reported.counted() && m.cumulative:
		turn, m.tokens = reported.minus(m.tokens), reported
	case reported.counted():
	case m.turn.counted():
		turn = m.turn
	default:
		turn = Usage{Input: m.context, Total: m.context}
	}
	if nothing && turn.Output == 0 {
		turn = Usage{}
	}
	m.turn, m.context = Usage{}, 0
	turn.CostUSD = nil
	if m.costSeen {
		cost := m.cost - m.settled
		turn.CostUSD = &cost
		m.settled = m.cost
	}
	m.used = m.used.Plus(turn)
	return turn
}

// total is everything so far, also what no turn has had yet.
func (m *meter) total() Usage {
	out := m.used.Plus(m.turn)
	if m.costSeen {
		late := m.cost - m.settled
		out = out.Plus(Usage{CostUSD: &late})
	}
	return out
}

// liveUsage reads what our own agent puts beside an update: the sum of the turn so far.
func liveUsage(meta json.RawMessage) Usage {
	var a struct {
		Ralph struct {
			Usage Usage `json:"usage"`
		} `json:"ralph"`
	}
	lenient(meta, &a)
	return a.Ralph.Usage.apart()
}

// apart is the count with what came from a cache apart from the input. Where the sum is
// that of input and output, it is among the input, and would be counted twice.
func (u Usage) apart() Usage {
	if cached := u.CacheRead + u.CacheWrite; u.Total == u.Input+u.Output && u.Input >= cached {
		u.Input -= cached
	}
	return u
}

// answerUsage reads the count that came with an answer to a prompt: the field
// of the protocol, or what one agent puts beside it.
func answerUsage(raw json.RawMessage) Usage {
	var a struct {
		Usage *Usage `json:"usage"`
		Meta  struct {
			Quota struct {
				Tokens struct {
					Input  int64 `json:"input_tokens"`
					Output int64 `json:"output_tokens"`
				} `json:"token_count"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	lenient(raw, &a)
	if a.Usage != nil {
		return a.Usage.apart()
	}
	q := a.Meta.Quota.Tokens
	return Usage{Input: q.Input, Output: q.Output, Total: q.Input + q.Output}
}
