package render

import (
	"maps"
	"slices"

	"ralph/event"
)

// tally is what the footer needs to know of a run: little, however long it was.
type tally struct {
	setup    event.Setup
	counts   *event.Counts
	titles   map[string]string // of the tasks that run
	failures map[string]failure
	settled  int // attempts
}

type failure struct {
	task, title, reason string
	order               int
}

func (t *tally) add(e event.Event) {
	if e.Setup != nil {
		t.setup = *e.Setup
	}
	if e.Counts != nil {
		t.counts = e.Counts
	}
	switch e.Type {
	case event.TaskClaimed:
		if t.titles == nil {
			t.titles = map[string]string{}
		}
		t.titles[e.Task] = Line(e.Title)
	case event.AttemptEnded:
		t.settle(e)
	}
}

// settle keeps the last word on a task: one that failed may be reset and done
// while the run goes on.
func (t *tally) settle(e event.Event) {
	title := or(Line(e.Title), t.titles[e.Task])
	delete(t.titles, e.Task)
	delete(t.failures, e.Task)
	t.settled++
	if _, tone := Attempt(e.AttemptOutcome(), e.Status); tone != Bad {
		return
	}
	if t.failures == nil {
		t.failures = map[string]failure{}
	}
	reason, _ := First(e.Reason)
	t.failures[e.Task] = failure{task: Line(e.Task), title: title, reason: or(reason, "no reason given"), order: t.settled}
}

func (t *tally) failed() []failure {
	return slices.SortedFunc(maps.Values(t.failures), func(a, b failure) int { return a.order - b.order })
}

// countFailed goes by the graph when it is known: a person may have changed it.
func (t *tally) countFailed() int {
	if t.counts != nil {
		return t.counts.Failed
	}
	return len(t.failures)
}
