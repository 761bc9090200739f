package verify

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// Report is what the programs that run tests print in a gate's output, whatever its exit status is.
type Report struct {
	Failed   []string        `json:",omitempty"` // tests, and files of tests, that it names as failed, sorted
	Packages int             `json:",omitempty"` // of Go, that ran tests
	Passed   map[string]bool `json:"-"`          // tests that ran, by name: false for one that failed once. Skipped tests and files that did not load did not run
	Ran      int             `json:"-"`          // how many ran, of a runner that does not name those that pass; 0 if that is unknown or some were skipped
	Any      bool            `json:"-"`          // it runs tests, named or not
}

// Fails reports whether a test ran and failed.
func (r *Report) Fails(name string) bool {
	if r == nil {
		return false
	}
	passed, ran := r.Passed[name]
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

// runner is a program that runs tests, with the lines in which it reports them.
type runner struct {
	has   []string // one of these is in each of its lines
	lines []*lazyregexp.Regexp
}

func (r runner) prints(text []byte) bool {
	return slices.ContainsFunc(r.has, func(has string) bool { return bytes.Contains(text, []byte(has)) })
}

// runners are those that a gate is known by; the first line that matches counts. Each is unmistakable, so it does not matter which
// command printed it: a log of the product that speaks of errors has no such line. What a line reports, its groups say; one without a
// group shows that tests run.
//
//	name, class  a test, and the class of unittest that has it. It failed, unless the line has pass, one or tap
//	pass         it passed; a summary has the number of those
//	one          it passed, and counts for one
//	tap          it passed, and counts for one, unless the output has other numbers: node prints both
//	part         it is part of another test, which has a line of its own
//	failed       it failed, and may have no name
//	file         it is not a test, but what failed with its tests
//	passed, ran  how many passed and ran
//	unittest     how many ran; the line that ends the run has how many of them did not pass
//	package      a package of Go ran tests
var runners = []runner{
	{[]string{"--- ", `"Package":`, "ok  \t", "FAIL\t"}, []*lazyregexp.Regexp{ // go test
		lazyregexp.New(`^(?P<part>\s+)?--- (?:(?P<one>PASS)|FAIL): (?P<name>\S+) \(\d`),
		lazyregexp.New(`^\{"Time":"[^"]*","Action":"(?:(?P<one>pass)|fail)","Package":"[^"]+","Test":"(?P<name>[^"/]+(?P<part>/[^"]*)?)"`),
		lazyregexp.New(`^(?P<package>ok)  \t\S+\t(?:\(cached\)|\d[.\d]*s)(?:\tcoverage: \[no statements\]|\t[^\[]*)?$`),
		lazyregexp.New(`^(?:ok  |FAIL)\t`),
	}},
	{[]string{".py", " passed", " failed"}, []*lazyregexp.Regexp{ // pytest
		lazyregexp.New(`^(?:\[gw\d+\] \[ *\d+%\] )?(?:(?P<pass>PASSED)|(?P<file>ERROR)|FAILED) (?P<name>[^\s:]+\.py(?:::.+?)?)(?: - .*)?$`),
		lazyregexp.New(`^(?P<name>[^\s:]+\.py::.+?) (?:(?P<pass>PASSED)|(?P<file>ERROR)|FAILED)(?: +\[ *\d+%\])?$`),
		lazyregexp.New(`^(?:=+ )?(?:\d+ [a-z]+, )*(?P<passed>\d+) passed(?:, \d+ [a-z]+)* in \d+[.\d]*s\b`),
		lazyregexp.New(`^=+ .*(?:passed|failed).* in [\d.]+s`),
	}},
	{[]string{" ... ", "FAIL: ", "ERROR: ", "Ran "}, []*lazyregexp.Regexp{ // unittest
		lazyregexp.New(`^(?P<name>\w+) \((?P<class>[\w.]+)\).* \.\.\. (?:(?P<pass>ok)|FAIL|ERROR)$`),
		lazyregexp.New(`^(?:FAIL|ERROR): (?P<name>(?:test|setUp|tearDown|runTest)\w*) \((?P<class>[\w.]+)\)`),
		lazyregexp.New(`^Ran (?P<unittest>\d+) tests? in \d`),
	}},
	{[]string{"ok ", "not ok", "1..", "# tests ", " pass ", "✖"}, []*lazyregexp.Regexp{ // TAP, and what node --test prints
		lazyregexp.New(`^(?P<part>\s+)?(?P<tap>ok) (?:\d+|-)(?: -)?(?: +(?P<name>[^\s#].*?))?(?: +#.*)?$`),
		lazyregexp.New(`^(?P<part>\s+)?(?P<failed>not ok)(?: \d+)?(?: -)?(?: +(?P<name>[^\s#].*?))?(?: +#.*)?$`),
		lazyregexp.New(`^(?:1\.\.\d+$|# tests \d)`),
		lazyregexp.New(`^\s*✖ (?P<name>.+?) \(\d+(?:\.\d+)?m?s\)`),
		lazyregexp.New(`^[#ℹ] pass (?P<passed>\d+)$`),
	}},
	{[]string{"✓", "✔", "√", "✕", "✗", "×", "●", "FAIL", "PASS", "Tests", " passing ", " failing"}, []*lazyregexp.Regexp{ // jest, vitest, mocha, bats
		lazyregexp.New(`^\s*(?P<pass>[✓✔√]) (?P<name>.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`),
		lazyregexp.New(`^\s*✕ (?P<name>.+?)(?: \(\d+(?:\.\d+)? m?s\))?$`),
		lazyregexp.New(`^\s*● (?P<name>.+ › .+)$`),
		lazyregexp.New(`^(?P<file>FAIL) (?:\S+ )?(?P<name>\S+\.[cm]?[jt]sx?)(?: \(.*\))?$`),
		lazyregexp.New(`^PASS (?:\S+ )?\S+\.[cm]?[jt]sx?\b`),
		lazyregexp.New(`^Tests: +(?:\d+ failed, )?(?:(?P<passed>\d+) passed, )?(?P<ran>\d+) total`),
		lazyregexp.New(`^Tests: +(?:\d+ [a-z]+, )*(?P<passed>\d+) passed(?:, \d+ [a-z]+)*, \d+ total`),
		lazyregexp.New(`^ FAIL  (?:\|?\S+\|? )?(?P<name>\S+\.[cm]?[jt]sx?(?: > .*?)?)(?: \[.*\])?$`),
		lazyregexp.New(`^ +× (?P<name>.+?) \d+(?:\.\d+)?m?s$`),
		lazyregexp.New(`^ +Tests +(?:\d+ failed(?: \| )?)?(?:(?P<passed>\d+) passed)? \((?P<ran>\d+)\)`),
		lazyregexp.New(`^ +Tests +(?:\d+ [a-z]+ \| )*(?P<passed>\d+) passed(?: \| \d+ [a-z]+)* \(\d+\)`),
		lazyregexp.New(`^ +(?P<passed>\d+) passing \(\d+\w+\)`),
		lazyregexp.New(`^ +(?P<name>(?P<file>\d+) failing)$`),
		lazyregexp.New(`^ ✗ (?P<name>.+)$`),
	}},
	{[]string{"test ", "running "}, []*lazyregexp.Regexp{ // cargo test
		lazyregexp.New(`^test (?P<name>.+?)(?: - should panic)? \.\.\. (?:(?P<pass>ok)|FAILED)$`),
		lazyregexp.New(`^test result: [A-Za-z]+\. (?P<passed>\d+) passed; \d+ failed;`),
		lazyregexp.New(`^running \d+ tests?$`),
	}},
}

var (
	// testFile is a file where a runner names a test, because it did not load, or for all of its tests.
	testFile = lazyregexp.New(`\.(?:py|[cm]?[jt]sx?)(?: \(.*)?$`)
	// expected is a test that is not finished, or left out.
	expected      = lazyregexp.New(`(?i)# (?:todo|skip)\b`)
	unittestEnd   = lazyregexp.New(`^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z]+[a-z =\d,]*)\))?$`)
	unittestMinus = lazyregexp.New(`(failures|errors|skipped|expected failures|unexpected successes)=(\d+)`)
	colours       = lazyregexp.New(`\x1b\[[\d;]*m`)
)

const (
	maxFailures = 500 // names and lines that are kept
	maxNamed    = 50_000
	maxLine     = 600
)

// reader reads an output once, for what it reports of tests and for the lines that name a failure.
type reader struct {
	report   Report
	failed   map[string]bool
	failures map[string]bool // lines

	passed  int
	counted bool // passed is the number
	tap     int
	waits   int // tests of unittest that ran, before the end of the run; -1 without any
	skipped bool

	line []byte // started, not ended
}

func newReader() *reader {
	return &reader{report: Report{Passed: map[string]bool{}}, failed: map[string]bool{}, failures: map[string]bool{}, waits: -1}
}

// add takes in a piece of the output.
func (r *reader) add(p []byte) {
	if len(r.line) > 0 {
		p = r.take(p)
	}
	// A flood without anything of interest is not cut into lines.
	dull := r.waits < 0 && bytes.IndexByte(p, ':') < 0 && !marked(p) && !slices.ContainsFunc(runners, func(one runner) bool { return one.prints(p) })
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 && dull {
		p = p[i+1:]
	}
	for len(p) > 0 {
		p = r.take(p)
	}
}

// take reads one line, or the part of it that has arrived, and returns the rest.
func (r *reader) take(p []byte) []byte {
	line, rest, ended := bytes.Cut(p, []byte("\n"))
	r.line = append(r.line, line[:min(len(line), maxLine-len(r.line))]...)
	if ended {
		r.endLine()
	}
	return rest
}

func (r *reader) endLine() {
	line := r.line
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = colours.Get().ReplaceAll(line, nil)
	}
	text := strings.ToValidUTF8(string(bytes.TrimRight(line, " \r\t")), "?")
	r.failure(text, r.test(text))
	r.line = r.line[:0]
}

// test notes what a line reports of tests, and returns how it names one.
func (r *reader) test(text string) string {
	if end := unittestEnd.Get().FindStringSubmatch(text); end != nil && r.waits >= 0 {
		r.endUnittest(end[1])
		return ""
	}
	for _, runner := range runners {
		if !runner.prints([]byte(text)) {
			continue
		}
		for _, line := range runner.lines {
			re := line.Get()
			if m := re.FindStringSubmatch(text); m != nil {
				groups := map[string]string{}
				for i, name := range re.SubexpNames() {
					groups[name] = m[i]
				}
				return r.note(groups, expected.Get().MatchString(text))
			}
		}
	}
	return ""
}

// note takes in the groups of a line, and returns how it names a test.
func (r *reader) note(groups map[string]string, expected bool) string {
	if r.report.Any = true; expected {
		return ""
	}
	r.count(groups)
	return r.name(groups)
}

// count notes numbers of tests.
func (r *reader) count(groups map[string]string) {
	whole := groups["part"] == ""
	switch n, err := strconv.Atoi(groups["passed"]); {
	case err == nil:
		r.passed, r.counted = r.passed+n, true
	case groups["one"] != "" && whole:
		r.passed, r.counted = r.passed+1, true
	case groups["tap"] != "" && whole:
		r.tap++
	case groups["package"] != "":
		r.report.Packages++
	case groups["unittest"] != "":
		r.endUnittest("")
		r.waits, _ = strconv.Atoi(groups["unittest"])
	}
	n, _ := strconv.Atoi(cmp.Or(groups["ran"], groups["unittest"]))
	r.report.Ran += n
}

// endUnittest counts what unittest ran last. Failures may be more than tests: of one test several parts can fail.
func (r *reader) endUnittest(summary string) {
	if r.waits < 0 {
		return
	}
	for _, m := range unittestMinus.Get().FindAllStringSubmatch(summary, -1) {
		if n, _ := strconv.Atoi(m[2]); m[1] != "expected failures" { // which pass
			r.waits -= n
		}
		r.skipped = r.skipped || m[1] != "failures" && m[1] != "errors"
	}
	r.passed, r.counted, r.waits = r.passed+max(r.waits, 0), true, -1
}

// name notes a test, and returns how the line names it.
func (r *reader) name(groups map[string]string) string {
	name := plain.OneLine(groups["name"])
	is, class := name, groups["class"]
	if class != "" {
		is += " (" + class + ")"
		if !strings.HasSuffix(class, "."+name) { // older versions of Python
			class += "." + name
		}
		name = class
	}
	passed := cmp.Or(groups["pass"], groups["one"], groups["tap"]) != ""
	if failed := cmp.Or(name, groups["failed"]); failed != "" && !passed && groups["part"] == "" && len(r.failed) < maxFailures {
		r.failed[failed] = true
	}
	switch {
	case name == "", groups["file"] != "", testFile.Get().MatchString(name), strings.Contains(name, "_FailedTest"):
		return is
	}
	before, known := r.report.Passed[name]
	if known || len(r.report.Passed) < maxNamed {
		r.report.Passed[name] = passed && (!known || before)
	}
	return is
}

// end returns what was reported, and the number of tests that passed; nil if the output does not have it.
func (r *reader) end() (*Report, *int) {
	r.endLine()
	r.endUnittest("")
	if r.skipped {
		r.report.Ran = 0
	}
	r.report.Failed = slices.Sorted(maps.Keys(r.failed))
	switch {
	case r.counted:
		return &r.report, &r.passed
	case r.tap > 0:
		return &r.report, &r.tap
	}
	return &r.report, nil
}

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

// failure notes a line that names a failure. Numbers differ from run to run, and are left out, but for those of a test's name.
func (r *reader) failure(text, name string) {
	if len(r.failures) >= maxFailures || !marked([]byte(text)) && !located.Get().MatchString(text) {
		return
	}
	text = plain.OneLine(text)
	before, after, _ := strings.Cut(text, name)
	r.failures[numbers.Get().ReplaceAllString(before, "#")+name+numbers.Get().ReplaceAllString(after, "#")] = true
}

func (r *reader) failureLines() string {
	return strings.Join(slices.Sorted(maps.Keys(r.failures)), "\n")
}
