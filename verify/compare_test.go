package verify_test

import (
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/verify"
)

// TestAGateThatIsToFail has to fail by itself, and because of the work.
func TestAGateThatIsToFail(t *testing.T) {
	t.Parallel()
	green, red := verify.Result{Passed: true}, verify.Result{Failures: "FAIL a"}
	more := verify.Result{Failures: "FAIL a\nFAIL b"}
	for name, c := range map[string]struct {
		now    verify.Result
		before *verify.Result
		want   event.GateVerdict
	}{
		"it was green":                      {red, &green, event.GateExpected},
		"nobody knows what it was":          {red, nil, event.GateExpected},
		"it was red, and more fails now":    {more, &red, event.GateExpected},
		"it was just as red":                {red, &red, event.GateFailed},
		"it still passes":                   {green, &green, event.GateFailed},
		"it passes now":                     {green, &red, event.GateFailed},
		"it ran out of time":                {verify.Result{Killed: true}, &green, event.GateFailed},
		"it ran out of time as it did once": {verify.Result{Killed: true}, &verify.Result{Killed: true}, event.GateFailed},
	} {
		for _, own := range []bool{false, true} {
			check.Equal(t, name, c.want, verify.Check{Result: c.now, Before: c.before, Own: own, ExpectRed: true}.Verdict())
		}
	}
}
