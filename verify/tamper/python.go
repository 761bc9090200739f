package tamper

import (
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
)

var (
	pyDef       = lazyregexp.New(`^(?:async\s+)?def\s+(\w+)`)
	pyBegin     = lazyregexp.New(`^(?:(?:async\s+)?def|class)\s+\w+\s*[(:]`)
	pyClass     = lazyregexp.New(`^class\s+\w+`)
	pyMark      = lazyregexp.New(`\bmark\s*\.\s*(skip|skipif|xfail)\b`)
	pyDecorator = lazyregexp.New(`^@\s*(?:unittest\s*\.\s*)?(skip|skipIf|skipUnless|expectedFailure)\b`)
	pyCall      = lazyregexp.New(`\b(pytest\s*\.\s*(?:skip|xfail|importorskip)|self\s*\.\s*skipTest)\s*\(|\braise\s+(?:\w+\s*\.\s*)*(SkipTest)\b`)
	pyAlias     = lazyregexp.New(`^(\w+)\s*(?::[^=]*)?=[^=]`)
	pyReturn    = lazyregexp.New(`^\s*(?:async\s+)?def\b[^\n]*:\s*return\s*(?:\n|$)`)
	pyList      = lazyregexp.New(`^\w+\s*=\s*\[((?:\s*(?:"[\w./-]*"|'[\w./-]*')\s*,?)*)\s*\]\s*$`)
	pyString    = lazyregexp.New(`["']([\w./-]*)["']`)
	pyNames     = lazyregexp.New(`^@\s*([\w.]+)`)
)

// pyForAll run before every test of a class, a file or a folder.
var pyForAll = []string{
	"setUp", "asyncSetUp", "setUpClass", "setUpModule", "setup", "setup_method", "setup_class", "setup_module", "setup_function",
	"pytest_runtest_setup", "pytest_collection_modifyitems", "pytest_ignore_collect", "pytest_collect_file",
}

// pyScope is a class or a function that we are in, by its indentation.
type pyScope struct {
	indent int
	first  int      // its first test
	fn     int      // the test or helper that it is, or -1 for a class or the file
	start  int      // where its code begins
	all    bool     // what skips in it skips other tests
	skips  []string // what skips all that is in it
}

// pyReader goes through a file statement by statement.
type pyReader struct {
	s          *suite
	text       string
	code       string // the text, masked
	at         int    // where the statement begins
	scopes     []pyScope
	decorators []string
	marks      map[string]string // names of marks that the file makes for itself
}

func (s *suite) parsePython(text, code string) {
	r := &pyReader{s: s, text: text, code: code, marks: map[string]string{}, scopes: []pyScope{{indent: -1, fn: -1}}}
	for r.at < len(code) {
		end := r.at + pyStatement(code[r.at:])
		line := code[r.at:end]
		if text := strings.TrimSpace(line); text != "" {
			r.statement(len(line)-len(strings.TrimLeft(line, " \t\f")), text)
		}
		r.at = end
	}
	for len(r.scopes) > 0 {
		r.leave()
	}
}

// pyStatement returns the length of the next logical line: brackets and
// backslashes continue one.
func pyStatement(code string) int {
	depth := 0
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '\n':
			continued := i > 0 && code[i-1] == '\\'
			// A definition ends what was left open, or a lost bracket would eat the rest.
			if !continued && (depth == 0 || pyBegin().MatchString(strings.TrimLeft(code[i+1:min(len(code), i+120)], " \t"))) {
				return i + 1
			}
		}
	}
	return len(code)
}

func (r *pyReader) statement(indent int, text string) {
	if text[0] == '@' {
		r.decorators = append(r.decorators, text)
		return
	}
	for len(r.scopes) > 1 && indent <= r.scopes[len(r.scopes)-1].indent {
		r.leave()
	}
	decorators := r.decorators
	r.decorators = nil
	if m := pyDef().FindStringSubmatch(text); m != nil {
		r.function(indent, m[1], text, decorators)
		return
	}
	if pyClass().MatchString(text) {
		r.scopes = append(r.scopes, pyScope{indent: indent, fn: -1, first: len(r.s.tests), skips: r.decorated(decorators)})
		return
	}
	r.line(text)
}

// function begins a test or a helper. What is defined in one belongs to it.
func (r *pyReader) function(indent int, name, text string, decorators []string) {
	if top := r.scopes[len(r.scopes)-1]; top.fn >= 0 {
		r.line(text)
		return
	}
	t := test{name: name, helper: !strings.HasPrefix(name, "test"), skips: r.decorated(decorators)}
	scope := pyScope{indent: indent, fn: len(r.s.tests), start: r.at}
	scope.all = slices.Contains(pyForAll, name) ||
		slices.ContainsFunc(decorators, func(d string) bool { return strings.Contains(d, "autouse") })
	r.s.tests = append(r.s.tests, t)
	r.scopes = append(r.scopes, scope)
	r.line(text)
}

// decorated is how decorators skip what they stand before.
func (r *pyReader) decorated(decorators []string) (skips []string) {
	for _, d := range decorators {
		for _, m := range pyMark().FindAllStringSubmatch(d, -1) {
			skips = append(skips, "pytest.mark."+m[1])
		}
		if m := pyDecorator().FindStringSubmatch(d); m != nil {
			skips = append(skips, "unittest."+m[1])
		}
		if m := pyNames().FindStringSubmatch(d); m != nil && r.marks[m[1]] != "" {
			skips = append(skips, r.marks[m[1]])
		}
	}
	return skips
}

// line is a statement within the innermost scope.
func (r *pyReader) line(text string) {
	top := &r.scopes[len(r.scopes)-1]
	var skips []string
	for _, m := range pyCall().FindAllStringSubmatch(text, -1) {
		skips = append(skips, strings.Join(strings.Fields(m[1]+m[2]), ""))
	}
	if top.fn >= 0 {
		r.s.tests[top.fn].skips = append(r.s.tests[top.fn].skips, skips...)
		return
	}
	top.skips = append(top.skips, skips...)
	if m := pyAlias().FindStringSubmatch(text); m != nil {
		top.skips = append(top.skips, r.assigned(m[1], text)...)
	}
}

// assigned is how a variable of a file or a class skips tests.
func (r *pyReader) assigned(name, text string) (skips []string) {
	marks := pyMark().FindAllStringSubmatch(text, -1)
	switch {
	case name == "pytestmark":
		for _, m := range marks {
			skips = append(skips, "pytest.mark."+m[1])
		}
	case name == "collect_ignore" && pyNoTests(r.text[r.at:r.at+pyStatement(r.code[r.at:])]):
	case name == "collect_ignore" || name == "collect_ignore_glob":
		r.s.silencers = append(r.s.silencers, name)
	case name == "__test__" && strings.Contains(text, "False"):
		skips = append(skips, "__test__ = False")
	case len(marks) > 0:
		r.marks[name] = "pytest.mark." + marks[0][1]
	}
	return skips
}

// pyNoTests says that a list names nothing but files that are no tests by their
// names, as a setup.py is none.
func pyNoTests(statement string) bool {
	m := pyList().FindStringSubmatch(statement)
	if m == nil {
		return false
	}
	for _, name := range pyString().FindAllStringSubmatch(m[1], -1) {
		if lang, _ := classify(name[1]); lang != none || !strings.HasSuffix(name[1], ".py") {
			return false
		}
	}
	return true
}

// leave ends the innermost scope. What skips a class or a file skips its tests, also
// those above; that it does so twice makes no difference.
func (r *pyReader) leave() {
	top := r.scopes[len(r.scopes)-1]
	r.scopes = r.scopes[:len(r.scopes)-1]
	if top.fn < 0 {
		if len(top.skips) == 0 {
			return
		}
		for i := range r.s.tests[top.first:] {
			if t := &r.s.tests[top.first+i]; !t.helper && !t.inherited {
				t.skips, t.inherited = append(t.skips, top.skips[0]), true
			}
		}
		return
	}
	t := &r.s.tests[top.fn]
	t.body = r.code[top.start:r.at]
	if !t.helper && pyReturn().MatchString(t.body) {
		t.skips = append(t.skips, "it returns at once")
	}
	if top.all {
		for range t.skips {
			r.s.silencers = append(r.s.silencers, "a skip in "+t.name)
		}
		t.skips = nil
	}
}
