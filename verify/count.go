package verify

import (
	"bytes"
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
	lazyregexp.New(`^test result: [A-Za-z]+\. (\d+) passed; \d+ failed;`),                     // cargo test
	lazyregexp.New(`^--- PASS: (?:Test|Example|Fuzz)\w* \(\d`),                                // go test -v
	lazyregexp.New(`^\{"Time":"[^"]+","Action":"pass","Package":"[^"]+","Test":"[^"/]+"`),     // go test -json
}

// tests counts the tests that passed, as the output says. Colours are ignored.
type tests struct {
	lines
	passed int
	said   bool
}

func newTests() *tests {
	t := &tests{}
	t.lines = lines{
		most: 300, each: t.count,
		wanted: func(chunk []byte) bool {
			return bytes.Contains(chunk, []byte("pass")) || bytes.Contains(chunk, []byte("PASS"))
		},
	}
	return t
}

func (t *tests) count(line []byte) {
	line = colours.Get().ReplaceAll(line, nil)
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
	if !t.said {
		return nil
	}
	return &t.passed
}
