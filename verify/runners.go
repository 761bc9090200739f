package verify

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/git"
)

// LeftOut says which changes make a test runner leave out tests that were there when
// the task began; files lists what was. It knows what Jest and pytest read. To leave
// out what is new, or what holds no tests, is work like any other.
func LeftOut(changes []git.Change, before, after Read, files func() ([]string, error)) ([]Finding, error) {
	var findings []Finding
	var tests []string
	for _, c := range changes {
		read := leavers(c.Path)
		if read == nil || c.Kind == git.Deleted || c.Kind == git.Mode {
			continue
		}
		old := c.Path
		if c.Kind == git.Renamed {
			old = c.Old
		}
		var was []leaver
		if text, err := before(old); err == nil && c.Kind != git.Added {
			was = read(string(text))
		}
		text, err := after(c.Path)
		if err != nil {
			continue // too large to be one
		}
		for _, l := range read(string(text)) {
			if slices.ContainsFunc(was, func(w leaver) bool { return w.what == l.what }) {
				continue
			}
			if tests == nil {
				all, err := files()
				if err != nil {
					return findings, err
				}
				tests = slices.DeleteFunc(all, func(name string) bool {
					lang, named := classify(name)
					return lang != javascript && (lang != python || !named)
				})
			}
			folder := path.Dir(c.Path)
			if i := slices.IndexFunc(tests, func(name string) bool { return l.out(below(folder, name)) }); i >= 0 {
				findings = append(findings, Finding{c.Path, fmt.Sprintf("tests newly silenced: %s leaves out %s (%s)", plain(c.Path), plain(tests[i]), plain(l.what))})
			}
		}
	}
	return findings, nil
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

// leaver is one thing in a configuration that leaves tests out.
type leaver struct {
	what string
	out  func(name string) bool
}

var (
	jestIgnores = lazily(`(?:testPathIgnorePatterns|modulePathIgnorePatterns)["']?\s*:\s*\[([^\]]*)\]`)
	jsString    = lazily("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'")
	pyIgnores   = lazily(`--(ignore|ignore-glob|deselect)[= ]["']?([^\s"',\]]+)`)
	pyCollects  = lazily(`(?:^|[\s"'])(--collect-only|--co)(?:$|[\s"'])`)
	pyFolders   = lazily(`(?m)^norecursedirs\s*=([^\n]*(?:\n[ \t]+[^\n]*)*)`)
)

// leavers reads a file of a test runner, or is nil for another.
func leavers(file string) func(text string) []leaver {
	base := path.Base(file)
	switch {
	case base == "package.json", strings.HasPrefix(base, "jest.config."):
		return jestLeavers
	case slices.Contains([]string{"pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"}, base):
		return pytestLeavers
	}
	return nil
}

func jestLeavers(text string) (list []leaver) {
	for _, m := range jestIgnores().FindAllStringSubmatch(text, -1) {
		for _, s := range jsString().FindAllStringSubmatch(m[1], -1) {
			pattern := strings.ReplaceAll(s[1]+s[2], `\\`, `\`)
			list = append(list, leaver{pattern, func(name string) bool {
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

func pytestLeavers(text string) (list []leaver) {
	for _, m := range pyIgnores().FindAllStringSubmatch(text, -1) {
		option, value := m[1], strings.TrimPrefix(m[2], "./")
		list = append(list, leaver{"--" + option + " " + value, func(name string) bool {
			file, _, _ := strings.Cut(value, "::")
			if option == "ignore-glob" {
				ok, _ := path.Match(file, name)
				return name != "" && (ok || strings.Trim(file, "*") == "" || matches(strings.Split(file, "/"), strings.Split(name, "/")))
			}
			return name == file || strings.HasPrefix(name, strings.TrimSuffix(file, "/")+"/")
		}})
	}
	for _, m := range pyCollects().FindAllStringSubmatch(text, -1) {
		list = append(list, leaver{m[1], func(string) bool { return true }})
	}
	for _, m := range pyFolders().FindAllStringSubmatch(text, -1) {
		for _, word := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(" \t\n,[]\"'", r) }) {
			list = append(list, leaver{"norecursedirs " + word, func(name string) bool {
				folders := strings.Split(path.Dir(name), "/")
				return name != "" && slices.ContainsFunc(folders, func(f string) bool { ok, _ := path.Match(word, f); return ok && f != "." })
			}})
		}
	}
	return list
}
