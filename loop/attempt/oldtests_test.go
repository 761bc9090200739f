package attempt

import (
	"testing"

	"ralph/internal/testing/check"
	"ralph/verify"
)

// TestAGateRefusesInACopy what it accepted before, and not what it never accepted.
func TestAGateRefusesInACopy(t *testing.T) {
	t.Parallel()
	green, red := verify.Result{Passed: true}, func(failures string) verify.Result { return verify.Result{Failures: failures} }
	excused := func(before, now string) verify.Check {
		was := red(before)
		return verify.Check{Before: &was, Result: red(now)}
	}
	wasRed := red("a")
	tests := map[string]struct {
		check verify.Check
		in    verify.Result
		want  bool
	}{
		"green is green":                              {verify.Check{Result: green}, green, false},
		"what was green is red":                       {verify.Check{Result: green}, red("a"), true},
		"what turned green is red again":              {verify.Check{Result: green, Before: &wasRed}, red("a"), true},
		"what is excused may be green":                {excused("a", "a"), green, false},
		"what is excused has the old failure":         {excused("a\nb", "a"), red("b"), false},
		"what is excused has the failure of the work": {excused("a\nb", "b"), red("b"), false},
		"what is excused has a new failure":           {excused("a\nb", "a"), red("a\nc"), true},
		"what is excused does not end":                {excused("a", "a"), verify.Result{Failures: "a", Killed: true}, true},
	}
	for name, tt := range tests {
		check.That(t, refuses(tt.check, tt.in) == tt.want, "%s: want %t", name, tt.want)
	}
}
