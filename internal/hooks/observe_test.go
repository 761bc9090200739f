package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ralph/internal/event"
	"ralph/internal/testing/check"
)

func TestEventsAreObservedAtTheirPoints(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		e    event.Event
		want []Point
	}{
		"done":         {event.Event{Type: event.AttemptEnded, Status: event.TaskDone, Outcome: "done"}, []Point{TaskDone}},
		"failed":       {event.Event{Type: event.AttemptEnded, Status: event.TaskFailed}, []Point{TaskFailed}},
		"gone":         {event.Event{Type: event.AttemptEnded, Status: event.TaskDeleted}, []Point{TaskCancelled}},
		"rate limit":   {event.Event{Type: event.AttemptEnded, Status: event.TaskPending, Outcome: "limited"}, []Point{LimitHit}},
		"budget":       {event.Event{Type: event.RunEnded, Outcome: "limit"}, []Point{LimitHit, RunAfter}},
		"the end":      {event.Event{Type: event.RunEnded, Outcome: "complete"}, []Point{RunAfter}},
		"a review":     {event.Event{Type: event.AttemptEnded, Status: event.TaskDone, Findings: []event.Finding{{}, {Task: "t-2"}}}, []Point{TaskCreated, TaskDone}},
		"an anomaly":   {event.Event{Type: event.Anomaly}, []Point{AnomalySeen}},
		"a question":   {event.Event{Type: event.Asked}, []Point{QuestionAsked}},
		"a claim":      {event.Event{Type: event.TaskClaimed}, nil},
		"its locks":    {event.Event{Type: event.TaskClaimed, Locks: []string{"db"}}, []Point{LockTaken}},
		"locks again":  {event.Event{Type: event.AttemptEnded, Status: event.TaskPending, Locks: []string{"db"}}, []Point{LockReleased}},
		"one is added": {event.Event{Type: event.TaskAdded}, []Point{TaskCreated}},
		"a try_lock":   {event.Event{Type: event.LocksChanged, Outcome: event.LocksTaken}, []Point{LockTaken}},
		"an unlock":    {event.Event{Type: event.LocksChanged, Outcome: event.LocksReleased}, []Point{LockReleased}},
		"a lesson":     {event.Event{Type: event.Learned}, []Point{LearningStored}},
		"drift":        {event.Event{Type: event.Drifted}, []Point{DriftSeen}},
		"a permit":     {event.Event{Type: event.AgentAsked}, []Point{PermissionDecided}},
		"landed":       {event.Event{Type: event.MergeLanded}, []Point{MergeAfter}},
		"plain words":  {event.Event{Type: event.AgentText}, nil},
	} {
		check.Equal(t, name, tc.want, Of(tc.e))
		for _, p := range tc.want {
			s, _ := find(p)
			check.That(t, slices.Equal(s.may, nil), "%s: nothing waits for %s, and it %s", name, p, s.does())
		}
	}
}

func TestObservingHooksNeverHoldUpTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := setIn(t, dir, Hook{On: TaskDone, Run: "sleep 1000", Timeout: time.Hour})
	hurry := make(chan os.Signal)
	o := w.Observe(hurry)
	for range 2 * maxWaiting { // returns although nothing is ever done with them
		o.Event(event.Event{Type: event.AttemptEnded, Status: event.TaskDone})
	}
	close(hurry)
	check.Err(t, "close", "nothing was run for 512 events", o.Close())
}

func TestWhatIsLeftIsObservedAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := setIn(t, dir, Hook{On: RunAfter, Run: `grep -o '"outcome":"complete"' >> seen`}, Hook{On: TaskDone, Run: "echo $RALPH_HOOK_TASK >> seen; exit 2"})
	o := w.Observe(nil)
	o.Event(event.Event{Type: event.AttemptEnded, Status: event.TaskDone, Task: "t-1"})
	o.Event(event.Event{Type: event.AttemptEnded, Status: event.TaskDone, Task: "t-2"})
	o.Event(event.Event{Type: event.RunEnded, Outcome: "complete"})
	check.Err(t, "close", `exit 2" on task.done: exit status 2 blocks, but a hook on task.done only observes (2 times)`, o.Close())
	seen, _ := os.ReadFile(filepath.Join(dir, "seen"))
	check.Equal(t, "seen", "t-1\nt-2\n\"outcome\":\"complete\"\n", string(seen))
}
