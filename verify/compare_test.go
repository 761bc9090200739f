package verify_test

import (
	"io"
	"os"
	"testing"

	"ralph/internal/event"
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

// TestOnlyAllowedFailuresAreExcused, by their names: a summary is the same for all.
func TestOnlyAllowedFailuresAreExcused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed, now string // what a gate prints
		excused      bool
		named        bool
	}{
		"the same test":            {"--- FAIL: TestV1 (0.01s)\n", "--- FAIL: TestV1 (0.20s)\n", true, true},
		"one with another number":  {"--- FAIL: TestV1 (0.01s)\n", "--- FAIL: TestV2 (0.01s)\n", false, true},
		"fewer":                    {"FAILED a.py::test_1\nFAILED a.py::test_2\n", "FAILED a.py::test_2\n", true, true},
		"one more":                 {"test a1 ... FAILED\n", "test a1 ... FAILED\ntest a2 ... FAILED\n", false, true},
		"a place in a file":        {"a.go:3:1: undefined: x\n", "a.go:9:1: undefined: x\n", true, true},
		"nothing is named":         {"no packages to test\n", "no packages to test\n", true, false},
		"a summary names nothing":  {"FAIL\nmake: *** [Makefile:2: test] Error 1\n", "FAIL\nmake: *** [Makefile:2: test] Error 1\n", true, false},
		"a name where none was":    {"FAIL\n", "--- FAIL: TestA (0.00s)\nFAIL\n", false, true},
		"counts name nothing":      {"FAILED (failures=1)\n", "FAILED (failures=2)\n", true, false},
		"nothing where a name was": {"--- FAIL: TestA (0.00s)\n", "exit\n", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := func(text string) verify.Result {
				res, err := verify.Gates{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}.Run(t.Context(), "cat <<'E'; exit 1\n"+text+"E\n", io.Discard)
				check.OK(t, err)
				return res
			}
			now := gate(c.now)
			got := verify.Check{Result: now, Allowed: &verify.Allowed{Failures: gate(c.allowed).Failures}}
			check.Equal(t, "excused", c.excused, got.Verdict() == event.GateExcused)
			check.Equal(t, "named", c.named, now.Named())
			check.Equal(t, "nameless", c.excused && !c.named, got.Nameless())
			got.Own = true
			check.Equal(t, "as the task's own", event.GateFailed, got.Verdict())
			got.Own, got.Allowed = false, nil
			check.Equal(t, "without a person's word", event.GateFailed, got.Verdict())
		})
	}
}
