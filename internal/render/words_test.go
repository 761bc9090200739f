package render

import (
	"testing"

	"ralph/event"
)

func TestAReasonThatSaysTheSameIsNotRepeated(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]event.Event{
		"interrupted in 3s":                {Outcome: "interrupted", Status: "pending", Reason: "interrupted", Duration: 3000},
		"interrupted in 3s: stopped by me": {Outcome: "interrupted", Status: "pending", Reason: "stopped by me", Duration: 3000},
	} {
		if got, _, _ := ended(e, &attempt{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
