package verify

import (
	"strings"
	"testing"
)

// TestAGateIsWorseWhenItNamesAnotherFailure, not when only numbers differ.
func TestAGateIsWorseWhenItNamesAnotherFailure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, now string
		killed      bool
		want        bool
	}{
		"the same":                     {"--- FAIL: TestA (0.00s)\nFAIL\n", "--- FAIL: TestA (0.00s)\nFAIL\n", false, false},
		"other times":                  {"--- FAIL: TestA (0.01s)\nFAIL\tx\t1.2s\n", "--- FAIL: TestA (2.75s)\nFAIL\tx\t13.9s\n", false, false},
		"other lines of the code":      {"a.go:3:1: missing return\n", "a.go:12:1: missing return\n", false, false},
		"one more":                     {"--- FAIL: TestA (0s)\n", "--- FAIL: TestA (0s)\n--- FAIL: TestB (0s)\n", false, true},
		"another instead":              {"--- FAIL: TestA (0s)\n", "--- FAIL: TestB (0s)\n", false, true},
		"one fewer":                    {"--- FAIL: TestA (0s)\n--- FAIL: TestB (0s)\n", "--- FAIL: TestA (0s)\n", false, false},
		"a compiler's complaint":       {"", "./a.go:3:1: undefined: x\n", false, true},
		"mocha":                        {"✕ adds\n", "✕ adds\n✕ subtracts\n", false, true},
		"pytest":                       {"FAILED test_a.py::test_x\n", "FAILED test_a.py::test_y\n", false, true},
		"cargo":                        {"test a ... FAILED\n", "test a ... FAILED\ntest b ... FAILED\n", false, true},
		"tap":                          {"not ok 1 - a\n", "not ok 1 - b\n", false, true},
		"talk is no failure":           {"nothing\n", "something\nelse\n", false, false},
		"it does not come to its end":  {"FAIL\n", "FAIL\n", true, true},
		"without a newline at the end": {"FAIL a", "FAIL b", false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, chunk := range []int{1, 3, 1 << 20} {
				of := func(text string) Result {
					var f failures
					for len(text) > 0 {
						n := min(chunk, len(text))
						f.add([]byte(text[:n]))
						text = text[n:]
					}
					return Result{Failures: f.String()}
				}
				now := of(tt.now)
				now.Killed = tt.killed
				if got := Worse(of(tt.before), now); got != tt.want {
					t.Errorf("in chunks of %d: got %v, want %v", chunk, got, tt.want)
				}
			}
		})
	}
}

// TestFailuresAreBounded, in number and in length.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	var f failures
	letters := "abcdefghijklmnopqrstuvwxyz"
	for i := range 2 * maxFailures {
		f.add([]byte("FAIL " + string(letters[i%26]) + string(letters[i/26%26]) + string(letters[i/676]) + strings.Repeat("x", 10*maxFailureLine) + "\n"))
	}
	if got := f.String(); strings.Count(got, "\n") != maxFailures-1 || len(got) > maxFailures*(maxFailureLine+1) {
		t.Errorf("got %d lines, %d bytes", strings.Count(got, "\n")+1, len(got))
	}
}
