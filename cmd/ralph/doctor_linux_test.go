package main

import (
	"strings"
	"testing"

	"ralph/internal/fakeagent"
)

// TestTheDoctorSaysWhomItWaitsFor on a terminal: an agent may be slow to answer.
func TestTheDoctorSaysWhomItWaitsFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	screen := p.onTerminal(t, "doctor")
	screen.wait(t, 0)
	eventually(t, "all is shown", func() bool { return strings.Contains(screen.screen(), "leftovers") })
	asked, answered := strings.Index(screen.screen(), "asking fake who it is, for at most 1m00s"), strings.Index(screen.screen(), "fake answers")
	if asked < 0 || answered < asked {
		t.Errorf("got %s", screen.screen())
	}
}
