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

	ExpectRed bool // the task wants the work to make it fail, such as tests that are written first
}

// Verdict classifies the result. A gate that was red before the work began does not count against
// it unless it got worse, or is what the task is about. One that is to fail has to fail by itself, and otherwise than before.
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
	case !c.Own && c.Before != nil && !c.Before.Passed && !Worse(*c.Before, c.Result):
		return event.GateExcused
	default:
		return event.GateFailed
	}
}

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
// say nothing, so they are left out.
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
	if len(f.seen) >= maxFailures || !marked(line) && !located().Match(line) {
		return
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(line), "?")), " ")
	f.seen[numbers().ReplaceAllString(text, "#")] = true
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
