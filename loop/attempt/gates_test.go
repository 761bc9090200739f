package attempt

import (
	"testing"

	"ralph/internal/testing/check"
	"ralph/verify"
)

// TestLandingDoesNotWaitForGates that somebody else runs at the commit below: nobody could land meanwhile.
func TestLandingDoesNotWaitForGates(t *testing.T) {
	t.Parallel()
	var b Baselines
	_, err := b.of("below", []string{"known", "slow"}, func(command string) (verify.Result, error) {
		if command == "slow" { // it would never end if landing waited for it
			b.landed("below", "landed", []verify.Check{{Result: verify.Result{Command: "own", Passed: true}}})
		}
		return verify.Result{Command: command, Passed: true}, nil
	}, func([]verify.Result) error { return nil })
	check.OK(t, err)
	for command, want := range map[string]bool{"known": true, "own": true, "slow": false} {
		check.That(t, (b.known("landed", command) != nil) == want, "%s is known of what landed: want %v", command, want)
	}
}
