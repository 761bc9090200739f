package watch

import (
	"time"

	"ralph/dag"
)

type snapshot struct {
	run      dag.Run // the zero Run if there is none yet
	state    state   // of the run
	others   int     // runs that are under way beside it
	paused   time.Time
	tally    dag.Tally
	tasks    []dag.Outline
	attempts []dag.Attempt // under way, of all runs
	tokens   int64         // of the run, as the next one
	spent    dag.Usage
}

type state string

// The states of a run.
const (
	none     state = ""
	running  state = "running"
	stopping state = "stopping"
	died     state = "died"
	ended    state = "ended"
)

// look reads a snapshot. A run that was asked for is kept to; else it is the one
// under way that began last, or the last one.
func look(g *dag.Graph, wanted string, life func(dag.Process) dag.Life) (s snapshot, err error) {
	open, err := g.OpenRuns()
	if err != nil {
		return s, err
	}
	if s.run, err = which(g, wanted, open); err != nil {
		return s, err
	}
	control, err := g.Control(s.run.ID)
	if err != nil {
		return s, err
	}
	s.paused, s.state = control.PausedAt, stateOf(s.run, control, life)
	alive := map[string]bool{}
	for _, r := range open {
		if life(r.Process) != dag.Dead {
			alive[r.ID] = true
			if r.ID != s.run.ID {
				s.others++
			}
		}
	}
	if s.tasks, err = g.Outline(s.run.Scope); err != nil {
		return s, err
	}
	if s.tally, err = tally(g, s.run.Scope, s.tasks); err != nil {
		return s, err
	}
	attempts, err := g.OpenAttempts()
	if err != nil {
		return s, err
	}
	for _, a := range attempts {
		if alive[a.Run] && (wanted == "" || a.Run == wanted) {
			s.attempts = append(s.attempts, a)
		}
	}
	if s.run.ID == "" {
		return s, nil
	}
	s.spent, err = g.RunUsage(s.run.ID)
	s.tokens = s.spent.Tokens()
	return s, err
}

// tally counts a scope, which may be gone by now.
func tally(g *dag.Graph, scope dag.Scope, tasks []dag.Outline) (dag.Tally, error) {
	if len(tasks) == 0 {
		return dag.Tally{}, nil
	}
	return g.Tally(scope)
}

func which(g *dag.Graph, wanted string, open []dag.Run) (dag.Run, error) {
	if wanted != "" {
		return g.ResolveRun(wanted)
	}
	if len(open) > 0 {
		return open[len(open)-1], nil
	}
	last, err := g.Runs(1)
	if err != nil || len(last) == 0 {
		return dag.Run{}, err
	}
	return last[0], nil
}

func stateOf(r dag.Run, c dag.Control, life func(dag.Process) dag.Life) state {
	switch {
	case r.ID == "":
		return none
	case !r.EndedAt.IsZero():
		return ended
	case life(r.Process) == dag.Dead:
		return died
	case c.Stop != "":
		return stopping
	default:
		return running
	}
}

type detail struct {
	task     string
	about    string       // its description
	attempt  *dag.Attempt // the newest one, if there is one
	attempts int          // so far
	reasons  []dag.Reason // why it does not run
	wish     string       // what a person last said to it
}

func study(g *dag.Graph, id string) (detail, error) {
	d := detail{task: id}
	t, err := g.Task(id)
	if err != nil {
		return d, err
	}
	d.about = t.Description
	if d.reasons, err = g.Why(t); err != nil {
		return d, err
	}
	attempts, err := g.Attempts(t)
	if err != nil {
		return d, err
	}
	if d.attempts = len(attempts); d.attempts > 0 {
		d.attempt = &attempts[d.attempts-1]
	}
	logs, err := g.Logs(t)
	for _, l := range logs {
		if l.Kind == dag.LogUser {
			d.wish = l.Text
		}
	}
	return d, err
}
