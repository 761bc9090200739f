package coverage

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"ralph/verify/suite"
)

// v8 is what one process of Node wrote.
type v8 struct {
	Result []struct {
		URL       string
		Functions []struct{ Ranges []v8Range }
	}
	Maps map[string]struct {
		LineLengths []int
		Data        *sourceMap
	} `json:"source-map-cache"`
}

type v8Range struct {
	StartOffset, EndOffset, Count int
}

// nodeSaid are the lines of changed files as processes of Node wrote them. A script counts if what ran is the file itself, or a map leads
// back to it: offsets into what another tool made of it mean nothing here. Ran is true if scripts of the project ran.
func nodeSaid(dir, root string, files []string, read Read) (p Profile, ran bool, err error) {
	wanted := map[string]bool{}
	p = Profile{}
	for _, file := range files {
		wanted[file] = languageOf(file) == javascript
	}
	seen, tested := map[string]bool{}, false
	err = saidIn(dir, "coverage-", func(text []byte) {
		var said v8
		if json.Unmarshal(text, &said) != nil { // the process was killed while it wrote
			return
		}
		for _, script := range said.Result {
			file, ok := projectFile(script.URL, root)
			if !ok {
				continue
			}
			seen[file] = true
			tested = tested || suite.IsTest(file)
			var ranges []v8Range
			for _, f := range script.Functions {
				ranges = append(ranges, f.Ranges...)
			}
			if len(ranges) == 0 {
				continue
			}
			if m, mapped := said.Maps[script.URL]; mapped && m.Data != nil {
				p.mapped(file, root, *m.Data, m.LineLengths, ranges, wanted, seen, read)
				continue
			}
			if !wanted[file] {
				continue
			}
			if src, err := read(file); err == nil {
				p.script(file, string(src), ranges)
			}
		}
	})
	for file := range wanted { // no process loaded it, whatever made of it
		if !tested || !wanted[file] || seen[file] {
			continue
		}
		if slices.Contains([]string{".js", ".mjs", ".cjs"}, path.Ext(file)) {
			if src, err := read(file); err == nil {
				for line := range jsLines(string(src)) {
					p.add(file, line, false)
				}
			}
		}
	}
	return p, len(seen) > 0, err
}

// projectFile is the file of the project that a script is.
func projectFile(address, root string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	rel, err := filepath.Rel(root, filepath.FromSlash(u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// maxSteps is more than the functions of a real script take, which are in one another.
const maxSteps = 1 << 29

// ranIn tells which UTF-16 units of a script ran. Of ranges in one another the inner one counts; V8 lists it later. It is nil for what V8
// cannot have written: a gate could keep ralph busy with that.
func ranIn(length int, ranges []v8Range) []bool {
	ran, steps := make([]bool, length), 0
	for _, r := range ranges {
		from, to := max(r.StartOffset, 0), min(r.EndOffset, length)
		if steps += max(to-from, 0); steps > maxSteps {
			return nil
		}
		for i := from; i < to; i++ {
			ran[i] = r.Count > 0
		}
	}
	return ran
}

// script notes the lines of a script that ran as it is in its file.
func (p Profile) script(file, src string, ranges []v8Range) {
	units := utf16.Encode([]rune(src))
	if ranges[0].StartOffset != 0 || ranges[0].EndOffset != len(units) {
		return // something else ran under its name
	}
	ran, code, line := ranIn(len(units), ranges), jsLines(src), 1
	if ran == nil {
		return
	}
	executed := map[int]bool{}
	for i, unit := range units {
		switch {
		case unit == '\n':
			line++
		case ran[i] && unit > ' ' && !strings.ContainsRune("{}()[];,", rune(unit)):
			executed[line] = true
		}
	}
	for line := range code {
		p.add(file, line, executed[line])
	}
}

// jsLines are the lines of a script with more than punctuation and comments.
func jsLines(src string) map[int]bool {
	lines, line := map[int]bool{}, 1
	var quote byte // of the text or comment that it is in: /  for // and * for /* */
	for i := 0; i < len(src); i++ {
		c, next := src[i], byte(0)
		if i+1 < len(src) {
			next = src[i+1]
		}
		switch {
		case c == '\n':
			line++
			if quote != '`' && quote != '*' {
				quote = 0
			}
		case quote == '/':
		case quote == '*':
			if c == '*' && next == '/' {
				quote, i = 0, i+1
			}
		case quote != 0:
			lines[line] = lines[line] || quote == '`' && c > ' '
			if c == '\\' && next != '\n' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '/' && (next == '/' || next == '*'):
			quote, i = next, i+1
		case c == '"' || c == '\'' || c == '`':
			quote, lines[line] = c, true
		case c > ' ' && !strings.ContainsRune("{}()[];,", rune(c)):
			lines[line] = true
		}
	}
	at := 0
	for text := range strings.Lines(src) {
		if at++; strings.Trim(text, " \t\r\n{}") == "else" || strings.HasPrefix(strings.TrimSpace(text), "import ") {
			delete(lines, at)
		}
	}
	return lines
}
