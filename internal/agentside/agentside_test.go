package agentside

import (
	"context"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/testing/check"
)

func TestATurnIsTheOnlyOneAndEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	var turns Base
	ctx, end, err := turns.Begin(t.Context(), "s")
	check.OK(t, err)
	_, _, err = turns.Begin(t.Context(), "s")
	check.That(t, err != nil, "a session has two turns")
	_, endOther, err := turns.Begin(t.Context(), "other")
	check.OK(t, err)
	endOther()
	cancelled, cancel := context.WithCancel(t.Context())
	ctxThird, endThird, err := turns.Begin(cancelled, "third")
	check.OK(t, err)
	cancel() // as the SDK does for another prompt
	check.OK(t, ctxThird.Err())
	check.OK(t, turns.Cancel(t.Context(), acp.CancelNotification{SessionId: "third"}))
	check.That(t, ctxThird.Err() != nil, "a turn that was cancelled goes on")
	endThird()
	ctxLate, endLate, err := turns.Begin(cancelled, "late")
	check.OK(t, err)
	check.That(t, ctxLate.Err() != nil, "a turn that was cancelled before it began goes on")
	endLate()
	go func() {
		<-ctx.Done()
		end()
	}()
	turns.Stop()
	_, _, err = turns.Begin(t.Context(), "s")
	check.That(t, err != nil, "an agent that has stopped begins a turn")
}
