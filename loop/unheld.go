package loop

import (
	"errors"

	"ralph/dag"
	"ralph/event"
	"ralph/loop/policy"
)

// because says in the reason what became of a task that is no longer ours, because only
// that explains why its agent was ended.
func (a *attempt) because(g *dag.Graph, d policy.Decision) (policy.Decision, error) {
	if d.Action != policy.Abort || d.Reason != errLost.Error() {
		return d, nil
	}
	t, err := g.Task(a.claim.Task.ID)
	if errors.Is(err, dag.ErrNotFound) {
		d.Reason = "it was deleted meanwhile"
		return d, nil
	}
	if err != nil {
		return d, err
	}
	switch t.Status {
	case dag.Done:
		d.Reason = "it was marked as done meanwhile"
	case dag.Blocked:
		d.Reason = "it was blocked meanwhile"
	case dag.Pending:
		d.Reason = "it was reset meanwhile"
	case dag.Failed:
		d.Reason, err = g.LastFailure(t) // what the person said
	case dag.InProgress: // another run is at it by now
	}
	return d, err
}

// unstored is what is told of an attempt whose end could not be stored: nothing of it
// counts, and its task is still claimed.
func unstored(err error) (policy.Decision, dag.Status) {
	return policy.Decision{Action: policy.Abort, Outcome: event.AttemptError, Reason: "what came of it could not be stored: " + err.Error(), Uncounted: true}, dag.InProgress
}
