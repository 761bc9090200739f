package prompt

import (
	"strings"
	"unicode"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/words"
)

// namedSections returns the Markdown sections that the task names and that reach beyond
// the bytes that are shown, each with its subsections. A section is named when every
// telling word of its heading occurs in the task's text, or the number it begins with,
// or a pair such as "Step 3", or a label such as R12 that stands at the beginning of one
// of its lines.
func namedSections(text, task string, shown int) string {
	said := words.TextOf(words.Names(task), labelPattern.Get().FindAllString(task, -1))
	var named strings.Builder
	level, start := 0, 0 // level is that of the named section we are in
	all := sections(text)
	title := titleLevel(all)
	for _, s := range all {
		if level > 0 && s.level <= level {
			level = 0
		}
		if level == 0 && s.level > title && s.isNamed(said) {
			level = s.level
		}
		if level > 0 && start+len(strings.TrimRight(s.text, "\n")) > shown {
			named.WriteString(s.text)
		}
		start += len(s.text)
	}
	return named.String()
}

// titleLevel is the level of the heading that stands above all others, or 0. To name
// a document's title is to name all of it, which is the same as nothing.
func titleLevel(all []section) int {
	top, count := 0, 0
	for _, s := range all {
		switch {
		case s.level == 0:
		case top == 0 || s.level < top:
			top, count = s.level, 1
		case s.level == top:
			count++
		}
	}
	if count == 1 && len(all) > 2 {
		return top
	}
	return 0
}

type section struct {
	level   int // 0 for what stands before the first heading
	heading string
	text    string // ends with a line break
}

// sections cuts Markdown at its headings, but not inside fences.
func sections(text string) []section {
	all := []section{{}}
	start, end := 0, 0
	var code plain.Fence
	text += "\n"
	for raw := range strings.Lines(text) {
		line := strings.TrimSpace(raw)
		level := headingLevel(line)
		switch {
		case code.Next(line) || code.Open():
		case level > 0:
			start, all = end, append(all, section{level: level, heading: line[level:]})
		}
		end += len(raw)
		all[len(all)-1].text = text[start:end]
	}
	return all
}

func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n > 6 || n == len(line) || line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

func (s *section) isNamed(task words.Text) bool {
	if s.level == 0 {
		return false
	}
	for line := range strings.SplitSeq(s.text, "\n") {
		if label := labelPattern.Get().FindString(line); label != "" && task.Holds(label) && leads(line, label) {
			return true
		}
	}
	telling := 0
	heading := words.Names(s.heading)
	if len(heading) > 1 && unicode.IsDigit(rune(heading[1][0])) {
		if task.Holds(heading[0]+" "+heading[1]) || task.Holds(heading[0]+"s "+heading[1]) {
			return true
		}
		heading = heading[2:] // "step" alone tells nothing
	}
	for i, w := range heading {
		if i == 0 && strings.ContainsAny(w, "0123456789") && task.Holds(w) {
			return true
		}
		if len(w) < 3 || !words.Tells(w) || strings.Contains(parts, " "+w+" ") || unicode.IsDigit(rune(w[0])) {
			continue
		}
		telling++
		if !task.Holds(w) {
			return false
		}
	}
	return telling > 0
}

// labelPattern is how requirements are numbered: R12, FR-3.
var labelPattern = lazyregexp.New(`\b[A-Z]{1,5}-?[0-9]+\b`)

// leads says that nothing but marks of Markdown stands before a label: there it is
// defined, elsewhere it is only mentioned.
func leads(line, label string) bool {
	before, _, _ := strings.Cut(line, label)
	return strings.Trim(before, " \t#>*_-+|`[") == ""
}

// parts are words of headings that name a part and not what it is about.
const parts = " section part task tasks "
