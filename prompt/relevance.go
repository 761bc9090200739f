package prompt

import (
	"strings"
	"unicode"
)

// namedFirst moves the Markdown sections that the task names to the front, each
// with its subsections, and leaves the order alone otherwise. A section is named
// when every telling word of its heading, or the number it begins with, occurs in
// the task's text.
func namedFirst(text, task string) string {
	words := map[string]bool{}
	for _, w := range splitWords(task) {
		words[w] = true
	}
	var named, rest strings.Builder
	level := 0 // of the named section we are in
	for _, s := range sections(text) {
		if level > 0 && s.level <= level {
			level = 0
		}
		if level == 0 && s.isNamed(words) {
			level = s.level
		}
		if level > 0 {
			named.WriteString(s.text)
		} else {
			rest.WriteString(s.text)
		}
	}
	return strings.TrimRight(named.String()+rest.String(), "\n")
}

type section struct {
	level   int // 0 for what stands before the first heading
	heading string
	text    string // ends with a line break
}

// sections cuts Markdown at its headings, but not inside fences.
func sections(text string) []section {
	var all []section
	current := section{}
	start, fence := 0, ""
	text += "\n"
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\n') + 1
		line := strings.TrimSpace(text[at:end])
		level := headingLevel(line)
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
		case level > 0:
			current.text = text[start:at]
			all = append(all, current)
			current = section{level: level, heading: line[level:]}
			start = at
		}
		at = end
	}
	current.text = text[start:]
	return append(all, current)
}

func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n > 6 || n == len(line) || line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

func (s *section) isNamed(task map[string]bool) bool {
	if s.level == 0 {
		return false
	}
	telling := 0
	for i, w := range splitWords(s.heading) {
		if i == 0 && strings.ContainsAny(w, "0123456789") && task[w] {
			return true
		}
		if len(w) < 3 || isCommon(w) || unicode.IsDigit(rune(w[0])) {
			continue
		}
		telling++
		if !task[w] {
			return false
		}
	}
	return telling > 0
}

// splitWords lowers words and keeps numbers such as 3.2 in one piece.
func splitWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var out []string
	for _, w := range words {
		if unicode.IsDigit(rune(w[0])) {
			out = append(out, strings.Trim(w, "."))
			continue
		}
		for part := range strings.SplitSeq(w, ".") {
			if part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

func isCommon(word string) bool {
	switch word {
	case "the", "and", "for", "with", "how", "what", "from", "into", "section", "part", "task", "tasks":
		return true
	}
	return false
}
