package render_test

import (
	"testing"

	"ralph/internal/event"
	"ralph/internal/render"
	"ralph/internal/testing/check"
)

// TestWhatHelpsIsSaidForEveryRejection: to run tasks again would have their work done, and paid for, twice.
func TestWhatHelpsIsSaidForEveryRejection(t *testing.T) {
	t.Parallel()
	commands := func(list ...render.Failed) (all []string) {
		for _, s := range render.Next("r-1", event.OutcomeComplete, "", 0, list, false) {
			all = append(all, s.Command)
		}
		return all
	}
	one, two := render.Failed{Task: "t-1", Rejected: event.RejectedTampering}, render.Failed{Task: "t-2", Rejected: event.RejectedUnchanged}
	check.Equal(t, "of two", []string{"ralph logs t-1", "ralph task accept t-1", "ralph task done t-2"}, commands(one, two))
	check.Equal(t, "of two and another", []string{"ralph logs t-1", "ralph task accept t-1", "ralph task reset --failed && ralph run --continue r-1"},
		commands(one, render.Failed{Task: "t-3", Rejected: event.RejectedGate}))
}
