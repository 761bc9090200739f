package verify

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/lazyregexp"
)

// Named is what an output says of tests by their names, as far as it can be read from what runners print.
type Named struct {
	Passed map[string]bool // what ran: false for a test that failed once; skipped tests, and files that did not load, are not in it
	Ran    int             // how many ran, of a runner that does not name those that pass; 0 if that is unknown or some were skipped
	Any    bool            // it runs tests, named or not
}

// Failed reports whether a test ran and failed.
func (n *Named) Failed(name string) bool {
	passed, ran := n.Passed[name]
	return ran && !passed
}

// namesEnv are settings that make runners print the name of each test; they change nothing else.
var namesEnv = []struct{ key, value string }{{"GOFLAGS", "-v"}, {"PYTEST_ADDOPTS", "-rA"}}

// AskNames is an environment that asks runners for the names of tests. Other runners print them by themselves, or not at all: a gate
// stays what it is.
func AskNames(env []string) []string {
	env = slices.Clone(env)
	for _, ask := range namesEnv {
		set := ask.key + "="
		if i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, set) }); i >= 0 {
			env[i] = set + strings.TrimSpace(env[i][len(set):]+" "+ask.value)
		} else {
			env = append(env, set+ask.value)
		}
	}
	return env
}

const (
	maxNamed     = 50_000
	maxNamedLine = 600
)

// How runners print one test. Each is tried at the beginning of a line.
var (
	goTest       = lazyregexp.New(`^\s*--- (PASS|FAIL): (\S+) \(\d`)
	pytestAll    = lazyregexp.New(`^(?:\[gw\d+\] \[ *\d+%\] )?(PASSED|FAILED) (\S+?\.py::.+?)(?: - .*)?$`)
	pytestEach   = lazyregexp.New(`^(\S+\.py::.+?) (PASSED|FAILED)(?: +\[ *\d+%\])?$`)
	unittestEach = lazyregexp.New(`^(\w+) \(([\w.]+)\).* \.\.\. (ok|FAIL|ERROR)$`)
	unittestFail = lazyregexp.New(`^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)`)
	cargoTest    = lazyregexp.New(`^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED)$`)
	tapTest      = lazyregexp.New(`^\s*(not )?ok (?:\d+ (?:- )?|- )([^\t]+)$`)
	markedTest   = lazyregexp.New(`^\s*([✓✔√✕✗✖×]) (.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`)
	jestFail     = lazyregexp.New(`^\s*● (.+ › .+)$`)

	// A file is named where it did not load, or for all of its tests.
	codeFile   = lazyregexp.New(`\.[cm]?[jt]sx?(?: \(.*)?$`)
	unittestIs = lazyregexp.New(`^(?:OK|FAILED) \(.*(?:skipped|expected)`)
	jestN      = lazyregexp.New(`^Tests: +(?:\d+ failed, )?(?:\d+ passed, )?(\d+) total`)
	vitestN    = lazyregexp.New(`^ +Tests +(?:\d+ failed(?: \| )?)?(?: ?\d+ passed)? \((\d+)\)`)
	// runsTests are lines of runners that name no test.
	runsTests = lazyregexp.New(`^(?:ok  \t|FAIL\t|--- FAIL: |=+ .*(?:passed|failed).* in [\d.]+s|\d+ passed.* in [\d.]+s|(?:PASS|FAIL) \S+\.[cm]?[jt]sx?\b|Tests:? +\d|running \d+ tests?$|1\.\.\d+$|# tests \d)`)
)

// named reads an output.
type named struct {
	lines
	said    Named
	skipped bool
}

func newNamed() *named {
	n := &named{said: Named{Passed: map[string]bool{}}}
	n.lines = lines{most: maxNamedLine, each: n.read, wanted: func([]byte) bool { return true }}
	return n
}

func (n *named) read(line []byte) {
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = colours.Get().ReplaceAll(line, nil)
	}
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 0 || n.readJSON(line) {
		return
	}
	text := strings.ToValidUTF8(string(line), "?")
	if name, passed := testOf(text); name != "" {
		n.note(name, passed)
		return
	}
	for _, total := range []*lazyregexp.Regexp{unittestRan, jestN, vitestN} {
		if m := total.Get().FindStringSubmatch(text); m != nil {
			ran, _ := strconv.Atoi(m[1])
			n.said.Ran, n.said.Any = n.said.Ran+ran, true
		}
	}
	n.skipped = n.skipped || unittestIs.Get().MatchString(text)
	n.said.Any = n.said.Any || runsTests.Get().MatchString(text)
}

func (n *named) note(name string, passed bool) {
	n.said.Any = true
	before, known := n.said.Passed[name]
	if known || len(n.said.Passed) < maxNamed {
		n.said.Passed[name] = passed && (!known || before)
	}
}

// readJSON reads a line of go test -json.
func (n *named) readJSON(line []byte) bool {
	if !bytes.HasPrefix(line, []byte(`{"Time":`)) {
		return false
	}
	var e struct{ Action, Test string }
	if json.Unmarshal(line, &e) == nil && e.Test != "" && (e.Action == "pass" || e.Action == "fail") {
		n.note(e.Test, e.Action == "pass")
	}
	return true
}

// testOf is the test that a line is about; "" if it is about none that ran.
func testOf(text string) (name string, passed bool) {
	find := func(re *lazyregexp.Regexp) []string { return re.Get().FindStringSubmatch(text) }
	if m := find(goTest); m != nil {
		return m[2], m[1] == "PASS"
	} else if m := find(pytestAll); m != nil {
		return m[2], m[1] == "PASSED"
	} else if m := find(pytestEach); m != nil {
		return m[1], m[2] == "PASSED"
	} else if m := find(unittestEach); m != nil {
		return ofUnittest(m[1], m[2]), m[3] == "ok"
	} else if m := find(unittestFail); m != nil {
		return ofUnittest(m[1], m[2]), false
	} else if m := find(cargoTest); m != nil {
		return m[1], m[2] == "ok"
	} else if m := find(jestFail); m != nil {
		return m[1], false
	}
	if m := find(tapTest); m != nil {
		return ran(m[2]), m[1] == ""
	} else if m := find(markedTest); m != nil {
		return ran(m[2]), slices.Contains([]string{"✓", "✔", "√"}, m[1])
	}
	return "", false
}

// ran is the name of a test that ran: what is a file, or was skipped, did not.
func ran(name string) string {
	if codeFile.Get().MatchString(name) || expected.Get().MatchString(name) || name == "failing tests:" {
		return ""
	}
	return name
}

// ofUnittest is the same name for all versions of Python; "" for a module that did not load.
func ofUnittest(method, class string) string {
	switch {
	case strings.Contains(class, "_FailedTest"):
		return ""
	case strings.HasSuffix(class, "."+method):
		return class
	}
	return class + "." + method
}

func (n *named) named() *Named {
	n.end()
	if n.skipped {
		n.said.Ran = 0
	}
	return &n.said
}
