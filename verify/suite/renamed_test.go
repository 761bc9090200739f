package suite

import (
	"cmp"
	"maps"
	"testing"

	"ralph/internal/testing/check"
)

// TestOldTestsHaveTheNewNames of what the work renamed as its task says, and test the same.
func TestOldTestsHaveTheNewNames(t *testing.T) {
	t.Parallel()
	code := files{"a.py": "def total(x):\n    return x\n", "test_a.py": "import a\nassert a.total(1) == 1\nassert a.total(2) == 2\n"}
	with := func(texts ...string) files {
		work := maps.Clone(code)
		for i := 0; i < len(texts); i += 2 {
			work[texts[i]] = texts[i+1]
		}
		return work
	}
	const product, renamed = "def sum_up(x):\n    return x\n", "import a\nassert a.sum_up(1) == 1\nassert a.sum_up(2) == 2\n"
	const task = "Rename total to sum_up"
	tests := map[string]struct {
		base, work files
		task       string
		test       string // in the tree; "" if the old tests need not run
	}{
		"nothing else":             {code, with("a.py", product, "test_a.py", renamed), task, ""},
		"and an assertion":         {code, with("a.py", product, "test_a.py", "import a\nassert a.sum_up(1) == 1\nassert a.sum_up(2)\n"), task, renamed},
		"and a test is gone":       {code, with("a.py", product, "test_a.py", "import a\nassert a.sum_up(1) == 1\n"), task, renamed},
		"the task does not say so": {code, with("a.py", product, "test_a.py", renamed), "Make total faster", code["test_a.py"]},
		"it only names both":       {code, with("a.py", product, "test_a.py", renamed), "Add sum_up(x). The old function total stays.", code["test_a.py"]},
		"in other words":           {code, with("a.py", product, "test_a.py", renamed), "Tidy up\n\nPlease rename the function `a.total()` to `a.sum_up()`.", ""},
		"the old one stays":        {code, with("a.py", product+"def total(x):\n    return 0\n", "test_a.py", renamed), task, code["test_a.py"]},
		"the new one was there":    {with("a.py", code["a.py"]+"def sum_up(): pass\n"), with("a.py", product, "test_a.py", renamed), task, code["test_a.py"]},
		"it is another function":   {code, with("a.py", "def sum_up(y):\n    return 1\n", "test_a.py", renamed), task, code["test_a.py"]},
		"a line stays": {
			with("test_a.py", "say('total')\n"+code["test_a.py"]), with("a.py", product, "test_a.py", "say('total')\n"+renamed), task, "",
		},
		"a file has the old name": {
			with("a.py", "import x/total\n"+code["a.py"], "test_a.py", "import x/total\n"+code["test_a.py"]),
			with("a.py", "import x/total\n"+product, "test_a.py", "import x/total\n"+renamed), task, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tree := plan(t, tt.base, tt.work, tt.task, "python3 test_a.py")
			check.Equal(t, "runs the old tests", tt.test != "", len(p.Changed) > 0)
			check.Equal(t, "old tests", cmp.Or(tt.test, tt.work["test_a.py"]), tree["test_a.py"])
		})
	}
}
