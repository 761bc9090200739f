package verify

import (
	"bytes"
	"slices"
	"strconv"

	"ralph/internal/lazyregexp"
)

// summaries are how test programs say how many tests passed. Each is unmistakable, so it does not matter which
// command ran them. go test says nothing unless it is asked for each test: then those are counted that are no
// part of another.
var summaries = []*lazyregexp.Regexp{
	lazyregexp.New(`^(?:=+ )?(?:\d+ [a-z]+, )*(\d+) passed(?:, \d+ [a-z]+)* in \d+[.\d]*s\b`), // pytest
	lazyregexp.New(`^Tests: +(?:\d+ [a-z]+, )*(\d+) passed(?:, \d+ [a-z]+)*, \d+ total`),      // jest
	lazyregexp.New(`^ +Tests +(?:\d+ [a-z]+ \| )*(\d+) passed(?: \| \d+ [a-z]+)* \(\d+\)`),    // vitest
	lazyregexp.New(`^ +(\d+) passing \(\d+\w+\)`),                                             // mocha
	lazyregexp.New(`^[#ℹ] pass (\d+)$`),                                                       // node --test
	lazyregexp.New(`^test result: [A-Za-z]+\. (\d+) passed; \d+ failed;`),                     // cargo test
	lazyregexp.New(`^--- PASS: (?:Test|Example|Fuzz)\w* \(\d`),                                // go test -v
	lazyregexp.New(`^\{"Time":"[^"]+","Action":"pass","Package":"[^"]+","Test":"[^"/]+"`),     // go test -json
}

var (
	unittestRan   = lazyregexp.New(`^Ran (\d+) tests? in \d`)
	unittestEnd   = lazyregexp.New(`^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z]+[a-z =\d,]*)\))?$`)
	unittestMinus = lazyregexp.New(`(?:\(|, )(?:failures|errors|skipped|unexpected successes)=(\d+)`)
	tapOk         = lazyregexp.New(`^ok \d+(?: |$)`)
	goPackage     = lazyregexp.New(`^ok  \t\S+\t(?:\(cached\)|\d+[.\d]*s)`)
)

// tests counts the tests that passed, as the output says. Colours are ignored.
type tests struct {
	lines
	passed int
	said   bool

	ran      int // tests of unittest, which says further down what became of them
	waits    bool
	tap      int // lines of TAP, which counts if nothing else does: node prints both
	packages int // of Go, that ran tests
}

func newTests() *tests {
	t := &tests{}
	t.lines = lines{
		most: 300, each: t.count,
		wanted: func(chunk []byte) bool {
			return slices.ContainsFunc([]string{"pass", "PASS", "Ran ", "OK", "FAILED", "NO TESTS", "ok "}, func(word string) bool { return bytes.Contains(chunk, []byte(word)) })
		},
	}
	return t
}

func (t *tests) count(line []byte) {
	line = bytes.TrimRight(colours.Get().ReplaceAll(line, nil), "\r")
	switch {
	case len(line) == 0:
	case tapOk.Get().Match(line):
		if !expected.Get().Match(line) {
			t.tap++
		}
	case goPackage.Get().Match(line):
		if !bytes.Contains(line, []byte("[no tests to run]")) {
			t.packages++
		}
	case unittestRan.Get().Match(line):
		t.settle(0)
		t.ran, _ = strconv.Atoi(string(unittestRan.Get().FindSubmatch(line)[1]))
		t.waits = true
	case t.waits && unittestEnd.Get().Match(line):
		minus := 0
		for _, m := range unittestMinus.Get().FindAllSubmatch(line, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			minus += n
		}
		t.settle(minus)
	default:
		t.summary(line)
	}
}

// settle counts what unittest ran last. Failures may be more than tests: of one test several parts can fail.
func (t *tests) settle(minus int) {
	if t.waits {
		t.passed, t.said, t.waits = t.passed+max(t.ran-minus, 0), true, false
	}
}

func (t *tests) summary(line []byte) {
	for _, summary := range summaries {
		m := summary.Get().FindSubmatch(line)
		if m == nil {
			continue
		}
		n, err := 1, error(nil)
		if len(m) > 1 {
			n, err = strconv.Atoi(string(m[1]))
		}
		if err == nil {
			t.passed, t.said = t.passed+n, true
		}
		return
	}
}

var colours = lazyregexp.New(`\x1b\[[\d;]*m`)

// number is how many passed, or nil if the output does not say.
func (t *tests) number() *int {
	t.end()
	t.settle(0)
	switch {
	case t.said:
		return &t.passed
	case t.tap > 0:
		return &t.tap
	}
	return nil
}
