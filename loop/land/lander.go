// Package land takes the finished work of a run to its target. It knows neither agents nor how work is judged.
package land

import (
	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/slot"
	"ralph/internal/wake"
	"ralph/verify"
)

// Options say where finished work lands, if agents do not work in the project's own folder.
type Options struct {
	Repo    *git.Repo // nil: they do
	Slots   *slot.Pool
	Target  string   // a full ref name, or merge.HeadRef
	Remote  string   // where other machines get the code and leave their work; "" if they do not
	Window  int      // how many candidates are tested at once; 0 means as many as keep the processors busy
	Review  bool     // a person looks at all work before it lands
	Above   *float64 // or at what is riskier than that; nil: at none
	Protect []string // globs: what decides whether work is accepted, here and in CI
	Cut     bool     // a turn ends if the target moves so that its work conflicts
	// Gates runs gates in a room as long as it shows the same. End removes what they left in other places.
	Gates func(slot.Room) (gates verify.Gates, end func() error, err error)
}

// name is the target as people call it.
func (o Options) name() string { return human.Branch(o.Target) }

// Lander lands the work of one run.
type Lander struct {
	Options
	Store  *dag.Store
	Run    *dag.Run
	Runs   string   // where the folders of runs are
	Checks []string // the gates of every task
	Skip   bool     // nothing is checked
	Redact *redact.Redactor
	Signal *wake.Signal // that the queue or the target has changed
	Tell   func(event.Event)

	tip   tip
	ahead ahead
}

func (l *Lander) warn(task, text string) {
	l.Tell(event.Event{Type: event.Warned, Task: task, Text: text})
}
