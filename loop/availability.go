package loop

import (
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/seq"
)

// availability is who can work now.
type availability struct {
	agent  string   // who takes tasks that bring no agent; "" if nobody can
	others []string // who could take them as well, in turn
	limits []dag.AgentLimit
	skip   dag.Skip
	spent  []budget.Finding // why features are skipped
}

// candidates lists who may work on tasks that bring no agent, in the order of preference.
func (s shared) candidates() []string {
	first := s.opts.Agents.Rotate
	if n := len(first); n > 0 {
		turn := (s.ledger.nextNumber() - 1) % n
		first = slices.Concat(first[turn:], first[:turn])
	}
	return s.ledger.usable(slices.Concat(first, []string{s.opts.Host.Setup.Agent}, s.opts.Agents.Fallback))
}

// findAvailable looks at which agents have met a limit, and which features have spent
// their money.
func (c *claimer) findAvailable(g *dag.Graph) (availability, error) {
	limits, err := c.limitsNow(g)
	if err != nil {
		return availability{}, err
	}
	c.mu.Lock()
	c.limits = limits
	c.mu.Unlock()
	out := availability{limits: limits, skip: dag.Skip{Agent: c.opts.Host.Setup.Agent, Tasks: c.ledger.skips()}}
	out.skip.Agents = seq.Map(limits, func(l dag.AgentLimit) string { return l.Agent })
	for _, name := range c.candidates() {
		switch {
		case slices.Contains(out.skip.Agents, name):
		case out.agent == "":
			out.agent, out.skip.Agent = name, name
		case slices.Contains(c.opts.Agents.Rotate, name):
			out.others = append(out.others, name)
		}
	}
	out.spent, err = c.spending.spentFeatures(g)
	out.skip.Features = seq.Map(out.spent, func(f budget.Finding) string { return f.Name })
	return out, err
}

// limitsNow lists the limits that this project knows, after those were added that others met.
func (c *claimer) limitsNow(g *dag.Graph) ([]dag.AgentLimit, error) {
	limits, err := g.Queue.AgentLimits()
	if err != nil || c.opts.Agents.OtherProjects == nil {
		return limits, err
	}
	added := false
	for _, l := range c.opts.Agents.OtherProjects.Limits(c.opts.Host.Now()) {
		if slices.ContainsFunc(limits, func(own dag.AgentLimit) bool { return own.Agent == l.Agent && !own.Until.Before(l.Until) }) {
			continue
		}
		if err := g.Queue.LimitAgent(l); err != nil {
			return nil, err
		}
		added = true
	}
	if added {
		return g.Queue.AgentLimits()
	}
	return limits, nil
}

// warnSubstitute says, once for each limit, that another agent continues.
func (c *claimer) warnSubstitute(who availability) {
	if who.agent == "" || who.agent == c.opts.Host.Setup.Agent || len(c.opts.Agents.Rotate) > 0 {
		return
	}
	for _, l := range who.limits {
		if l.Agent == c.opts.Host.Setup.Agent {
			c.bus.warnOnce("substitute\x00"+l.Agent+who.agent+l.Until.String(), fmt.Sprintf("%s is rate-limited until %s, and %s continues: %s",
				l.Agent, c.clock(l.Until), who.agent, l.Reason))
		}
	}
}

// limitFor is the limit that nothing can be done before, if that is what is waited
// for: tasks wait for it by name, or are ready and have nobody to work on them.
func (who availability) limitFor(held bool, next time.Time, waits []dag.AgentLimit) *dag.AgentLimit {
	for _, l := range slices.Concat(who.limits, waits) {
		if l.Until.Equal(next) {
			return &l
		}
	}
	if held && len(who.limits) > 0 && (next.IsZero() || who.limits[0].Until.Before(next)) {
		return &who.limits[0]
	}
	return nil
}

// waitForLimit is why the run ends instead of waiting for a limit; nothing if it waits.
func (c *claimer) waitForLimit(who availability, l dag.AgentLimit) ending {
	since := c.ledger.limitedFrom(c.opts.Host.Now())
	switch rule := c.opts.Limits.Wait; {
	case rule.Never:
		return ending{kind: event.OutcomeLimit, reason: c.limitedUntil(who, l)}
	case rule.Most > 0 && l.Until.Sub(since) > rule.Most:
		return ending{kind: event.OutcomeLimit, reason: fmt.Sprintf("%s; that is longer than %s", c.limitedUntil(who, l), rule.Most)}
	}
	return ending{}
}

func (c *claimer) limitedUntil(who availability, l dag.AgentLimit) string {
	return fmt.Sprintf("%s until %s: %s", who.limited(l), c.clock(l.Until), l.Reason)
}

// limited says that an agent is rate-limited, or may be if only a task waits for it.
func (who availability) limited(l dag.AgentLimit) string {
	if slices.Contains(who.limits, l) {
		return l.Agent + " is rate-limited"
	}
	return l.Agent + " may be rate-limited"
}

func (c *claimer) clock(t time.Time) string { return human.Moment(t, c.opts.Host.Now()) }
