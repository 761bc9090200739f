package shellagent

import "strings"

// pieces is a prompt taken apart: what ralph itself says and what it quotes.
// Ralph quotes whatever it did not write, each line behind ">", so only a
// quotation in the section of the assigned task is a task's description.
type pieces struct {
	words      string   // ralph's own, in the section of the assigned task
	quotations []string // in that section, without their marks
	elsewhere  string   // ralph's own words outside of it
}

// find returns the first block of a wanted language among the quotations. A
// block never goes on from one into the next, and one line, such as the task's
// title, holds none whatever it says.
func (p pieces) find(wanted func(language string) bool) (block, bool) {
	for _, q := range p.quotations {
		if strings.Count(q, "\n") < 2 {
			continue
		}
		if b, ok := first(q, wanted); ok {
			return b, true
		}
	}
	return block{}, false
}

// parts takes a prompt apart. The section goes from the first heading of its
// name to the next one of its level or a higher one; headings in ralph's own
// code blocks are none.
func parts(prompt string) pieces {
	var p pieces
	var words, elsewhere, quotation strings.Builder
	end := func() {
		if quotation.Len() > 0 {
			p.quotations = append(p.quotations, quotation.String())
			quotation.Reset()
		}
	}
	var f fence
	level, seen := 0, false
	for line := range strings.Lines(prompt) {
		if text, quoted := unquoted(line); quoted && !f.open() {
			if level > 0 {
				quotation.WriteString(text)
			}
			continue
		}
		end()
		if n, title := headingOf(line); n > 0 && !f.open() {
			switch {
			case !seen && strings.HasPrefix(title, heading):
				level, seen = n, true
			case n <= level:
				level = 0
			}
		}
		f.next(line)
		if level > 0 {
			words.WriteString(line)
		} else {
			elsewhere.WriteString(line)
		}
	}
	end()
	p.words, p.elsewhere = words.String(), elsewhere.String()
	return p
}

// unquoted takes the mark of a quotation off a line.
func unquoted(line string) (text string, quoted bool) {
	text, quoted = strings.CutPrefix(line, ">")
	return strings.TrimPrefix(text, " "), quoted
}

// headingOf returns the level and the text of a heading that begins with number
// signs, and 0 for any other line.
func headingOf(line string) (level int, title string) {
	indent, text := indentation(line)
	if indent > 3 {
		return 0, ""
	}
	title = strings.TrimLeft(text, "#")
	level = len(text) - len(title)
	if level == 0 || level > 6 || !strings.HasPrefix(title, " ") {
		return 0, ""
	}
	return level, strings.TrimSpace(title)
}

// block is a fenced code block.
type block struct {
	language string
	text     string
	closed   bool
}

// first returns the first fenced code block whose language is wanted. Blocks
// inside other blocks are text, as in Markdown.
func first(text string, wanted func(language string) bool) (block, bool) {
	var f fence
	var body strings.Builder
	var b block
	for line := range strings.Lines(text) {
		was := f
		f.next(line)
		switch {
		case !was.open() && f.open():
			b.language = f.language
		case was.open() && !f.open():
			if wanted(b.language) {
				b.text, b.closed = body.String(), true
				return b, true
			}
		case was.open() && wanted(b.language):
			body.WriteString(outdented(line, was.indent))
		}
	}
	return b, f.open() && wanted(f.language)
}

// fence follows a text line by line and knows whether it is in a fenced code
// block, by the rules of CommonMark. The zero value is outside of one.
type fence struct {
	char     byte
	length   int
	indent   int
	language string
}

func (f fence) open() bool { return f.length > 0 }

func (f *fence) next(line string) {
	indent, text := indentation(line)
	text = strings.TrimRight(text, " \t\r\n")
	if indent > 3 || text == "" {
		return
	}
	char := text[0]
	if char != '`' && char != '~' {
		return
	}
	info := strings.TrimLeft(text, string(char))
	length := len(text) - len(info)
	switch {
	case f.open():
		if char == f.char && length >= f.length && info == "" {
			*f = fence{}
		}
	case length >= 3 && (char == '~' || !strings.Contains(info, "`")):
		// An info string with a backtick would be a code span.
		*f = fence{char: char, length: length, indent: indent, language: language(info)}
	}
}

func language(info string) string {
	words := strings.Fields(info)
	if len(words) == 0 {
		return ""
	}
	return strings.ToLower(words[0])
}

// indentation returns the width of the blanks that a line begins with and the
// rest. A tab goes to the next multiple of four.
func indentation(line string) (width int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			width++
		case '\t':
			width += 4 - width%4
		default:
			return width, line[i:]
		}
	}
	return width, ""
}

// outdented removes as many leading spaces as the opening fence had, and the
// carriage return of a file from Windows, which a shell would take for a part
// of the command.
func outdented(line string, n int) string {
	for n > 0 && strings.HasPrefix(line, " ") {
		line, n = line[1:], n-1
	}
	if rest, ok := strings.CutSuffix(line, "\r\n"); ok {
		return rest + "\n"
	}
	return line
}
