package verify

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

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
		n := newNamed()
		n.add([]byte(tt.output))
		said := n.named()
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

// TestAGateIsReadForNames only where that is wanted.
func TestAGateIsReadForNames(t *testing.T) {
	t.Parallel()
	for _, names := range []bool{false, true} {
		gates := gatesIn(t.TempDir())
		gates.Names = names
		res, err := gates.Run(t.Context(), "echo 'not ok 1 - adds'; exit 1", &bytes.Buffer{})
		check.OK(t, err)
		check.Equal(t, "names", names, res.ByName != nil && len(res.ByName.Passed) == 1 && !res.ByName.Passed["adds"])
	}
}
