package watch

import (
	"testing"

	"ralph/dag"
)

// TestAWordForWhatCouldRun: what is finished costs no agent any more, so it is not
// merely ready.
func TestAWordForWhatCouldRun(t *testing.T) {
	t.Parallel()
	for want, task := range map[string]dag.Outline{
		"ready":      {Status: dag.Pending},
		"unverified": {Status: dag.Pending, Unverified: true},
		"paused":     {Status: dag.Pending, Unverified: true, Paused: true},
		"blocked":    {Status: dag.Blocked, Unverified: true},
	} {
		if got := new(model).face(task).words; got != want {
			t.Errorf("%+v: got %q, want %q", task, got, want)
		}
	}
}
