package tamper

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/glob"
	"ralph/internal/lazyregexp"
)

// ExcludedTests says which changes make a test runner leave out tests that were there when
// the task began; files lists what was. It knows what Jest and pytest read. To leave
// out what is new, or what holds no tests, is work like any other.
func ExcludedTests(changes []git.Change, before, after Read, files func() ([]string, error)) ([]Finding, error) {
	was := map[string]bool{} // by what it says: settings move from one file to another
	for _, c := range changes {
		old := c.Path
		if c.Kind == git.Renamed {
			old = c.Old
		}
		if _, read := exclusions(old); read != nil && c.Kind != git.Added {
			text, _ := before(old)
			for _, l := range read(string(text)) {
				was[l.what] = true
			}
		}
	}
	var findings []Finding
	var were []string // the files that were there
	for _, c := range changes {
		lang, read := exclusions(c.Path)
		if read == nil || c.Kind == git.Deleted || c.Kind == git.Mode {
			continue
		}
		text, err := after(c.Path)
		if err != nil {
			continue // too large to be one
		}
		for _, l := range read(string(text)) {
			if was[l.what] {
				continue
			}
			if were == nil {
				if were, err = files(); err != nil {
					return findings, err
				}
			}
			out := func(name string) bool {
				return runs(name, lang) && l.out(below(path.Dir(c.Path), name)) && !elsewhere(name, were, changes)
			}
			if i := slices.IndexFunc(were, out); i >= 0 {
				findings = append(findings, Finding{c.Path, fmt.Sprintf("tests newly silenced: %s leaves out %s (%s)", plain(c.Path), plain(were[i]), plain(l.what))})
			}
		}
	}
	return findings, nil
}

// runs says that the runner for a language takes a file for one with tests.
func runs(name string, lang language) bool {
	is, named := classify(name)
	return is == lang && (named || is == javascript && slices.Contains(strings.Split(name, "/"), "__tests__"))
}

// elsewhere says that a test is for a browser, and that there is a runner of its own
// for those: Jest is configured to leave them to it.
func elsewhere(name string, were []string, changes []git.Change) bool {
	folders := strings.Split(path.Dir(name), "/")
	if !slices.ContainsFunc(folders, func(f string) bool { return f == "e2e" || f == "cypress" || f == "playwright" }) {
		return false
	}
	return slices.ContainsFunc(were, browsing) || slices.ContainsFunc(changes, func(c git.Change) bool { return browsing(c.Path) && c.Kind != git.Deleted })
}

func browsing(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "playwright.config.") || strings.HasPrefix(base, "cypress.config.")
}

// below is a name as it is seen from a folder, "" if it is not in it.
func below(folder, name string) string {
	if folder == "." {
		return name
	}
	rest, in := strings.CutPrefix(name, folder+"/")
	if !in {
		return ""
	}
	return rest
}

// exclusion is one thing in a configuration that leaves tests out.
type exclusion struct {
	what string
	out  func(name string) bool
}

var (
	jestIgnores = lazyregexp.New(`(?:testPathIgnorePatterns|modulePathIgnorePatterns)["']?\s*:\s*\[([^\]]*)\]`)
	jsString    = lazyregexp.New("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'")
	pyIgnores   = lazyregexp.New(`--(ignore|ignore-glob|deselect)[= ]["']?([^\s"',\]]+)`)
	pyCollects  = lazyregexp.New(`(?:^|[\s"'])(--collect-only|--co)(?:$|[\s"'])`)
	pyFolders   = lazyregexp.New(`(?m)^norecursedirs\s*=([^\n]*(?:\n[ \t]+[^\n]*)*)`)
)

// exclusions reads a file of a test runner, of which it tells the language, or is nil for
// another.
func exclusions(file string) (language, func(text string) []exclusion) {
	base := path.Base(file)
	switch {
	case base == "package.json", strings.HasPrefix(base, "jest.config."):
		return javascript, jestExclusions
	case slices.Contains([]string{"pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"}, base):
		return python, pytestExclusions
	}
	return none, nil
}

func jestExclusions(text string) (list []exclusion) {
	for _, m := range jestIgnores().FindAllStringSubmatch(text, -1) {
		for _, s := range jsString().FindAllStringSubmatch(m[1], -1) {
			pattern := strings.ReplaceAll(s[1]+s[2], `\\`, `\`)
			list = append(list, exclusion{pattern, func(name string) bool {
				expr, err := regexp.Compile(strings.ReplaceAll(pattern, "<rootDir>", "^"))
				if name == "" || err != nil {
					return false
				}
				return expr.MatchString("/" + name)
			}})
		}
	}
	return list
}

func pytestExclusions(text string) (list []exclusion) {
	for _, m := range pyIgnores().FindAllStringSubmatch(text, -1) {
		option, value := m[1], strings.TrimPrefix(m[2], "./")
		list = append(list, exclusion{"--" + option + " " + value, func(name string) bool {
			file, _, _ := strings.Cut(value, "::")
			if option == "ignore-glob" {
				ok, _ := path.Match(file, name)
				return name != "" && (ok || strings.Trim(file, "*") == "" || glob.Match([]string{file}, name))
			}
			return name == file || strings.HasPrefix(name, strings.TrimSuffix(file, "/")+"/")
		}})
	}
	for _, m := range pyCollects().FindAllStringSubmatch(text, -1) {
		list = append(list, exclusion{m[1], func(string) bool { return true }})
	}
	for _, m := range pyFolders().FindAllStringSubmatch(text, -1) {
		for _, word := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(" \t\n,[]\"'", r) }) {
			list = append(list, exclusion{"norecursedirs " + word, func(name string) bool {
				folders := strings.Split(path.Dir(name), "/")
				return name != "" && slices.ContainsFunc(folders, func(f string) bool { ok, _ := path.Match(word, f); return ok && f != "." })
			}})
		}
	}
	return list
}
