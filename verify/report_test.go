package verify

import (
	"maps"
	"slices"
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
		r := newReader()
		r.add([]byte(tt.output))
		if _, n := r.end(); n != nil {
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
		whole, pieces := newReader(), newReader()
		whole.add(text)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces.add(rest[:n])
			rest = rest[n:]
		}
		report, passed := whole.end()
		inPieces, passedInPieces := pieces.end()
		check.Equal(t, "count", passed, passedInPieces)
		check.Equal(t, "report", report, inPieces)
		check.Equal(t, "failures", whole.failures, pieces.failures)
	})
}

// TestNamesOfTests: who passed and who failed, as runners print it; what was skipped or did not load did not run.
func TestNamesOfTests(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		output, want string // names that passed, in order, and those that failed behind a minus
		ran          int
		any          bool
	}{
		"nothing":          {output: "hello\nok then we go\n"},
		"go test":          {output: "ok  \tm/a\t0.01s\nFAIL\tm/b [build failed]\n", any: true},
		"go test -v":       {output: "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n--- FAIL: TestD (0.00s)\n--- SKIP: TestE (0.00s)\nPASS\n", want: "TestA TestA/b -TestD", any: true},
		"go test, a panic": {output: "--- FAIL: TestA (0.00s)\npanic: no [recovered]\n", want: "-TestA", any: true},
		"go test -json": {output: `{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m","Test":"TestA","Output":"--- FAIL: TestX (0.00s)\n"}` + "\n" +
			`{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"m","Test":"TestA","Elapsed":0}` + "\n" + `{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"m"}` + "\n", want: "TestA", any: true},
		"pytest -rA":           {output: "PASSED tests/test_a.py::test_x[a b]\nFAILED tests/test_a.py::test_y - assert 1 == 2\nERROR tests/test_b.py - ImportError: no\n", want: "tests/test_a.py::test_x[a b] -tests/test_a.py::test_y", any: true},
		"pytest -v":            {output: "tests/test_a.py::test_x PASSED   [ 50%]\ntests/test_a.py::T::test_y FAILED [100%]\ntests/test_a.py::test_z SKIPPED (no)\n", want: "tests/test_a.py::test_x -tests/test_a.py::T::test_y", any: true},
		"unittest -v":          {output: "test_x (m.C.test_x) ... ok\ntest_y (m.C) ... FAIL\ntest_z (m.C.test_z) ... skipped 'no'\n\nFAIL: test_y (m.C)\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n", want: "m.C.test_x -m.C.test_y", any: true},
		"unittest":             {output: "..F\nFAIL: test_y (m.C.test_y)\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n", want: "-m.C.test_y", ran: 3, any: true},
		"unittest, not loaded": {output: "ERROR: test_m (unittest.loader._FailedTest.test_m)\nRan 1 test in 0.001s\n\nFAILED (errors=1)\n", ran: 1, any: true},
		"node:test, TAP":       {output: "TAP version 13\n# Subtest: adds\nok 1 - adds\n  ---\nnot ok 2 - tests/b.test.js\nok 3 - later # SKIP\nok 4 # SKIP no network\n    not ok 1 - inner\n1..3\n", want: "-inner adds", any: true},
		"node:test, spec":      {output: "▶ group\n  ✔ adds 2 (0.5ms)\n  ✖ fails (1.2ms)\n✖ tests/b.test.js (32.5ms)\n✖ failing tests:\n", want: "-fails adds 2", any: true},
		"jest --verbose":       {output: "PASS tests/a.test.js\n  ✓ adds (5 ms)\n  ✕ fails\n  ● group › fails\n", want: "-fails -group › fails adds", any: true},
		"jest":                 {output: "FAIL tests/a.test.js\n  ● Test suite failed to run\n  ● group › fails\nTests:       1 failed, 4 passed, 5 total\n", want: "-group › fails", ran: 5, any: true},
		"vitest":               {output: " ✓ src/a.test.ts (3 tests) 4ms\n   × src/b.test.ts > adds 3ms\n      Tests  1 failed | 5 passed (6)\n", want: "-src/b.test.ts > adds", ran: 6, any: true},
		"cargo test":           {output: "running 3 tests\ntest tests::adds ... ok\ntest tests::fails ... FAILED\ntest tests::later ... ignored\n", want: "-tests::fails tests::adds", any: true},
		"twice":                {output: "ok 1 - a\nnot ok 2 - a\nok 3 - a\n", want: "-a", any: true},
		"in colour":            {output: "\x1b[32m✓\x1b[39m adds\n", want: "adds", any: true},
	}
	for name, tt := range tests {
		r := newReader()
		r.add([]byte(tt.output))
		said, _ := r.end()
		var got []string
		for _, test := range slices.Sorted(maps.Keys(said.Passed)) {
			if !said.Passed[test] {
				test = "-" + test
			}
			got = append(got, test)
		}
		check.Equal(t, name, sortedWords(tt.want), sortedWords(strings.Join(got, " ")))
		check.Equal(t, name+", how many", tt.ran, said.Ran)
		check.Equal(t, name+", any", tt.any, said.Any)
	}
}

func sortedWords(text string) []string {
	words := strings.Fields(text)
	slices.Sort(words)
	return words
}

func TestNamesAreAskedFor(t *testing.T) {
	t.Parallel()
	env := []string{"A=b", "GOFLAGS=-mod=mod"}
	check.Equal(t, "environment", []string{"A=b", "GOFLAGS=-mod=mod -v", "PYTEST_ADDOPTS=-rA"}, AskNames(env))
	check.Equal(t, "that of others", []string{"A=b", "GOFLAGS=-mod=mod"}, env)
}
