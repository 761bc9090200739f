package taskfile

import (
	"bytes"
	"fmt"
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// columns measures the white space before a line, with tabs that stop every four.
func columns(line string) (indent int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			indent++
		case '\t':
			indent += 4 - indent%4
		default:
			return indent, strings.TrimRight(line[i:], " \t")
		}
	}
	return 0, ""
}

func lineRef(number int) string { return fmt.Sprintf("line %d", number) }

// box is a list item that is a task.
type box struct {
	mark  string
	title string
	width int // of the list marker and the space after it
}

// The marks other than a space and an x are what editors use for "cancelled",
// "in progress" and the like; they do not agree on which.
var boxPattern = lazyregexp.New(`^([-*+]|\d{1,9}[.)])([ \t]+)\[([ xX/~>!?-]?)\](?:$|([^(\[:].*)$)`)

func parseBox(rest string) (box, bool) {
	if rest == "" || !strings.Contains(rest, "[") || !isBullet(rest) {
		return box{}, false
	}
	m := boxPattern.Get().FindStringSubmatch(rest)
	if m == nil {
		return box{}, false
	}
	return box{mark: m[3], title: strings.TrimSpace(m[4]), width: len(m[1]) + 1}, true
}

func isBullet(rest string) bool {
	marker := 0
	for marker < len(rest) && plain.IsDigit(rest[marker]) {
		marker++
	}
	if marker == len(rest) || marker > 9 {
		return false
	}
	ends := "-*+"
	if marker > 0 {
		ends = ".)"
	}
	if strings.IndexByte(ends, rest[marker]) < 0 {
		return false
	}
	return marker+1 == len(rest) || rest[marker+1] == ' ' || rest[marker+1] == '\t'
}

func isBreak(line string) bool {
	line = strings.Join(strings.Fields(line), "")
	return len(line) > 2 && (strings.Trim(line, "-") == "" || strings.Trim(line, "*") == "" || strings.Trim(line, "_") == "")
}

// frontMatter counts the lines of metadata that some tools put before a text.
func frontMatter(data []byte) int {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := string(bytes.TrimRight(line, " \t\r\n"))
		switch {
		case number == 1 && text != "---":
			return 0
		case number > 1 && (text == "---" || text == "..."):
			return number
		case number > 1 && text == "":
			return 0 // a line that separates, and no metadata
		}
	}
	return 0
}

// block is a code block or a comment: nothing in it is a task.
type block struct {
	fence   plain.Fence
	comment bool
	line    int
	lazy    bool // it belongs to an item though it is not indented
	inItem  bool // it is indented below an item, and ends with it
	content int
}

func (b *block) open() bool { return b.fence.Open() || b.comment }

func (b *block) name() string {
	if b.comment {
		return "comment"
	}
	return "code block"
}

// begin looks whether a line opens a block.
func (b *block) begin(number int, rest string) bool {
	after, comment := strings.CutPrefix(rest, "<!--")
	*b = block{comment: comment && !strings.Contains(after, "-->"), line: number, lazy: b.lazy}
	return b.fence.Next(rest) || b.comment
}

// next looks whether a line closes the block.
func (b *block) next(rest string) {
	if b.comment && strings.Contains(rest, "-->") || !b.comment && b.fence.Next(rest) {
		*b = block{}
	}
}

// outsideCode calls fn with each line that is in no code block.
func outsideCode(text string, fn func(line string)) {
	var f plain.Fence
	for line := range strings.Lines(text) {
		if !f.Next(strings.TrimSpace(line)) && !f.Open() {
			fn(line)
		}
	}
}
