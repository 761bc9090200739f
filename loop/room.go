package loop

import (
	"fmt"
	"slices"
	"time"

	"ralph/budget"
	"ralph/dag"
	"ralph/event"
)

// room is who can work now.
type room struct {
	worker string // who takes tasks that bring no agent; "" if nobody can
	limits []dag.AgentLimit
	skip   dag.Skip
	spent  []budget.Finding // why features are skipped
}

// candidates lists who may work on tasks that bring no agent, in the order of preference.
func candidates(opts *Options, l *ledger) []string {
	return l.usable(append([]string{opts.Host.Setup.Agent}, opts.Agents.Fallback...))
}

// findRoom looks at which agents have met a limit, and which features have spent
// their money.
func (r *Runner) findRoom(g *dag.Graph) (room, error) {
	limits, err := g.AgentLimits()
	if err != nil {
		return room{}, err
	}
	r.mu.Lock()
	r.limits = limits
	r.mu.Unlock()
	out := room{limits: limits, skip: dag.Skip{Agent: r.opts.Host.Setup.Agent, Tasks: r.ledger.skips()}}
	for _, l := range limits {
		out.skip.Agents = append(out.skip.Agents, l.Agent)
	}
	for _, name := range candidates(&r.opts, &r.ledger) {
		if !slices.Contains(out.skip.Agents, name) {
			out.worker, out.skip.Agent = name, name
			break
		}
	}
	out.spent, err = r.spentFeatures(g)
	for _, f := range out.spent {
		out.skip.Features = append(out.skip.Features, f.Name)
	}
	return out, err
}

// tellSubstitute says, once for each limit, that another agent goes on.
func (r *Runner) tellSubstitute(room room) {
	if room.worker == "" || room.worker == r.opts.Host.Setup.Agent {
		return
	}
	for _, l := range room.limits {
		if l.Agent == r.opts.Host.Setup.Agent {
			r.bus.warnOnce("substitute\x00"+l.Agent+room.worker+l.Until.String(), fmt.Sprintf("%s has no room until %s, and %s goes on: %s",
				l.Agent, r.clock(l.Until), room.worker, l.Reason))
		}
	}
}

// limitFor is the limit that nothing can be done before, if that is what is waited
// for: tasks wait for it by name, or are ready and have nobody to work on them.
func (rm room) limitFor(held bool, next time.Time, waits []dag.AgentLimit) *dag.AgentLimit {
	for _, l := range slices.Concat(rm.limits, waits) {
		if l.Until.Equal(next) {
			return &l
		}
	}
	if held && len(rm.limits) > 0 && (next.IsZero() || rm.limits[0].Until.Before(next)) {
		return &rm.limits[0]
	}
	return nil
}

// patience says whether a limit is waited for, and if not, why the run ends.
func (r *Runner) patience(l dag.AgentLimit) (ending, bool) {
	since := r.ledger.limitedFrom(r.opts.Host.Now())
	reason := r.noRoom(l)
	switch rule := r.opts.Limits.Wait; {
	case rule.Never:
		return ending{kind: event.OutcomeLimit, reason: reason}, false
	case rule.Most > 0 && l.Until.Sub(since) > rule.Most:
		return ending{kind: event.OutcomeLimit, reason: fmt.Sprintf("%s; that is longer than %s", reason, rule.Most)}, false
	}
	return ending{}, true
}

func (r *Runner) noRoom(l dag.AgentLimit) string {
	return fmt.Sprintf("%s until %s: %s", r.lacks(l), r.clock(l.Until), l.Reason)
}

// lacks says that an agent has met a limit, or may have met one if only a task waits
// for it.
func (r *Runner) lacks(l dag.AgentLimit) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.limits, l) {
		return l.Agent + " has no room"
	}
	return l.Agent + " may be rate limited"
}

// clock writes a moment as short as it is clear.
func (r *Runner) clock(t time.Time) string {
	now := r.opts.Host.Now()
	t = t.In(now.Location())
	switch {
	case t.Sub(now) < time.Minute:
		return t.Format(time.TimeOnly)
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	default:
		return t.Format("Mon 2 Jan 15:04")
	}
}
