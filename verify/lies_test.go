package verify

import (
	"io"
	"os"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// outputs are what test programs print, without what is of no interest here.
var outputs = map[string]struct {
	text     string
	failed   []string
	tests    int // -1 means that the output does not say
	packages int
}{
	"go test": {
		"--- FAIL: TestBad (0.00s)\n    --- FAIL: TestBad/sub_1 (0.00s)\n        a_test.go:4: wrong\nFAIL\nFAIL\tx\t0.002s\n?   \tx/e\t[no test files]\nok  \tx/n\t0.002s [no tests to run]\nok  \tx/m\t(cached)\nok  \tx/o\t0.01s\tcoverage: 3.0% of statements\nFAIL\n",
		[]string{"TestBad"},
		-1, 2,
	},
	"go test -v": {
		"=== RUN   TestOK\n--- PASS: TestOK (0.00s)\n=== RUN   TestBad/sub_1\n    a_test.go:4: wrong\n--- FAIL: TestBad (0.00s)\n    --- FAIL: TestBad/sub_1 (0.00s)\n--- SKIP: TestSkip (0.00s)\nFAIL\nFAIL\tx\t0.003s\n",
		[]string{"TestBad"},
		1, 0,
	},
	"go test -json": {
		`{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"x","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}` + "\n" +
			`{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"x","Test":"TestBad","Elapsed":0}` + "\n" +
			`{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"x","Test":"TestOK","Elapsed":0}` + "\n" + `{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"x","Elapsed":0.004}` + "\n",
		[]string{"TestBad"},
		1, 0,
	},
	"pytest": {
		"test_a.py .F.E                              [100%]\n=========================== short test summary info ============================\n" +
			"FAILED tests/test_a.py::test_bad[a b] - assert 1 == 2\nERROR tests/test_a.py::TestX::test_err\nERROR tests/test_b.py\n========== 1 failed, 2 passed, 2 errors in 0.02s ==========\n",
		[]string{"tests/test_a.py::TestX::test_err", "tests/test_a.py::test_bad[a b]", "tests/test_b.py"},
		2, 0,
	},
	"pytest -v": {
		"tests/test_a.py::test_ok PASSED                                  [ 50%]\ntests/test_a.py::test_bad FAILED                                 [100%]\n",
		[]string{"tests/test_a.py::test_bad"},
		-1, 0,
	},
	"unittest": {
		"FEx.sF.\n======================================================================\nERROR: test_err (test_a.T.test_err)\n----------------------------------------------------------------------\nValueError: x\n\n" +
			"FAIL: test_bad (test_a.T.test_bad)\nFAIL: test_sub (test_a.T.test_sub) (i=1)\nAssertionError: 1 == 1\n\n----------------------------------------------------------------------\n" +
			"Ran 7 tests in 0.001s\n\nFAILED (failures=2, errors=1, skipped=1, expected failures=1)\n",
		[]string{"test_a.T.test_bad", "test_a.T.test_err", "test_a.T.test_sub"},
		3, 0,
	},
	"unittest that passes": {"..\n----------------------------------------------------------------------\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n", nil, 1, 0},
	"unittest, twice":      {"Ran 1 test in 0.000s\n\nOK\nRan 2 tests in 0.000s\n\nOK\n", nil, 3, 0},
	"unittest, nothing":    {"Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", nil, 0, 0},
	"node --test": {
		"✔ adds (1.2ms)\n✖ breaks (1.979229ms)\n  AssertionError [ERR_ASSERTION]: 1 == 2\n✖ todo (0.502546ms) # TODO\n▶ suite\n  ✖ bad inner (0.350841ms)\n✖ suite (1.39ms)\nℹ tests 6\nℹ suites 1\nℹ pass 2\nℹ fail 2\n\n✖ failing tests:\n",
		[]string{"bad inner", "breaks", "suite"},
		2, 0,
	},
	"node --test as TAP": {
		"TAP version 13\n# Subtest: adds\nok 1 - adds\n  ---\n  duration_ms: 1.18459\n  ...\nnot ok 2 - breaks\n  ---\n  error: '1 == 2'\n  ...\nok 3 - skipped # SKIP\nnot ok 4 - todo # TODO\n" +
			"# Subtest: suite\n    ok 1 - inner\n    not ok 2 - bad inner\n    1..2\nnot ok 5 - suite\n1..5\n# tests 6\n# pass 2\n# fail 2\n",
		[]string{"breaks", "suite"},
		2, 0,
	},
	"TAP": {"1..5\nok 1 - a\nnot ok 2 - b # time=3ms\nok 3\nok 4 # skip no network\nnot ok 5 # TODO later\n", []string{"b"}, 2, 0},
	"jest": {
		"FAIL src/a.test.js\n  ✓ adds (2 ms)\n  ✕ breaks (5 ms)\n  ✕ breaks again\n\n  ● breaks\n\nTests:       2 failed, 1 passed, 3 total\n",
		[]string{"breaks", "breaks again", "src/a.test.js"},
		1, 0,
	},
	"vitest": {
		" ❯ src/a.test.ts (2 tests | 1 failed) 5ms\n   × breaks 4ms\n\n FAIL  src/a.test.ts > breaks\nAssertionError: expected 1 to be 2\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n",
		[]string{"breaks", "src/a.test.ts > breaks"},
		1, 0,
	},
	"cargo test": {
		"running 4 tests\ntest t::ig ... ignored\ntest t::ok ... ok\ntest t::bad ... FAILED\ntest t::sp - should panic ... ok\ntest src/lib.rs - f (line 3) ... FAILED\n\nfailures:\n    t::bad\n\ntest result: FAILED. 2 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.18s\n",
		[]string{"src/lib.rs - f (line 3)", "t::bad"},
		2, 0,
	},
	"in colour": {"\x1b[31m--- FAIL: TestBad (0.00s)\x1b[0m\n\x1b[31m✖ breaks \x1b[90m(1.9ms)\x1b[39m\n", []string{"TestBad", "breaks"}, -1, 0},
	"what product code says": {
		"error: could not connect\nERROR: connection (timeout)\n2026-01-02 ERROR request failed\nFAIL: nothing\nFAILED to load a.py\n✖ 3 problems (0 errors, 3 warnings)\n✗no\n× 3\ntest of the brakes ... FAILED, twice\n    FAIL\nnot okay\nok, 3 of them\nRan 3 tests yesterday\n",
		nil, -1, 0,
	},
}

func TestTestsAreReadFromTheOutputOfTheirPrograms(t *testing.T) {
	t.Parallel()
	for name, tt := range outputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := Gates{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}.Run(t.Context(), "cat <<'E'\n"+tt.text+"E\n", io.Discard)
			check.OK(t, err)
			got := -1
			if res.Tests != nil {
				got = *res.Tests
			}
			check.Equal(t, "failed", strings.Join(tt.failed, "\n"), strings.Join(res.Reported.Failed, "\n"))
			check.Equal(t, "passed", tt.tests, got)
			check.Equal(t, "packages", tt.packages, res.Reported.Packages)
			check.That(t, res.Passed && res.Failures == "", "it does not pass: %q", res.Failures)
			check.Equal(t, "compared with itself", "", strings.Join(res.Contradicts(&res, 0), "\n"))
		})
	}
}

func TestAGateContradictsWhatItSaidBefore(t *testing.T) {
	t.Parallel()
	gate := func(tests, packages int, failed ...string) *Result {
		r := &Result{Command: "make check", Passed: true, Reported: &Report{Failed: failed, Packages: packages}}
		if tests >= 0 {
			r.Tests = &tests
		}
		return r
	}
	failing := gate(3, 0, "TestA")
	failing.Passed = false
	killed := gate(-1, 0)
	killed.Passed, killed.Killed = false, true
	stored := gate(3, 0)
	stored.Reported = nil
	manyBefore := gate(-1, 0)
	for range maxFailures {
		manyBefore.Reported.Failed = append(manyBefore.Reported.Failed, "x")
	}
	for name, tt := range map[string]struct {
		before, now *Result
		removed     int
		want        string
	}{
		"the same":                              {gate(3, 0), gate(3, 0), 0, ""},
		"more":                                  {gate(3, 2), gate(4, 3), 0, ""},
		"a failure that was there":              {failing, gate(3, 0, "TestA"), 0, ""},
		"a new failure":                         {failing, gate(3, 0, "TestA", "TestB"), 0, `gate "make check" passes, but its output names 1 failure that it did not name before the work: TestB`},
		"a failure where nothing is known":      {nil, gate(3, 0, "TestA"), 0, ""},
		"a failure, stored by an older version": {stored, gate(3, 0, "TestA"), 0, ""},
		"a failure, and there were too many":    {manyBefore, gate(-1, 0, "TestA"), 0, ""},
		"a failure that it did not come to":     {killed, gate(3, 0, "TestA"), 0, ""},
		"it fails":                              {gate(3, 0), failing, 0, ""},
		"fewer tests":                           {gate(3, 0), gate(2, 0), 0, `gate "make check" passes, but 2 tests passed, 3 before the work, and the work removes no test`},
		"fewer, stored by an older version":     {stored, gate(2, 0), 0, `gate "make check" passes, but 2 tests passed, 3 before the work, and the work removes no test`},
		"as many fewer as were removed":         {gate(3, 0), gate(1, 0), 2, ""},
		"fewer than that":                       {gate(30, 0), gate(1, 0), 2, `gate "make check" passes, but 1 test passed, 30 before the work, and the work removes only 2`},
		"any number was removed":                {gate(30, 0), gate(1, 0), AnyNumber, ""},
		"it does not say any more":              {gate(3, 0), gate(-1, 0), 0, `gate "make check" passes, but does not print any more how many tests passed; before the work 3 tests did`},
		"it did not say":                        {gate(-1, 0), gate(3, 0), 0, ""},
		"it says neither before nor now":        {gate(-1, 0), gate(-1, 0), 0, ""},
		"none ran before":                       {gate(0, 0), gate(-1, 0), 0, ""},
		"fewer packages":                        {gate(-1, 3), gate(-1, 2), 0, `gate "make check" passes, but 2 packages ran tests, 3 before the work, and the work removes no test`},
		"fewer packages, and tests are counted": {gate(9, 3), gate(9, 2), 0, ""},
	} {
		check.Equal(t, name, tt.want, strings.Join(tt.now.Contradicts(tt.before, tt.removed), "\n"))
	}
}

func TestRemovedTestsAreCounted(t *testing.T) {
	t.Parallel()
	patch := func(lines string) string {
		return "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n" + lines
	}
	for name, tt := range map[string]struct {
		change git.Change
		want   int
	}{
		"nothing":                   {git.Change{}, 0},
		"a function of Go":          {git.Change{Path: "a_test.go", Patch: patch("-func TestA(t *testing.T) {\n-\tt.Run(\"x\", nil)\n-}\n func TestB(t *testing.T) {\n")}, 1},
		"one that is renamed":       {git.Change{Path: "a_test.go", Patch: patch("-func TestA(t *testing.T) {\n+func TestB(t *testing.T) {\n")}, 0},
		"more are added":            {git.Change{Path: "a_test.go", Patch: patch("+func TestA(t *testing.T) {\n+func TestB(t *testing.T) {\n-func TestC(t *testing.T) {\n")}, 0},
		"Python":                    {git.Change{Path: "test_a.py", Patch: patch("-    def test_a(self):\n-async def test_b():\n-def helper():\n")}, 2},
		"Python, parametrized":      {git.Change{Patch: patch("-@pytest.mark.parametrize('x', range(9))\n-def test_a(x):\n")}, AnyNumber},
		"JavaScript":                {git.Change{Path: "a.test.js", Patch: patch("-test('a', () => {})\n-  it.only(\"b\", f)\n-submit('c')\n")}, 2},
		"JavaScript, a table":       {git.Change{Patch: patch("-test.each([1, 2])('a', () => {})\n")}, AnyNumber},
		"Rust":                      {git.Change{Path: "src/lib.rs", Patch: patch("-    #[test]\n-    #[tokio::test]\n-    fn a() {}\n")}, 2},
		"product code":              {git.Change{Path: "a.go", Patch: patch("-\tok := f()\n-func TestX() {\n-\ttest(x)\n")}, 0},
		"Perl":                      {git.Change{Path: "t/a.t", Patch: patch("-ok(1, 'a');\n-is $x, 2;\n-my $y;\n")}, 2},
		"what prints TAP":           {git.Change{Path: "check.sh", Patch: patch("-echo ok 3 - a\n")}, 1},
		"bats":                      {git.Change{Path: "a.bats", Patch: patch("-@test \"a\" {\n")}, 1},
		"a file whose patch is cut": {git.Change{Path: "test_a.py", Kind: git.Deleted, Cut: true}, AnyNumber},
		"data whose patch is cut":   {git.Change{Path: "a.json", Kind: git.Deleted, Cut: true}, 0},
		"a header that is like one": {git.Change{Path: "a_test.go", Patch: "--- a/func TestA(\n-func TestA(\n"}, 0},
	} {
		check.Equal(t, name, tt.want, RemovedTests([]git.Change{tt.change}))
	}
}
