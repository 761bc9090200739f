// Package tamper finds changes that make a gate easier to pass instead of the work
// better. It reads files through its caller and never runs anything.
package tamper

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/glob"
)

// Finding is a change that makes a gate easier to pass instead of the work better.
type Finding struct {
	Path string
	What string // a sentence for people and agents, with the path in it
}

// Hard says that nothing excuses it but a person.
func (f Finding) Hard() bool { return strings.HasPrefix(f.What, "protected file ") }

// Read returns the text of a file as it was at one of two moments.
type Read func(path string) ([]byte, error)

// Find reports changes that delete tests, keep them from running, or touch what protect
// names (see package glob). Adding, editing, renaming and moving tests is ordinary work and
// never reported; nor is a new test that is skipped.
//
// It knows the tests of Go, JavaScript and TypeScript, Python and Rust by patterns. It
// does not see a test that checks less than before, a case deleted from a table, or what
// other files make a test runner do: those are what protect is for. A new condition that
// skips an existing test is always reported, because nobody knows whether it holds where
// the gates run.
func Find(changes []git.Change, before, after Read, protect []string) []Finding {
	var findings []Finding
	pairs := map[language][]pair{}
	for _, c := range changes {
		if f, is := touched(c, protect); is {
			findings = append(findings, f)
		}
		p, f := readPair(c, before, after)
		findings = append(findings, f...)
		if p.after.file != "" && p.after.lang != p.before.lang { // a file of its own
			pairs[p.after.lang] = append(pairs[p.after.lang], pair{after: p.after})
			p.after = suite{}
		}
		if p.before.file != "" {
			pairs[p.before.lang] = append(pairs[p.before.lang], p)
		}
	}
	for _, list := range pairs {
		findings = append(findings, compare(list)...)
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.What, b.What))
	})
	return findings
}

func touched(c git.Change, protect []string) (Finding, bool) {
	switch {
	case glob.Match(protect, c.Path):
		verb := string(c.Kind)
		if c.Kind == git.Modified || c.Kind == git.Mode {
			verb = "changed"
		}
		return Finding{c.Path, fmt.Sprintf("protected file %s: %s", verb, plain(c.Path))}, true
	case c.Old != "" && glob.Match(protect, c.Old):
		return Finding{c.Old, fmt.Sprintf("protected file renamed: %s -> %s", plain(c.Old), plain(c.Path))}, true
	}
	return Finding{}, false
}

// pair is a file that may hold tests, before and after. A side without a file, or
// whose file holds no tests by its name, is empty.
type pair struct {
	before, after suite
	renamed       string // what the file is called now
}

type suite struct {
	file      string
	lang      language
	named     bool // by its name it can be nothing but tests
	tests     []test
	silencers []string // what keeps tests from running that are elsewhere
}

// test is a test, or a helper of tests, which may skip them.
type test struct {
	name   string
	helper bool
	skips  []string // how it is skipped; nothing if it always runs
	body   string   // its code, masked

	twin      string // the same for all tests that do exactly the same; empty where that is not known
	inherited bool   // one of the skips is that of what it is in
}

// readPair reads a changed file if it may hold tests.
func readPair(c git.Change, before, after Read) (p pair, findings []Finding) {
	old, now := c.Path, c.Path
	switch c.Kind {
	case git.Added:
		old = ""
	case git.Deleted:
		now = ""
	case git.Renamed:
		old, p.renamed = c.Old, c.Path
	case git.Mode:
		return p, nil
	}
	open := func(file string, read Read) (s suite, text string) {
		if s.lang, s.named = classify(file); s.lang == none {
			return s, ""
		}
		s.file = file
		data, err := read(file)
		if err != nil {
			findings = append(findings, Finding{file, fmt.Sprintf("test file cannot be checked: %s (%v)", plain(file), err)})
		}
		return s, string(data)
	}
	var oldText, nowText string
	p.before, oldText = open(old, before)
	p.after, nowText = open(now, after)
	if findings != nil || old == now && oldText == nowText {
		return pair{}, findings
	}
	p.before.parse(oldText)
	p.after.parse(nowText)
	return p, nil
}

func (s *suite) parse(text string) {
	code := mask(s.lang, text)
	switch s.lang {
	case golang:
		s.parseGo(text, code)
	case javascript:
		s.parseJavaScript(text, code)
	case python:
		s.parsePython(text, code)
	case rust:
		s.parseRust(code)
	}
}

// plain makes a name from a repository fit for one line.
func plain(name string) string {
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	if quoted := fmt.Sprintf("%q", name); quoted != `"`+name+`"` && strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return quoted
	}
	return name
}

// language is one whose tests we know.
type language int

const (
	none language = iota
	golang
	javascript
	python
	rust
)

// classify says by its name which tests a file may hold, and whether it is named
// as one that holds tests. Folders that test runners leave out hold none.
func classify(file string) (lang language, named bool) {
	if file == "" {
		return none, false
	}
	folders := strings.Split(file, "/")
	base := folders[len(folders)-1]
	folders = folders[:len(folders)-1]
	in := func(names ...string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return slices.Contains(names, f) })
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch path.Ext(base) {
	case ".go":
		hidden := func(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
		if !strings.HasSuffix(stem, "_test") || hidden(base) || slices.ContainsFunc(folders, hidden) || in("testdata", "vendor") {
			return none, false
		}
		return golang, true
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		named = slices.Contains([]string{".test", ".spec", ".cy", ".e2e"}, path.Ext(stem)) || in("__tests__")
		if in("node_modules") || (!named && !in("test", "tests", "spec", "e2e", "cypress")) {
			return none, false
		}
		return javascript, named && !in("__tests__")
	case ".py":
		named = strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test")
		if in("site-packages", "node_modules", ".venv", "venv") || (!named && !in("test", "tests") && stem != "conftest" && stem != "tests") {
			return none, false
		}
		return python, named
	case ".rs":
		if in("target", "vendor") {
			return none, false
		}
		return rust, len(folders) > 0 && folders[len(folders)-1] == "tests"
	}
	return none, false
}
