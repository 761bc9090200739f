// Package tamper finds changes that make a gate easier to pass instead of the work better, as far as running the
// gates with the old tests does not show them. It reads files through its caller and never runs anything.
package tamper

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/glob"
	"ralph/internal/lazyregexp"
	"ralph/verify/suite"
)

// Finding is a change that makes a gate easier to pass instead of the work better.
type Finding struct {
	Path string
	What string // a sentence for people and agents, with the path in it
}

// Hard reports whether nothing excuses it but a person.
func (f Finding) Hard() bool { return strings.HasPrefix(f.What, "protected file ") }

// Find reports changes to what protect names, deleted test files, tests in sources of Rust that are ignored now, work
// that asks whether it is tested or replaces what its tests assert with, and files that git is made to ignore although
// they check the work.
func Find(changes []git.Change, s *suite.Suite, before, after suite.Read, protect []string) []Finding {
	var findings []Finding
	add := func(file, format string, args ...any) {
		findings = append(findings, Finding{file, fmt.Sprintf(format, args...)})
	}
	for i, c := range changes {
		touched(c, protect, add)
		old := cmp.Or(c.Old, c.Path)
		switch {
		case s.Tests(old) && gone(c, s, after) && !s.Orphaned(c, changes, after) && !moved(old, changes, s, before, after):
			add(old, "test file deleted: %s", plain(old))
		case c.Kind == git.Deleted || c.Kind == git.Mode:
		case path.Base(c.Path) == ".gitignore":
			for line := range newLines(old, c.Path, before, after) {
				if kind := s.Kind(strings.Trim(line, "/*")); line[0] != '.' && (kind == suite.Test || kind == suite.Settings) {
					add(c.Path, "git ignores a file that checks the work: %s (%s)", plain(line), plain(c.Path))
				}
			}
		case i < maxSources && slices.Contains(sources, path.Ext(c.Path)) && s.Kind(c.Path) == "":
			for line := range newLines(old, c.Path, before, after) {
				if asks.Get().MatchString(line) {
					add(c.Path, "the work asks whether it is tested: %s (%s)", plain(line), plain(c.Path))
				} else if replaces.Get().MatchString(line) {
					add(c.Path, "the work replaces what its tests assert with: %s (%s)", plain(line), plain(c.Path))
				}
			}
			for _, name := range newlyIgnored(old, c.Path, before, after) {
				add(c.Path, "test newly ignored: %s in %s", name, plain(c.Path))
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.What, b.What))
	})
	return findings
}

// maxSources is how many changes are read line by line: people do not write that many.
const maxSources = 2000

var sources = strings.Fields(".go .py .js .jsx .ts .tsx .mjs .cjs .rs .sh .bash")

// touched finds what protect names, in the project's folder and, by the same names, at the top of the repository around it.
func touched(c git.Change, protect []string, add func(file, format string, args ...any)) {
	protected := func(file string) bool {
		for strings.HasPrefix(file, "../") {
			file = file[len("../"):]
		}
		return glob.Match(protect, file)
	}
	switch {
	case protected(c.Path):
		verb := string(c.Kind)
		if c.Kind == git.Modified || c.Kind == git.Mode {
			verb = "changed"
		}
		add(c.Path, "protected file %s: %s", verb, plain(c.Path))
	case c.Old != "" && protected(c.Old):
		add(c.Old, "protected file renamed: %s -> %s", plain(c.Old), plain(c.Path))
	}
}

// gone reports whether nothing is left of a test file that a runner finds.
func gone(c git.Change, s *suite.Suite, after suite.Read) bool {
	if c.Kind != git.Modified {
		return c.Kind == git.Deleted || c.Kind == git.Renamed && !s.Tests(c.Path)
	}
	text, err := after(c.Path)
	return err == nil && len(bytes.TrimSpace(text)) == 0
}

var heading = lazyregexp.New(`^(?:package|import|from|use|require|require_relative|include|const \w+ = require|using|namespace|#|//|"|'|\)|\}|\()`)

// moved reports whether each line of a deleted test file is in test files that were added or changed.
func moved(file string, changes []git.Change, s *suite.Suite, before, after suite.Read) bool {
	text, err := before(file)
	if err != nil {
		return false
	}
	lines := suite.Lines(changes, after, s.Tests)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !lines[line] && !heading.Get().MatchString(line) {
			return false
		}
	}
	return len(lines) > 0
}

// newLines are those of a file that it did not have. A file that cannot be read has none.
func newLines(old, now string, before, after suite.Read) iter.Seq[string] {
	return func(yield func(string) bool) {
		was, _ := before(old)
		is, _ := after(now)
		known := map[string]bool{"": true}
		for line := range strings.Lines(string(was)) {
			known[strings.TrimSpace(line)] = true
		}
		for line := range strings.Lines(string(is)) {
			if line = strings.TrimSpace(line); !known[line] && !yield(line) {
				return
			}
		}
	}
}

// asks is how code learns that a test runs it.
var asks = lazyregexp.New(`\btesting\.Testing\(\)|flag\.Lookup\("test\.|os\.Args\[0\].*\.test\b|PYTEST_CURRENT_TEST|["'](?:pytest|unittest)["'] in sys\.modules|` +
	`sys\.modules.*["'](?:pytest|unittest)["']|JEST_WORKER_ID|NODE_TEST_CONTEXT|\bVITEST_(?:WORKER_ID|POOL_ID)\b|process\.env\.VITEST\b|typeof (?:jest|describe|it)\b|BATS_TEST`)

// replaces is how code changes assertions that are not its own.
var replaces = lazyregexp.New(`\bmacro_rules!\s*(?:debug_)?(?:assert|panic)(?:_\w+)?\b|\b(?:assert|chai|unittest|TestCase)(?:\.\w+)+\s*=[^=>]`)

var (
	rustTest   = lazyregexp.New(`((?:#\[[^\]]*\]\s*)+)(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+(\w+)`)
	rustIsTest = lazyregexp.New(`#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b`)
	rustIgnore = lazyregexp.New(`#\[\s*(?:ignore\b|cfg_attr\s*\(.*\bignore\b|cfg\s*\(\s*(?:any\s*\(\s*\)|false|feature))`)
)

// newlyIgnored lists the tests of a source file of Rust that ran before.
func newlyIgnored(old, now string, before, after suite.Read) (names []string) {
	if path.Ext(now) != ".rs" {
		return nil
	}
	tests := func(file string, read suite.Read) map[string]bool {
		text, _ := read(file)
		ignored := map[string]bool{}
		for _, m := range rustTest.Get().FindAllStringSubmatch(suite.MaskRust(string(text)), -1) {
			if rustIsTest.Get().MatchString(m[1]) {
				ignored[m[2]] = ignored[m[2]] || rustIgnore.Get().MatchString(m[1])
			}
		}
		return ignored
	}
	was := tests(old, before)
	for name, ignored := range tests(now, after) {
		if before, had := was[name]; had && ignored && !before {
			names = append(names, name)
		}
	}
	return names
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
