package report

import (
	"ralph/dag"
	"ralph/internal/render"
)

// steps chooses the commands to type by how the run ended and by what failed. What was
// put right since needs nothing.
func (r Run) steps() []render.Step {
	var open []render.Failed
	for _, f := range r.Failures {
		if f.Now == dag.Failed {
			open = append(open, f.failed())
		}
	}
	return render.Next(r.ID, r.Outcome, open, false)
}

func (f Failure) failed() render.Failed {
	return render.Failed{Task: f.Task, Reason: f.Reason, Ran: f.Attempt != ""}
}

// steps are for one failed task. What was put right since needs nothing.
func (f Failure) steps(run string) []render.Step {
	switch {
	case f.Now == dag.Failed:
		return f.failed().Next(run)
	case f.Attempt != "":
		return f.failed().Next(run)[:1]
	default:
		return nil
	}
}

// Headline says in one line how the run ended, or how it goes.
func (r Run) Headline() string {
	words, _ := render.Outcome(r.Outcome, r.Counts.Failed)
	return words
}

// Tone is how that is to be taken.
func (r Run) Tone() render.Tone {
	_, tone := render.Outcome(r.Outcome, r.Counts.Failed)
	return tone
}
