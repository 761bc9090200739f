package loop

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/drift"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
)

// errDrifting cuts a turn short, so that the agent can be told.
type errDrifting struct{ signals []drift.Signal }

func (e errDrifting) Error() string { return "drift: " + drift.Texts(e.signals) }

// watch counts what an agent does in its turns.
type watch struct {
	mu    sync.Mutex
	stats drift.Stats
	ended map[string]bool // calls of this turn that have ended
	turn  bool            // the agent has a turn
	spare int64           // tokens that were forgiven
	news  chan struct{}   // something happened that may be too much
}

func newWatch() *watch { return &watch{news: make(chan struct{}, 1)} }

// see takes in what a session tells. Of a judge's only what it has used matters.
func (w *watch) see(e acp.Event, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, usage := e.(acp.UsageSeen); !w.turn && !usage {
		return
	}
	switch e := e.(type) {
	case acp.ToolCall:
		w.tool(e, now)
	case acp.FileWritten:
		w.stats.Changed(now)
	case acp.UsageSeen:
	default:
		return
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// tool counts a call once it has ended. Agents tell the end more than once.
func (w *watch) tool(e acp.ToolCall, now time.Time) {
	if e.New {
		w.stats.Started()
	}
	over := e.Status == "completed" || e.Status == "failed"
	if !over || w.ended[e.ID] || len(w.ended) > maxWatched {
		return
	}
	w.ended[e.ID] = true
	w.stats.Ended(drift.Call{Name: e.Title, Input: e.Input, Result: e.Result, Failed: e.Status == "failed"}, now)
	if e.Status == "completed" && (e.Kind == "edit" || e.Kind == "delete" || e.Kind == "move") {
		w.stats.Changed(now)
	}
}

// maxWatched is how many calls are told apart in one turn.
const maxWatched = 1 << 16

// say sends a prompt and guards the turn: it is cut short when a budget is passed
// or nothing comes of it.
func (a *attempt) say(ctx context.Context, text string) (acp.Turn, error) {
	a.watch.mu.Lock()
	a.watch.turn, a.watch.ended = true, map[string]bool{}
	a.watch.stats.Begin(a.opts.Now())
	a.watch.mu.Unlock()
	turn, cut, err := a.guard(a.inspect).Turn(ctx, a.session, text)
	a.watch.mu.Lock()
	a.watch.turn = false
	a.watch.mu.Unlock()
	f := &a.facts
	var drifting errDrifting
	f.Turn.Over, f.Turn.Cut, f.Turn.Drift = asOverspent(cut), false, nil
	if errors.As(cut, &drifting) && !turn.Completed() {
		f.Turn.Cut, f.Turn.Drift = true, drifting.signals
	}
	return turn, err
}

// guard is one that looks at every piece of news of the attempt.
func (a *attempt) guard(inspect func(context.Context) error) acp.Guard {
	return acp.Guard{Every: a.opts.Poll, News: a.watch.news, Inspect: inspect}
}

// inspect says why a turn may not go on, or nil.
func (a *attempt) inspect(ctx context.Context) error {
	if over := a.spentUp(ctx); over != nil {
		return errOverspent{*over}
	}
	used := a.session.Usage()
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	stats := a.watch.stats
	stats.Tokens = used.Input + used.Output - a.watch.spare
	stats.Iterations, stats.Unchanged = 0, 0 // those are judged when the attempt is about to end
	if signals := drift.Check(stats, a.opts.Drift, a.opts.Now()); len(signals) > 0 {
		return errDrifting{signals}
	}
	return nil
}

// recallDrift learns from earlier attempts at the task, since it was last reset,
// how often it was tried, whether anything came of it, and what was done about it.
func (a *attempt) recallDrift(ctx context.Context) error {
	var list []dag.Attempt
	err := a.opts.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) { list, err = g.Attempts(a.claim.Task); return err })
	if err != nil {
		return err
	}
	w := a.watch
	w.stats.Iterations = 1
	for _, at := range list {
		if at.EndedAt.IsZero() || at.StartedAt.Before(a.claim.Task.StartedAt) || at.Outcome == event.AttemptLimited || at.Outcome == event.AttemptInterrupted {
			continue
		}
		w.stats.Iterations++
		if len(at.Files) == 0 {
			w.stats.Unchanged++
		} else {
			w.stats.Unchanged = 0
		}
		if at.Outcome == event.AttemptReleased && strings.HasPrefix(at.Reason, policy.DriftReason) {
			a.facts.History.Drifted++
			a.above, _ = strategy.ParseTier(at.Model)
		}
	}
	return nil
}

// driftNow is what is wrong when an attempt is about to end without a result.
func (a *attempt) driftNow(ctx context.Context) []drift.Signal {
	used := a.session.Usage()
	a.watch.mu.Lock()
	stats := a.watch.stats
	stats.Tokens = used.Input + used.Output - a.watch.spare
	a.watch.mu.Unlock()
	if !a.before.Known || len(a.files) > 0 || a.touched(context.WithoutCancel(ctx)) {
		stats.Unchanged = 0 // or nobody can tell
	} else {
		stats.Unchanged++
	}
	return drift.Check(stats, a.opts.Drift, a.opts.Now())
}

// touched says that files of the project have changed since the attempt began.
func (a *attempt) touched(ctx context.Context) bool {
	if a.tree != "" {
		if _, err := a.take(ctx); err != nil {
			return true // nobody can tell
		}
	}
	return len(a.worked(ctx, a.look(ctx))) > 0
}

// noteDrift tells and keeps what fired, and what is done about it.
func (a *attempt) noteDrift(ctx context.Context, d policy.Decision) {
	rung := event.DriftNudge
	switch d.Action {
	case policy.Fail:
		rung = event.DriftGiveUp
	case policy.Release:
		rung = event.DriftStronger
	}
	a.drifts = append(a.drifts, drift.Kinds(a.facts.Turn.Drift)...)
	a.note(ctx, dag.Note{Drift: a.drifts})
	a.bus.emit(event.Event{
		Type: event.Drifted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt,
		Outcome: string(rung), Reason: drift.Texts(a.facts.Turn.Drift),
	})
}

// nudge is what an agent is told that gets nowhere. It is not judged again by what
// came before.
func (a *attempt) nudge() string {
	signs := make([]string, len(a.facts.Turn.Drift))
	for i, s := range a.facts.Turn.Drift {
		signs[i] = s.Text
	}
	used := a.session.Usage()
	a.watch.mu.Lock()
	a.watch.spare = used.Input + used.Output
	a.watch.stats.Forgive(a.opts.Now())
	a.watch.mu.Unlock()
	return prompt.Drift(prompt.DriftInput{TaskID: a.claim.Task.ID, Signs: signs, Inert: sigils.Inert})
}
