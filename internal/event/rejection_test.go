package event_test

import (
	"testing"

	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// TestNothingHelpsWhatIsOver: a rejection does not matter once the task is done or gone.
func TestNothingHelpsWhatIsOver(t *testing.T) {
	t.Parallel()
	for status, want := range map[event.TaskStatus]string{event.TaskFailed: "ralph task accept t-1", event.TaskDone: "", event.TaskDeleted: ""} {
		command, _ := event.RejectedTampering.Remedy("t-1", status)
		check.Equal(t, string(status), want, command)
	}
	command, _ := event.Rejection("").Remedy("t-1", event.TaskFailed)
	check.Equal(t, "without a rejection", "", command)
}
