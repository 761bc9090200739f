package verify

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
)

func TestPassedTestsAreCounted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		output string
		want   int // -1 means that the output does not say
	}{
		"nothing":                  {"", -1},
		"go test":                  {"ok  \tm/a\t0.01s\nok  \tm/b\t(cached)\nPASS\n", -1},
		"go test -v":               {"=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n--- PASS: ExampleC (0.00s)\n--- FAIL: TestD (0.00s)\n--- SKIP: TestE (0.00s)\nPASS\n", 2},
		"go test -json":            {`{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"m","Test":"TestA","Elapsed":0}` + "\n" + `{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"m","Test":"TestA/b","Elapsed":0}` + "\n" + `{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"m","Elapsed":0}` + "\n", 1},
		"pytest":                   {"tests/test_a.py ..F [100%]\n=========== 1 failed, 12 passed, 2 warnings in 0.12s ============\n", 12},
		"pytest that takes long":   {"===== 120 passed in 75.31s (0:01:15) =====\n", 120},
		"pytest -q":                {"...\n3 passed in 0.01s\n", 3},
		"jest":                     {"Test Suites: 2 passed, 2 total\nTests:       1 skipped, 7 passed, 8 total\nSnapshots:   0 total\n", 7},
		"jest in colour":           {"\x1b[1mTests:       \x1b[22m\x1b[1m\x1b[32m7 passed\x1b[39m\x1b[22m, 7 total\n", 7},
		"vitest":                   {" Test Files  2 passed (2)\n      Tests  1 failed | 5 passed (6)\n", 5},
		"mocha":                    {"  a\n    ✓ b\n\n  4 passing (12ms)\n  1 failing\n", 4},
		"cargo test":               {"test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n   Doc-tests x\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n", 5},
		"no test at all":           {"test result: ok. 0 passed; 0 failed; 0 ignored\n", 0},
		"prose":                    {"12 passed the exam in 3 rooms\nAll 7 passing marks\n7 passed, I think\nTests: all passed\n", -1},
		"without an end of line":   {"3 passed in 0.01s", 3},
		"a number that is too big": {"99999999999999999999 passed in 0.01s\n", -1},
	}
	for name, tt := range tests {
		got := -1
		counter := newTests()
		counter.add([]byte(tt.output))
		if n := counter.number(); n != nil {
			got = *n
		}
		check.Equal(t, name, tt.want, got)
	}
}

// TestOutputMayArriveInPieces: how an output is cut changes neither the count nor the failures.
func TestOutputMayArriveInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"--- PASS: TestA (0.00s)\n", "3 passed in 0.01s\n", "\n", "--- FAIL: TestB (0.00s)\n", "a.go:12: wrong\n", "prose\n", strings.Repeat("x", 400) + "pass\n"})
		text := []byte(strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), ""))
		whole, pieces, failed, parts := newTests(), newTests(), newFailures(), newFailures()
		whole.add(text)
		failed.add(text)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces.add(rest[:n])
			parts.add(rest[:n])
			rest = rest[n:]
		}
		check.Equal(t, "count", whole.number(), pieces.number())
		check.Equal(t, "failures", failed.String(), parts.String())
	})
}
