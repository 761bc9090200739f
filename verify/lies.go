package verify

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
)

// Contradicts lists what the output of a gate that passes holds against that, compared with what it said before the work: failed tests
// that it names for the first time, and fewer tests. So many tests the work removed itself. What was not known before is compared with nothing.
func (r Result) Contradicts(before *Result, removed int) (list []string) {
	if !r.Passed || before == nil {
		return nil
	}
	if names := r.newlyFailed(*before); len(names) > 0 {
		list = append(list, fmt.Sprintf("gate %q passes, but its output names %s that it did not name before the work: %s",
			r.Command, human.Count(len(names), "failure"), human.Few(names)))
	}
	if what := r.fewer(*before, removed); what != "" {
		list = append(list, fmt.Sprintf("gate %q passes, but %s", r.Command, what))
	}
	return list
}

// newlyFailed are the tests that only this result names as failed. One that did not end by itself may not have come to them.
func (r Result) newlyFailed(before Result) []string {
	if r.Reported == nil || before.Reported == nil || before.Broken() || len(before.Reported.Failed) >= maxFailures {
		return nil
	}
	known := before.Reported.Failed
	return slices.DeleteFunc(slices.Clone(r.Reported.Failed), func(name string) bool { return slices.Contains(known, name) })
}

// fewer states by how many tests this result has less, if the work has not removed that many.
func (r Result) fewer(before Result, removed int) string {
	switch {
	case r.Tests != nil && before.Tests != nil:
		return drop(*r.Tests, *before.Tests, removed, "test", "passed")
	case r.Tests == nil && before.Tests != nil && *before.Tests > 0:
		return fmt.Sprintf("does not print any more how many tests passed; before the work %s did", human.Count(*before.Tests, "test"))
	case r.Tests == nil && r.Reported != nil && before.Reported != nil:
		return drop(r.Reported.Packages, before.Reported.Packages, removed, "package", "ran tests")
	}
	return ""
}

func drop(now, before, removed int, what, did string) string {
	if before-now <= removed {
		return ""
	}
	why := "the work removes no test"
	if removed > 0 {
		why = fmt.Sprintf("the work removes only %d", removed)
	}
	return fmt.Sprintf("%s %s, %d before the work, and %s", human.Count(now, what), did, before, why)
}

// AnyNumber of tests is removed by work whose patches do not tell how many.
const AnyNumber = math.MaxInt

// definitions are the lines that begin a test, by the end of a file's name.
var definitions = []struct {
	file, line *lazyregexp.Regexp
}{
	{lazyregexp.New(`_test\.go$`), lazyregexp.New(`^func (?:Test|Example|Fuzz)\w*\(`)},
	{lazyregexp.New(`\.py$`), lazyregexp.New(`^\s*(?:async )?def test\w*\(`)},
	{lazyregexp.New(`\.(?:[cm]?[jt]sx?|vue|svelte)$`), lazyregexp.New(`^\s*(?:test|it|specify)(?:\.\w+)*\(`)},
	{lazyregexp.New(`\.rs$`), lazyregexp.New(`^\s*#\[(?:\w+::)*test\b`)},
	{lazyregexp.New(`\.bats$`), lazyregexp.New(`^\s*@test\b`)},
	{lazyregexp.New(`\.t$`), lazyregexp.New(`^\s*(?:ok|is|isnt|like|unlike|cmp_ok|is_deeply|subtest|pass|can_ok|isa_ok)\b`)},
}

// testsOf is what a line of a file looks like that begins a test.
func testsOf(file string) *regexp.Regexp {
	for _, d := range definitions {
		if d.file.Get().MatchString(file) {
			return d.line.Get()
		}
	}
	return printsTAP.Get()
}

var printsTAP = lazyregexp.New(`\b(?:not )?ok \d`)

// multiplies is a line that makes several tests of one.
var multiplies = lazyregexp.New(`parametrize|\b(?:test|it|describe)\.each\b|#\[(?:case|rstest|test_case)\b|\bload_tests\b`)

// RemovedTests is how many tests more the changes remove than they add.
func RemovedTests(changes []git.Change) (n int) {
	for _, c := range changes {
		was, is := testsOf(cmp.Or(c.Old, c.Path)), testsOf(c.Path)
		if c.Cut && c.Kind == git.Deleted && is != printsTAP.Get() {
			return AnyNumber
		}
		_, hunks := splitPatch(c.Patch)
		for line := range strings.Lines(strings.Join(hunks, "")) {
			text := line[1:]
			switch {
			case line[0] == '-' && multiplies.Get().MatchString(text):
				return AnyNumber
			case line[0] == '-' && was.MatchString(text):
				n++
			case line[0] == '+' && is.MatchString(text):
				n--
			}
		}
	}
	return max(n, 0)
}
