package agentside

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestATurnIsTheOnlyOneAndEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	var turns Turns
	ctx, end, err := turns.Begin(t.Context(), "s")
	check.OK(t, err)
	_, _, err = turns.Begin(t.Context(), "s")
	check.That(t, err != nil, "a session has two turns")
	_, endOther, err := turns.Begin(t.Context(), "other")
	check.OK(t, err)
	endOther()
	go func() {
		<-ctx.Done()
		end()
	}()
	turns.Stop()
	_, _, err = turns.Begin(t.Context(), "s")
	check.That(t, err != nil, "an agent that has stopped begins a turn")
}
