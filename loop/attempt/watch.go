package attempt

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/event"
	"ralph/inbox"
	"ralph/internal/anomaly"
	"ralph/internal/drift"
	"ralph/internal/toolcall"
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
	calls int             // that have ended in the attempt
	turn  bool            // the agent has a turn
	spare int64           // tokens that were forgiven

	detector anomaly.Detector
	stops    bool              // what it finds cuts the turn; otherwise it is only reported
	signals  []drift.Signal    // what it found in this turn
	findings []string          // what it found in the attempt
	approved []string          // questions about anomalies to which a person said that they are what the task needs
	commands map[string]string // that it has seen, by call
	written  map[string]int    // files that ralph wrote for calls that have not ended

	called func(acp.ToolCall) // is told of calls that have ended; nil means nobody
}

// newWatch counts on from the earlier attempts at a task since it was last reset.
func newWatch(j Job, slot bool, now func() time.Time) *watch {
	w := &watch{limits: j.Drift, now: now, news: make(chan struct{}, 1), detector: anomaly.Detector{Limits: j.Anomaly.Limits, Paths: j.Task.Paths, Slot: slot}, stops: j.Anomaly.Stop || j.Anomaly.Ask}
	w.stats.Iterations = 1
	for _, r := range j.History.Answers {
		w.approve(r)
	}
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

// approve takes in an answer about something unusual, and says that a person wants it.
func (w *watch) approve(r inbox.Request) bool {
	if !strings.HasPrefix(r.Text, unusualQuestion) || r.Answer != needsUnusual {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.approved = append(w.approved, r.Text)
	return true
}

// counted are the attempts at a task since it was last reset that say something about it.
func counted(t dag.Task, attempts []dag.Attempt) (list []dag.Attempt) {
	for _, at := range attempts {
		if !at.EndedAt.IsZero() && !at.StartedAt.Before(t.StartedAt) && !at.Void() {
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

// see takes in what a session reports, and returns the anomalies in it. Of a verifier's only what it has used matters.
func (w *watch) see(e acp.Event) (found []anomaly.Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, usage := e.(acp.UsageSeen); !w.turn && !usage {
		return nil
	}
	switch e := e.(type) {
	case acp.ToolCall:
		found = w.checkCall(e)
		w.tool(e)
	case acp.FileWritten:
		w.written[e.Path]++
		found = w.detector.See(toolcall.Call{Kind: toolcall.Write, Paths: []string{e.Path}}, w.now())
		w.stats.Changed(w.now())
	case acp.TerminalOpened:
		if !slices.Contains(slices.Collect(maps.Values(w.commands)), e.Command) { // most agents report it, too
			found = w.checkCall(acp.ToolCall{ID: "terminal " + e.Command, Call: toolcall.Call{Kind: toolcall.Terminal, Command: e.Command}})
		}
	case acp.UsageSeen:
	default:
		return nil
	}
	found = slices.DeleteFunc(found, func(f anomaly.Finding) bool {
		return slices.ContainsFunc(w.approved, func(question string) bool { return strings.Contains(question, f.Text) })
	})
	for _, f := range found {
		if len(w.findings) < maxUnusual {
			w.findings = append(w.findings, f.Text)
		}
		if w.stops {
			w.signals = append(w.signals, drift.Signal{Kind: drift.Kind(f.Kind), Text: f.Text})
		}
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
	return found
}

// checkCall looks at a command as soon as it is known, because it can still be stopped, and at files when they were changed.
func (w *watch) checkCall(e acp.ToolCall) []anomaly.Finding {
	if e.Command != "" && w.commands[e.ID] != e.Command && len(w.commands) < maxWatched {
		w.commands[e.ID] = e.Command
		return w.detector.See(toolcall.Call{Kind: e.Kind, Command: e.Command}, w.now())
	}
	if e.Status != toolcall.Completed || w.ended[e.ID] || len(w.ended) > maxWatched {
		return nil
	}
	c := toolcall.Call{Kind: e.Kind}
	for _, path := range e.Paths {
		if w.written[path] > 0 { // it was counted
			w.written[path]--
		} else {
			c.Paths = append(c.Paths, path)
		}
	}
	if len(c.Paths) == 0 && len(e.Paths) > 0 {
		return nil
	}
	return w.detector.See(c, w.now())
}

// maxUnusual is how much of it the journal tells.
const maxUnusual = 10

func (w *watch) unusual() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.findings)
}

// steps is how many calls the agent has made in the attempt.
func (w *watch) steps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// maxWatched is how many calls are distinguished in one turn.
const maxWatched = 1 << 16

// tool counts a call once it has ended. Agents report the end more than once.
func (w *watch) tool(e acp.ToolCall) {
	if e.New {
		w.stats.Started()
	}
	if !toolcall.Over(e.Status) || w.ended[e.ID] || len(w.ended) > maxWatched {
		return
	}
	w.ended[e.ID] = true
	w.calls++
	if w.called != nil {
		w.called(e)
	}
	now := w.now()
	w.stats.Ended(drift.Call{Name: e.Title, Input: e.InputSum, Result: e.ResultSum, Failed: e.Status == toolcall.Failed}, now)
	if e.Status == toolcall.Completed && toolcall.Changes(e.Kind) {
		w.stats.Changed(now)
	}
}

// beginTurn starts to count, and returns what stops it.
func (w *watch) beginTurn() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.ended, w.commands, w.written, w.signals = true, map[string]bool{}, map[string]string{}, map[string]int{}, nil
	w.stats.Begin(w.now())
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turn = false
	}
}

// eachCall has a function told of each call that ends, until it is ended. The function must not wait.
func (w *watch) eachCall(called func(acp.ToolCall)) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called = called
	return func() { w.eachCall(nil) }
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
	return slices.Concat(w.signals, drift.Check(stats, w.limits, w.now()))
}

// forgive starts over: the agent is not blamed again for what came before.
func (w *watch) forgive(used acp.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare, w.signals = used.Input+used.Output, nil
	w.stats.Forgive(w.now())
}
