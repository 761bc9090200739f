package verify

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
)

// Check is what a gate says about finished work, beside what it said before.
type Check struct {
	Result
	Own    bool    // the task's own: it must be green, whatever it was before
	Before *Result // nil if it was not asked before the work
	Flaky  bool    // it was red at first, and green when it was run again

	Allowed *Allowed // what a person lets it fail with; nil: it has to pass

	ExpectRed bool // the task wants the work to make it fail, such as tests that are written first
}

// Verdict classifies the result. A gate that fails only with what a person allowed does not count against the work, unless it is
// what the task is about. One that is to fail has to fail by itself, and otherwise than before.
// One that cannot start is never excused or expected: it says nothing.
func (c Check) Verdict() event.GateVerdict {
	switch {
	case c.Unstartable:
		return event.GateFailed
	case c.ExpectRed && !c.Passed && !c.Killed && (c.Before == nil || c.Before.Passed || Worse(*c.Before, c.Result)):
		return event.GateExpected
	case c.ExpectRed:
		return event.GateFailed
	case c.Passed && c.Flaky:
		return event.GateFlaky
	case c.Passed:
		return event.GatePassed
	case !c.Own && c.Allowed.Covers(c.Result):
		return event.GateExcused
	default:
		return event.GateFailed
	}
}

// Nameless reports that it is excused and prints nothing by which its failures could be told from others.
func (c Check) Nameless() bool { return c.Verdict() == event.GateExcused && !c.Named() }

// TurnedGreen reports whether the work repaired it.
func (c Check) TurnedGreen() bool { return c.Passed && c.Before != nil && !c.Before.Passed }

// Worse compares two red results of a gate: the later is worse if it names a
// failure that the earlier did not, or did not come to an end by itself while the
// earlier did.
func Worse(before, now Result) bool {
	if now.Killed && !before.Killed {
		return true
	}
	known := strings.Split(before.Failures, "\n")
	return slices.ContainsFunc(strings.Split(now.Failures, "\n"), func(failure string) bool { return !slices.Contains(known, failure) })
}

// Allowed is what a gate may fail with: lines as in Result.Failures.
type Allowed struct{ Failures string }

// Covers reports whether a gate fails with nothing else. What does not come to an end, or cannot start, names nothing.
func (a *Allowed) Covers(r Result) bool {
	return a != nil && !r.Passed && !r.Broken() && !Worse(Result{Failures: a.Failures}, r)
}

// And is what a gate may fail with that fails with this, too.
func (a *Allowed) And(r Result) Allowed {
	all := strings.Split(r.Failures, "\n")
	if a != nil {
		all = append(all, strings.Split(a.Failures, "\n")...)
	}
	all = slices.DeleteFunc(all, func(line string) bool { return line == "" })
	slices.Sort(all)
	return Allowed{strings.Join(slices.Compact(all), "\n")}
}

// Broken reports whether a gate says nothing about what it checks: it cannot start, or does not come to an end by itself.
func (r Result) Broken() bool { return r.Unstartable || r.Killed }

// Named reports whether a gate names what fails, so that another failure can be told from it. Summaries such as "FAIL" or
// "make: *** [test] Error 1" are the same for all failures.
func (r Result) Named() bool { return len(r.Names()) > 0 }

// Names are the failures that a gate names.
func (r Result) Names() (names []string) {
	for line := range strings.SplitSeq(r.Failures, "\n") {
		if nameLine.Get().MatchString(line) {
			names = append(names, line)
		}
	}
	return names
}

const (
	maxFailures    = 500 // lines that are kept
	maxFailureLine = 300
)

// marks are how test programs, compilers and linters of many languages mark a line
// about something that failed; located is a file and a line in front of a complaint.
var (
	marks = [][]byte{
		[]byte("FAIL"), []byte("rror"), []byte("ERROR"), []byte("not ok"), []byte("panic"), []byte("Traceback"),
		[]byte("✕"), []byte("✗"), []byte("✖"), []byte("×"),
	}
	located = lazyregexp.New(`^\s*[^\s:]+:\d+(:\d+)?: `)
	numbers = lazyregexp.New(`[0-9]+([.,][0-9]+)*`)
	// tested is a test by its name, of which numbers are a part: go test, pytest, cargo test, unittest.
	tested = lazyregexp.New(`^(?:--- FAIL: \S+|(?:FAILED|ERROR) \S+::\S+|test \S+ \.\.\. FAILED|(?:FAIL|ERROR): \w+ \([\w.]+\))`)
	// nameLine is a line that names what fails: a test, a package or file of tests, or a place in a file.
	nameLine = lazyregexp.New(`^(?:--- FAIL: |(?:FAIL|FAILED|ERROR):? [^\s(#]|test \S+ \.\.\. FAILED|not ok |[✕✗✖×] |error\[|[^\s:]+:#(?::#)?: |[^\s(]+\(#,#\): )`)
)

func marked(text []byte) bool {
	return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(text, mark) })
}

// lines cuts an output that arrives in pieces into lines.
type lines struct {
	most   int                     // bytes of a line that matter
	wanted func(chunk []byte) bool // whether any line of it matters
	each   func(line []byte)

	line []byte // started, not ended
}

func (l *lines) add(p []byte) {
	if len(l.line) > 0 {
		p = l.take(p)
	}
	// A flood without anything of interest is not cut into lines.
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 && !l.wanted(p) {
		p = p[i+1:]
	}
	for len(p) > 0 {
		p = l.take(p)
	}
}

// take takes in one line, or what there is of it, and returns the rest.
func (l *lines) take(p []byte) []byte {
	line, rest, ended := bytes.Cut(p, []byte("\n"))
	l.line = append(l.line, line[:min(len(line), l.most-len(l.line))]...)
	if ended {
		l.end()
	}
	return rest
}

func (l *lines) end() {
	l.each(l.line)
	l.line = l.line[:0]
}

// failures collects the lines that name one. Numbers differ from run to run and
// say nothing, so they are left out, but for those of a test's name.
type failures struct {
	lines
	seen map[string]bool
}

func newFailures() *failures {
	f := &failures{seen: map[string]bool{}}
	f.lines = lines{
		most: maxFailureLine, each: f.collect,
		wanted: func(chunk []byte) bool { return bytes.IndexByte(chunk, ':') >= 0 || marked(chunk) },
	}
	return f
}

func (f *failures) collect(line []byte) {
	if len(f.seen) >= maxFailures || !marked(line) && !located.Get().Match(line) {
		return
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(line), "?")), " ")
	name := tested.Get().FindString(text)
	f.seen[name+numbers.Get().ReplaceAllString(text[len(name):], "#")] = true
}

func (f *failures) String() string {
	f.end()
	return strings.Join(slices.Sorted(maps.Keys(f.seen)), "\n")
}

// UnknownGate says that a gate which is to fail is none of these.
func UnknownGate(command string, gates []string) string {
	if len(gates) == 0 {
		return fmt.Sprintf("%q is not a gate; there are none", command)
	}
	return fmt.Sprintf("%q is not a gate; the gates are: %s", command, human.List(gates, 10))
}
