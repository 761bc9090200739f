// Package coverage knows which changed lines of code the checks of a project executed. It asks the tools of a language for that through
// the environment alone: for Go, Python, and JavaScript with TypeScript. What was not measured is not counted.
package coverage

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/git"
	"ralph/verify/suite"
)

// Read returns the text of a file of the project, as it was measured.
type Read = suite.Read

// Mode is what is made of coverage.
type Mode string

// The modes.
const (
	Off  Mode = "off"
	Show Mode = "show" // to the verifier; without one, work of which too little was executed is held
	Ask  Mode = "ask"  // the session is asked first, once, to test or remove what was not
)

// Lines are those lines of a file that can be executed, from 1, and whether one was.
type Lines map[int]bool

// Profile has the lines of files, which are named as they are seen from the project.
type Profile map[string]Lines

// add notes a line. What one run executed, no other takes back.
func (p Profile) add(file string, line int, executed bool) {
	if p[file] == nil {
		p[file] = Lines{}
	}
	p[file][line] = p[file][line] || executed
}

// Merge adds what another profile has.
func (p Profile) Merge(other Profile) {
	for file, lines := range other {
		for line, executed := range lines {
			p.add(file, line, executed)
		}
	}
}

// Report is what a profile says of changes.
type Report struct {
	Unexecuted []string // "path:10-14: text of the first line"
	Missed     int      // lines of these
	Changed    int      // added or changed lines that can be executed, in files that were measured
}

// enough of the changed lines have to be executed, in percent: with less, a person looks at work that no verifier sees.
const enough = 80

// TooFew reports whether too little of the change was executed.
func (r Report) TooFew() bool { return r.Changed > 0 && 100*(r.Changed-r.Missed) < enough*r.Changed }

// String is the report in one line.
func (r Report) String() string {
	const most = 5
	text := fmt.Sprintf("no gate executed %d of %d changed lines of code: ", r.Missed, r.Changed) + strings.Join(r.Unexecuted[:min(most, len(r.Unexecuted))], "; ")
	if more := len(r.Unexecuted) - most; more > 0 {
		text += fmt.Sprintf("; and %d more places", more)
	}
	return text
}

// Measurable lists the changed files of which coverage can be known: code that is not a test.
func Measurable(changes []git.Change) (files []string) {
	for _, c := range changes {
		if c.Kind == git.Deleted || c.Kind == git.Mode || c.Added == 0 {
			continue
		}
		if languageOf(c.Path) != "" && !suite.IsTest(c.Path) && !foreign(c.Path) {
			files = append(files, c.Path)
		}
	}
	return files
}

type language string

const (
	golang     language = "go"
	python     language = "python"
	javascript language = "javascript"
)

func languageOf(file string) language {
	switch strings.ToLower(path.Ext(file)) {
	case ".go":
		return golang
	case ".py":
		return python
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx":
		if strings.HasSuffix(file, ".d.ts") {
			return ""
		}
		return javascript
	}
	return ""
}

// foreign reports whether a file is someone else's code, or only data of tests.
func foreign(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		return slices.Contains([]string{"vendor", "node_modules", "testdata", "site-packages", "third_party"}, dir)
	})
}

// Unexecuted compares changes with a profile.
func Unexecuted(changes []git.Change, p Profile) (r Report) {
	measurable := Measurable(changes)
	for _, c := range changes {
		if lines := p[c.Path]; lines != nil && slices.Contains(measurable, c.Path) {
			r.file(c, lines)
		}
	}
	return r
}

// file adds what is known of one file.
func (r *Report) file(c git.Change, lines Lines) {
	added := Added(c.Patch)
	var missed []int
	for line := range added {
		executed, executable := lines[line]
		if !executable || strings.TrimSpace(added[line]) == "" {
			continue
		}
		r.Changed++
		if !executed {
			missed = append(missed, line)
		}
	}
	slices.Sort(missed)
	r.Missed += len(missed)
	for len(missed) > 0 {
		n := 1
		for n < len(missed) && lines.joined(missed[n-1], missed[n]) {
			n++
		}
		r.Unexecuted = append(r.Unexecuted, place(c.Path, missed[0], missed[n-1], added[missed[0]]))
		missed = missed[n:]
	}
}

// joined reports whether two lines that were not executed read as one place: what is between them cannot be executed.
func (l Lines) joined(a, b int) bool {
	const near = 4 // lines
	for line := a + 1; line < b; line++ {
		if _, executable := l[line]; executable {
			return false
		}
	}
	return b-a <= near
}

func place(file string, from, to int, text string) string {
	const most = 120
	at := strconv.Itoa(from)
	if to > from {
		at += "-" + strconv.Itoa(to)
	}
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return file + ":" + at + ": " + text
}

// Added are the lines that a patch of one file adds, by their numbers in the new file.
func Added(patch string) map[int]string {
	added := map[int]string{}
	line, in := 0, false
	for text := range strings.Lines(patch) {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		switch {
		case strings.HasPrefix(text, "@@ "):
			line, in = begins(text)
		case !in || strings.HasPrefix(text, "-") || strings.HasPrefix(text, `\`):
		case strings.HasPrefix(text, "+"):
			added[line] = text[1:]
			line++
		default:
			line++
		}
	}
	return added
}

// begins reads where a hunk begins in the new file: "@@ -1,2 +3,4 @@".
func begins(text string) (line int, ok bool) {
	_, rest, ok := strings.Cut(text, " +")
	if !ok {
		return 0, false
	}
	end := strings.IndexAny(rest, ", ")
	if end < 0 {
		return 0, false
	}
	line, err := strconv.Atoi(rest[:end])
	return line, err == nil
}
