package attempt

import (
	"strings"
	"sync"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/drift"
	"ralph/loop/policy"
	"ralph/strategy"
)

// watch counts what an agent does in its turns.
type watch struct {
	limits drift.Thresholds
	now    func() time.Time
	news   chan struct{} // something happened that may be too much
	fired  []string      // the detectors that fired

	mu    sync.Mutex
	stats drift.Stats
	ended map[string]bool // calls of this turn that have ended
	turn  bool            // the agent has a turn
	spare int64           // tokens that were forgiven
}

// newWatch counts on from the earlier attempts at a task since it was last reset.
func newWatch(j Job, now func() time.Time) *watch {
	w := &watch{limits: j.Drift, now: now, news: make(chan struct{}, 1)}
	w.stats.Iterations = 1
	for _, at := range counted(j.Task, j.History.Attempts) {
		w.stats.Iterations++
		if len(at.Files) == 0 {
			w.stats.Unchanged++
		} else {
			w.stats.Unchanged = 0
		}
	}
	return w
}

// counted are the attempts at a task since it was last reset that say something about it.
func counted(t dag.Task, attempts []dag.Attempt) (list []dag.Attempt) {
	for _, at := range attempts {
		if !at.EndedAt.IsZero() && !at.StartedAt.Before(t.StartedAt) && at.Outcome != event.AttemptLimited && at.Outcome != event.AttemptInterrupted {
			list = append(list, at)
		}
	}
	return list
}

// Drifted is how many attempts ended for drift since the task was last reset, and the
// tier that was not enough then.
func Drifted(t dag.Task, attempts []dag.Attempt) (n int, above strategy.Tier) {
	for _, at := range counted(t, attempts) {
		if at.Outcome == event.AttemptReleased && strings.HasPrefix(at.Reason, policy.DriftReason) {
			n++
			above, _ = strategy.ParseTier(at.Model)
		}
	}
	return n, above
}

// see takes in what a session reports. Of a verifier's only what it has used matters.
func (w *watch) see(e acp.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, usage := e.(acp.UsageSeen); !w.turn && !usage {
		return
	}
	switch e := e.(type) {
	case acp.ToolCall:
		w.tool(e)
	case acp.FileWritten:
		w.stats.Changed(w.now())
	case acp.UsageSeen:
	default:
		return
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// maxWatched is how many calls are distinguished in one turn.
const maxWatched = 1 << 16

// tool counts a call once it has ended. Agents report the end more than once.
func (w *watch) tool(e acp.ToolCall) {
	if e.New {
		w.stats.Started()
	}
	over := e.Status == "completed" || e.Status == "failed"
	if !over || w.ended[e.ID] || len(w.ended) > maxWatched {
		return
	}
	w.ended[e.ID] = true
	now := w.now()
	w.stats.Ended(drift.Call{Name: e.Title, Input: e.Input, Result: e.Result, Failed: e.Status == "failed"}, now)
	if e.Status == "completed" && (e.Kind == "edit" || e.Kind == "delete" || e.Kind == "move") {
		w.stats.Changed(now)
	}
}

// beginTurn starts to count, and returns what stops it.
func (w *watch) beginTurn() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.ended = true, map[string]bool{}
	w.stats.Begin(w.now())
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turn = false
	}
}

// during are the signs of drift in a turn. Iterations and changes count when the attempt
// is about to end.
func (w *watch) during(used acp.Usage) []drift.Signal {
	return w.check(used, func(s *drift.Stats) { s.Iterations, s.Unchanged = 0, 0 })
}

// atEnd are the signs of drift when an attempt is about to end without a result.
func (w *watch) atEnd(used acp.Usage, changed bool) []drift.Signal {
	return w.check(used, func(s *drift.Stats) {
		if s.Unchanged++; changed {
			s.Unchanged = 0
		}
	})
}

func (w *watch) check(used acp.Usage, adjust func(*drift.Stats)) []drift.Signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	stats := w.stats
	stats.Tokens = used.Input + used.Output - w.spare
	adjust(&stats)
	return drift.Check(stats, w.limits, w.now())
}

// forgive starts over: the agent is not blamed again for what came before.
func (w *watch) forgive(used acp.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = used.Input + used.Output
	w.stats.Forgive(w.now())
}
