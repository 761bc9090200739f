package attempt

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/toolcall"
	"ralph/loop/policy"
	"ralph/strategy"
)

// watch counts what an agent does in its turns.
type watch struct {
	now   func() time.Time
	news  chan struct{} // something happened that may be too much
	fired []string      // the detectors that fired

	mu       sync.Mutex
	detector detect.Detector
	ended    map[string]bool // calls of this turn that have ended
	turn     bool            // the agent has a turn
	turns    int             // that it had
	calls    int             // of tools that have ended, in all turns
	spare    int64           // tokens that were forgiven

	findings []string          // anomalies of the attempt
	commands map[string]string // that it has seen, by call
	written  map[string]int    // files that ralph wrote for calls that have not ended

	called func(acp.ToolCall) // is told of calls that have ended; nil means nobody
}

// newWatch counts on from the earlier attempts at a task since it was last reset.
func newWatch(j Job, slot bool, now func() time.Time) *watch {
	w := &watch{now: now, news: make(chan struct{}, 1), detector: detect.Detector{Limits: j.Detect, Paths: j.Task.Paths, Slot: slot, Iterations: 1}}
	for _, r := range j.History.Answers {
		w.approve(r)
	}
	for _, at := range counted(j.Task, j.History.Attempts) {
		w.detector.Iterations++
		if len(at.Files) == 0 {
			w.detector.Unchanged++
		} else {
			w.detector.Unchanged = 0
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
	w.detector.Approved = append(w.detector.Approved, r.Text)
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
func (w *watch) see(e acp.Event) (found []detect.Signal) {
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
		w.detector.Changed(w.now())
	case acp.TerminalOpened:
		if !slices.Contains(slices.Collect(maps.Values(w.commands)), e.Command) { // most agents report it, too
			found = w.checkCall(acp.ToolCall{ID: "terminal " + e.Command, Call: toolcall.Call{Kind: toolcall.Terminal, Command: e.Command}})
		}
	case acp.UsageSeen:
	default:
		return nil
	}
	for _, f := range found {
		if len(w.findings) < maxUnusual {
			w.findings = append(w.findings, f.Text)
		}
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
	return found
}

// checkCall looks at a command as soon as it is known, because it can still be stopped, and at files when they were changed.
func (w *watch) checkCall(e acp.ToolCall) []detect.Signal {
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

// maxWatched is how many calls are distinguished in one turn.
const maxWatched = 1 << 16

// tool counts a call once it has ended. Agents report the end more than once.
func (w *watch) tool(e acp.ToolCall) {
	if e.New {
		w.detector.Started()
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
	w.detector.Ended(detect.Call{Name: e.Title, Input: e.InputSum, Result: e.ResultSum, Failed: e.Status == toolcall.Failed}, now)
	if e.Status == toolcall.Completed && toolcall.Changes(e.Kind) {
		w.detector.Changed(now)
	}
}

// steps are how many turns the agent had, and how many calls of tools ended in them.
func (w *watch) steps() (turns, calls int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turns, w.calls
}

// beginTurn starts to count, and returns what stops it.
func (w *watch) beginTurn() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.ended, w.commands, w.written = true, map[string]bool{}, map[string]string{}, map[string]int{}
	w.turns++
	w.detector.Begin(w.now())
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
func (w *watch) during(used acp.Usage) []detect.Signal {
	return w.check(used, func(d *detect.Detector) { d.Iterations, d.Unchanged = 0, 0 })
}

// atEnd are the signs of drift when an attempt is about to end without a result.
func (w *watch) atEnd(used acp.Usage, changed bool) []detect.Signal {
	return w.check(used, func(d *detect.Detector) {
		if d.Unchanged++; changed {
			d.Unchanged = 0
		}
	})
}

func (w *watch) check(used acp.Usage, adjust func(*detect.Detector)) []detect.Signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.detector
	d.Tokens = used.Input + used.Output - w.spare
	adjust(&d)
	return d.Check(w.now())
}

// forgive starts over: the agent is not blamed again for what came before.
func (w *watch) forgive(used acp.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = used.Input + used.Output
	w.detector.Forgive(w.now())
}
