package hooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/outbox"
)

// Of maps an event to the points at which it is observed. It is the only place that does.
func Of(e event.Event) (at []Point) {
	switch e.Type {
	case event.MergeLanded:
		return []Point{MergeAfter}
	case event.TaskClaimed:
		if len(e.Locks) > 0 {
			at = append(at, LockTaken)
		}
		return at
	case event.LocksChanged:
		if e.Outcome == event.LocksReleased {
			return []Point{LockReleased}
		}
		return []Point{LockTaken}
	case event.TaskAdded:
		return []Point{TaskCreated}
	case event.Asked:
		return []Point{QuestionAsked}
	case event.Learned:
		return []Point{LearningStored}
	case event.AgentAsked:
		return []Point{PermissionDecided}
	case event.Drifted:
		return []Point{DriftSeen}
	case event.Anomaly:
		return []Point{AnomalySeen}
	case event.RunEnded:
		if e.RunOutcome() == event.OutcomeLimit {
			at = append(at, LimitHit)
		}
		return append(at, RunAfter)
	case event.AttemptEnded:
		return attemptEnded(e)
	}
	return nil
}

func attemptEnded(e event.Event) (at []Point) {
	for _, f := range e.Findings {
		if f.Task != "" {
			at = append(at, TaskCreated)
			break
		}
	}
	if len(e.Locks) > 0 {
		at = append(at, LockReleased)
	}
	if e.AttemptOutcome() == event.AttemptLimited {
		at = append(at, LimitHit)
	}
	switch e.Status {
	case event.TaskDone:
		at = append(at, TaskDone)
	case event.TaskFailed:
		at = append(at, TaskFailed)
	case event.TaskDeleted, event.TaskCancelled:
		at = append(at, TaskCancelled)
	}
	return at
}

// OfCommand maps the command by which a person changes a task to the point at which that is observed, or "".
func OfCommand(name string) Point {
	return map[string]Point{
		"add": TaskCreated, "import": TaskCreated, "plan": TaskCreated, "pause": TaskPaused, "stop": TaskPaused, "resume": TaskResumed, "delete": TaskCancelled, "cancel": TaskCancelled, "done": TaskDone, "fail": TaskFailed,
	}[name]
}

// Observer runs the hooks of points that are only observed, from a goroutine of its own. It
// never holds up a run.
type Observer struct {
	set   *Set
	box   *outbox.Outbox[Payload]
	flush time.Duration
	hurry <-chan os.Signal

	mu       sync.Mutex
	problems map[string]int // how often
}

// Bounds of what waits for observing hooks.
const (
	maxWaiting  = 256
	maxProblems = 20
	killing     = 2 * time.Second
)

// Observe starts an Observer. At the end it takes as long as the slowest hook may for what is
// left, or until a signal of hurry.
func (s *Set) Observe(hurry <-chan os.Signal) *Observer {
	o := &Observer{set: s, hurry: hurry, problems: map[string]int{}}
	most := time.Duration(0)
	for _, h := range s.hooks {
		most += h.timeout()
		if len(h.may) == 0 {
			o.flush = max(o.flush, h.timeout())
		}
	}
	o.box = outbox.New(outbox.Options[Payload]{
		Size: maxWaiting, Tries: 1, Timeout: most + killing, Send: func(ctx context.Context, p Payload) error {
			o.note(s.Run(ctx, p).Problems)
			return ctx.Err()
		},
	})
	return o
}

// Event puts what hooks observe of an event into their queue.
func (o *Observer) Event(e event.Event) {
	for _, p := range Of(e) {
		if o.set.Has(p) {
			o.box.Put(Payload{Point: p, At: e.At, Run: e.Run, Task: e.Task, Title: e.Title, Attempt: e.Attempt, Event: &e})
		}
	}
}

func (o *Observer) note(problems []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, text := range problems {
		if o.problems[text] > 0 || len(o.problems) < maxProblems {
			o.problems[text]++
		}
	}
}

// Close waits for what is left, and says which hooks did not do what they should and what none
// was run for.
func (o *Observer) Close() error {
	o.box.Close()
	over := time.NewTimer(o.flush)
	defer over.Stop()
	select {
	case <-o.box.Done():
	case <-over.C:
	case <-o.hurry:
	}
	_, missing, _ := o.box.Count()
	o.box.Stop()
	select {
	case <-o.box.Done():
	case <-time.After(killing):
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, text := range slices.Sorted(maps.Keys(o.problems)) {
		if n := o.problems[text]; n > 1 {
			text += fmt.Sprintf(" (%d times)", n)
		}
		errs = append(errs, errors.New(text))
	}
	if missing > 0 {
		errs = append(errs, fmt.Errorf("hooks: nothing was run for %s: hooks were too slow", human.Count(missing, "event")))
	}
	return errors.Join(errs...)
}
