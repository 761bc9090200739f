package coverage

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// tool finds a program that a test needs, or skips the test aloud.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "--version").Run() == nil {
			return path
		}
	}
	t.Skipf("none of %s is installed", strings.Join(names, ", "))
	return ""
}

// write makes a project.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	for name, text := range files {
		check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		check.OK(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

// whole has all lines of a file as added by the work.
func whole(file, text string) git.Change {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return git.Change{
		Path: file, Kind: git.Added, Added: len(lines),
		Patch: fmt.Sprintf("@@ -0,0 +1,%d @@\n+%s\n", len(lines), strings.Join(lines, "\n+")),
	}
}

// measured runs a gate on a project of which all files are new, and returns what is said of them.
func measured(t *testing.T, files map[string]string, env []string, gate string) Report {
	t.Helper()
	root := write(t, files)
	var changes []git.Change
	for name, text := range files {
		changes = append(changes, whole(name, text))
	}
	slices.SortFunc(changes, func(a, b git.Change) int { return strings.Compare(a.Path, b.Path) })
	c, err := Begin(t.TempDir(), root, Measurable(changes), func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(root, file)) })
	check.OK(t, err)
	defer c.Close()
	cmd := exec.Command("sh", "-c", gate)
	cmd.Dir, cmd.Env = root, c.Env(append(os.Environ(), env...))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", gate, err, out)
	}
	p, lost, err := c.End()
	check.OK(t, err)
	if lost != "" {
		t.Logf("lost: %s", lost)
		return Report{}
	}
	return Unexecuted(changes, p)
}

const goMod = "module example.com/m\n\ngo 1.24\n"

func goProject() map[string]string {
	return map[string]string{
		"go.mod": goMod,
		"a/a.go": `package a

// Abs has no sign.
func Abs(x int) int {
	if x < 0 {
		// a comment
		return -x
	}
	return x
}

func never() (n int) {
	for i := range 3 {
		n += i
	}
	return n
}
`,
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestAbs(t *testing.T) {\n\tif Abs(3) != 3 {\n\t\tt.Fatal(3)\n\t}\n}\n",
		"b/b.go":      "package b\n\nimport \"example.com/m/a\"\n\nfunc Dist(x, y int) int { return a.Abs(x - y) }\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestDist(t *testing.T) {\n\tif Dist(1, 3) != 2 {\n\t\tt.Fatal(2)\n\t}\n}\n",
	}
}

func TestGoTellsWhichLinesItsTestsExecute(t *testing.T) {
	t.Parallel()
	never := []string{"a/a.go:13-16: for i := range 3 {"}
	for name, test := range map[string]struct {
		gate string
		want []string
		of   int
	}{
		"all packages":           {"go vet ./... && go build ./... && go test ./...", never, 7},
		"one after the other":    {"go test ./a && go test ./b", never, 7},
		"the other one last":     {"go test ./b && go test ./a", never, 7},
		"at once":                {"go test ./a & go test ./b & wait", never, 7},
		"by make":                {"printf 'test:\\n\\tgo test ./...\\n' > Makefile && make -s test || go test ./...", never, 7},
		"in a folder":            {"cd b && go test . && cd ../a && go test .", never, 7},
		"one package":            {"go test ./a", []string{"a/a.go:7: return -x", never[0]}, 6},
		"no test":                {"go vet ./...", nil, 0},
		"settings of its own":    {"GOFLAGS=-mod=mod go test ./...", nil, 0},
		"a profile of its own":   {"go test -coverprofile=own.out ./...", nil, 0},
		"test results are taken": {"go test ./... && go test ./... | grep -q cached", never, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := measured(t, goProject(), nil, test.gate)
			check.Equal(t, "lines", fmt.Sprint(test.want), fmt.Sprint(r.Unexecuted))
			check.Equal(t, "changed", test.of, r.Changed)
		})
	}
}

func TestGoKeepsItsFlags(t *testing.T) {
	t.Parallel()
	r := measured(t, goProject(), []string{"GOFLAGS=-tags=x"}, `go env GOFLAGS | grep -q -- '-tags=x ' && go test ./...`)
	check.Equal(t, "changed", 7, r.Changed)
}

func TestANewPackageWithoutTestsWasNotExecuted(t *testing.T) {
	t.Parallel()
	files := goProject()
	files["c/c.go"] = "package c\n\nfunc C() int {\n\treturn 1\n}\n"
	files["c/c_windows.go"], files["c/c_plan9.go"] = "package c\n\nfunc W() int {\n\treturn 1\n}\n", "package c\n\nfunc P() int {\n\treturn 1\n}\n"
	r := measured(t, files, nil, "go test ./...")
	check.Equal(t, "last", "c/c.go:4: return 1", r.Unexecuted[len(r.Unexecuted)-1])
}

func TestPythonTellsWhichLinesItExecutes(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"m/__init__.py": "",
		"m/calc.py": `"""Words."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os


def clamp(x, low, high):
    """More words."""
    if x < low:
        return low
    if x > high:
        return high
    return x


def never(a):
    return a
`,
		"m/other.py":         "def f():\n    return 1\n",
		"tests/__init__.py":  "",
		"tests/test_calc.py": "import unittest\nfrom m.calc import clamp\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(clamp(3, 1, 2), 2)\n",
		"child.py":           "import os, sys\nfrom m import calc\ncalc.clamp(0, 1, 2)\nos._exit(0)\n",
		"forks.py":           "import os\nfrom m import calc\nif os.fork():\n    os.wait()\nelse:\n    calc.never(1)\n    os._exit(0)\n",
	}
	const (
		low   = "m/calc.py:11: return low"
		last  = "m/calc.py:14: return x"
		never = "m/calc.py:18: return a"
		other = "m/other.py:1-2: def f():"
		child = "child.py:1-4: import os, sys"
		forks = "forks.py:1-7: import os"
	)
	for version, python := range pythons(t) {
		for name, test := range map[string]struct {
			gate string
			want []string
		}{
			"unittest":       {"$PY -m unittest discover -s tests -t .", []string{child, forks, low, last, never, other}},
			"another folder": {"cd tests && PYTHONPATH=..:$PYTHONPATH $PY -m unittest test_calc", []string{child, forks, low, last, never, other}},
			"os._exit":       {"$PY -m unittest discover -s tests -t . && $PY child.py", []string{forks, last, never, other}},
			"a fork":         {"$PY -m unittest discover -s tests -t . && $PY forks.py", []string{child, low, last, other}},
			"no test":        {"$PY -c 'import m.calc'", []string{low, "m/calc.py:12-14: if x > high:", never}},
			"no project":     {"$PY -c 'print(1)'", nil},
			"isolated":       {"$PY -I -c 'print(1)'", nil},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				if name == "no test" { // nothing of the function ran
					test.want = []string{"m/calc.py:10-14: if x < low:", never}
				}
				r := measured(t, files, []string{"PY=" + python, "PYTHONDONTWRITEBYTECODE=1"}, test.gate)
				check.Equal(t, "lines", strings.Join(test.want, "\n"), strings.Join(r.Unexecuted, "\n"))
			})
		}
	}
}

// pythons are the usual one and the latest that is installed, by their versions: one traces lines, the other may monitor them. With
// RALPH_ALL_PYTHONS they are all.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	all, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv", "versions", "*", "bin", "python3"))
	for _, python := range append(all, "python3", "python3.12", "python3.13") {
		out, err := exec.Command(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output()
		if version := strings.TrimSpace(string(out)); err == nil && found[version] == "" {
			found[version], _ = exec.LookPath(python)
		}
	}
	if len(found) == 0 {
		t.Skip("Python is not installed")
	}
	if os.Getenv("RALPH_ALL_PYTHONS") != "" {
		return found
	}
	usual, _ := exec.Command("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output()
	latest := slices.MaxFunc(slices.Collect(maps.Keys(found)), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	maps.DeleteFunc(found, func(version, _ string) bool { return version != latest && version != strings.TrimSpace(string(usual)) })
	return found
}

func TestPythonFindsItsOwnSitecustomize(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"m.py":                 "def f():\n    return 1\n\n\nf()\n",
		"own/sitecustomize.py": "import sys\nsys.own = True\n",
	}
	for version, python := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := measured(t, files, []string{"PY=" + python, "PYTHONPATH=own"}, `$PY -c 'import sys; assert sys.own; import m; assert not [p for p in sys.path if "coverage-" in p]'`)
			check.Equal(t, "lines", 0, r.Missed)
			check.Equal(t, "changed", true, r.Changed >= 3)
		})
	}
}

// A gate that sets PYTHONPATH hides the hook that is found there.
func TestAGateThatSetsItsPythonPathIsMeasured(t *testing.T) {
	t.Parallel()
	for version, python := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"m.py": "def f():\n    return 1\n\n\nf()\n",
				"own/lib/python" + version + "/site-packages/usercustomize.py": "import sys\nsys.own = True\n",
			}
			r := measured(t, files, []string{"PY=" + python, "PYTHONUSERBASE=own"}, `PYTHONPATH=. $PY -c 'import sys; assert sys.own; import m; assert not [p for p in sys.path if "coverage-" in p]'`)
			check.Equal(t, "lines", 0, r.Missed)
			check.Equal(t, "changed", true, r.Changed >= 3)
		})
	}
}

func TestAnotherToolThatTracesLinesIsLeftAlone(t *testing.T) {
	t.Parallel()
	files := map[string]string{"test_m.py": "import sys\nsys.settrace(lambda *a: None)\nimport m\n", "m.py": "def f():\n    return 1\n"}
	for version, python := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := measured(t, files, []string{"PY=" + python}, "$PY test_m.py")
			if version < "3.12" && len(version) == 4 {
				check.Equal(t, "changed", 0, r.Changed)
			} else {
				check.Equal(t, "lines", "[m.py:2: return 1]", fmt.Sprint(r.Unexecuted))
			}
		})
	}
}

func TestNodeTellsWhichLinesItExecutes(t *testing.T) {
	t.Parallel()
	node := tool(t, "node")
	files := map[string]string{
		"calc.mjs": `// a comment: "
export function clamp(x, low, high) {
  if (x < low) {
    return low
  }
  /* "more
     words */
  return x > high
    ? high
    : x
}

export const never = (ö) => {
  return ` + "`a${ö}\nb`" + `
}
`,
		"test/calc.test.mjs": "import test from 'node:test'\nimport assert from 'node:assert'\nimport {clamp} from '../calc.mjs'\ntest('clamp', () => assert.equal(clamp(3, 1, 2), 2))\n",
		"unused.js":          "exports.f = function () {\n  return 1\n}\n",
		"made.js":            "module.exports = 'long enough'\n",
		"test/vm.test.cjs":   "const vm = require('node:vm'), path = require('node:path')\nvm.runInThisContext('1', {filename: path.resolve(__dirname, '../made.js')})\n",
	}
	want := []string{
		"calc.mjs:4: return low", "calc.mjs:10: : x", "calc.mjs:14-15: return `a${ö}", "unused.js:1-2: exports.f = function () {",
	}
	r := measured(t, files, nil, node+" --test test/")
	check.Equal(t, "lines", strings.Join(want, "\n"), strings.Join(r.Unexecuted, "\n"))
}

func TestNodeFollowsSourceMaps(t *testing.T) {
	t.Parallel()
	node := tool(t, "node")
	files := map[string]string{
		"src/calc.ts": "export interface X { a: number }\nexport function f(x: number): number {\n  if (x > 3) {\n    return 1\n  }\n  return 2\n}\n",
		// as tsc writes it
		"dist/calc.js":     "export function f(x) {\n    if (x > 3) {\n        return 1;\n    }\n    return 2;\n}\n//# sourceMappingURL=calc.js.map\n",
		"dist/calc.js.map": `{"version":3,"file":"calc.js","sourceRoot":"","sources":["../src/calc.ts"],"names":[],"mappings":"AACA,MAAM,UAAU,CAAC,CAAC,CAAS;IACzB,IAAI,CAAC,GAAG,CAAC,EAAE,CAAC;QACV,OAAO,CAAC,CAAA;IACV,CAAC;IACD,OAAO,CAAC,CAAA;AACV,CAAC"}`,
		"package.json":     `{"type": "module"}`,
		"x.test.js":        "import {f} from './dist/calc.js'\nf(1)\n",
	}
	r := measured(t, files, nil, node+" x.test.js")
	check.Equal(t, "lines", "[src/calc.ts:4: return 1]", fmt.Sprint(r.Unexecuted))
}
