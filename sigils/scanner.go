// Package sigils owns the markers an agent puts into its message text: it turns
// that text into a [Set], and it makes markers in quoted text inert.
//
// It never sees tool output or the thoughts that agents report as such (the caller
// feeds message text only), it never decides what a marker leads to, and it never fails: a malformed sigil is
// plain text.
//
// # Grammar
//
// Names are lower case and written exactly as here. Space around an ID or value
// is allowed; attributes are quoted with " or '.
//
//	<task-done>ID</task-done>
//	<task-failed>ID</task-failed>
//	<task-failed>ID: reason</task-failed>        block; the colon may be missing
//	<task-failed id="ID">reason</task-failed>    block
//	<next-model>NAME</next-model>
//	<promise>COMPLETE</promise>   <promise>FAILURE</promise>
//	<journal>notes</journal>                     block
//	<knowledge title="T" tags="a,b">body</knowledge>   block; other attributes are ignored
//	<verify-pass/>   <verify-pass></verify-pass>
//	<verify-fail>reason</verify-fail>            block; the reason may be missing
//	<verify-fulfilled>where</verify-fulfilled>   block
//	<verify-asked changes="1-3,7">sentence</verify-asked>   block
//	<verify-weakened changes="2">how</verify-weakened>      block; all but the name may be missing
//	<finding file="PATH" line="N">text</finding>   block; other attributes are ignored
//	<witness file="PATH" run="COMMAND">content</witness>   block; other attributes are ignored
//
// # Where a sigil counts
//
// A sigil counts on a line of its own, indented by at most three spaces. A block
// may span lines: its opening tag begins its line and its closing tag ends its
// line. Text that Markdown would show as quoted or as code does not count: code
// fences, indented code, block quotes, list items, code spans (also those that
// span lines), HTML comments, and elements such as pre and code. Blocks do not
// nest: what stands inside a closed block is its body.
//
// What is opened and never closed hides nothing, with three exceptions that
// Markdown makes too: a code fence, an HTML comment and a pre-like element that
// begin a line hide what follows until they are closed or a tool call comes.
//
// Thoughts do not count either: what stands between <think> or <thinking> and its
// end, wherever in a line outside of code, and if the end is missing all up to a tool
// call. An end without a beginning ends a thought that began with the text.
//
// # Bounds
//
// Scanning is linear and looks at no byte twice for being split into chunks. A
// body is cut at 64 KiB, all journal notes together too; the first 20 knowledge
// entries are kept; of each kind of answer about changes the first 100, cut at
// 1 KiB; the first 20 findings, cut at 4 KiB; a line of any length costs at most 70 KiB.
package sigils

import (
	"bytes"
	"slices"
	"strings"

	"ralph/internal/plain"
)

// MaxKnowledge is how many entries are kept.
const MaxKnowledge = 20

const (
	maxBody     = 64 << 10 // bytes of a body, and of all notes together
	maxTag      = 4 << 10  // bytes of an opening tag with its attributes
	maxLine     = maxBody + maxTag
	maxTail     = 64 // bytes kept of the end of a longer line: a closing tag and some space
	maxForeign  = 8
	maxFindings = 20
	maxFinding  = 4 << 10 // bytes of its text
	maxAnswers  = 100
	maxAnswer   = 1 << 10 // bytes of an answer about changes
	maxRanges   = 100
	maxID       = 64
	maxName     = 128 // bytes of a model's name

	seam          = 0
	noteSeparator = "\n\n"
)

// Scanner finds sigils in message text that arrives in pieces. How the text is
// cut into pieces never changes the result. It is not safe for concurrent use.
type Scanner struct {
	taskID string

	line []byte // the current line, up to maxLine
	tail []byte // the end of the current line, when it is longer than that
	long bool

	fence fence
	until string // what ends the HTML that hides this text, or ""
	list  bool   // inside a list, where indented lines belong to an item
	para  bool   // inside a paragraph

	thought bool // inside what the model thinks

	kept  found  // what counts whatever comes
	base  found  // what was found since the last Break, and counts unless all since then was a thought
	stack []open // what was opened and may yet be closed, outermost first
}

// NewScanner returns a Scanner for the output of an agent that was assigned
// taskID. With an empty taskID no task sigil can match.
func NewScanner(taskID string) *Scanner {
	return &Scanner{taskID: taskID}
}

// Write adds the next piece of message text.
func (s *Scanner) Write(chunk string) {
	for whole := true; whole; {
		var line string
		line, chunk, whole = strings.Cut(s.skipCode(chunk), "\n")
		if whole && len(s.line) == 0 && s.skip(line) {
			continue
		}
		s.keep(line)
		if whole {
			s.endLine()
		}
	}
}

// skipCode returns the text from the next line on that could end the fence, if there is one
// and nothing else is open.
func (s *Scanner) skipCode(text string) string {
	if s.fence.length == 0 || len(s.line) > 0 || len(s.stack) > 0 {
		return text
	}
	code, _, _ := strings.Cut(text, string(s.fence.char))
	return text[strings.LastIndexByte(code, '\n')+1:]
}

// skip does for a line what scanLine would, if that is next to nothing, as with most of what
// agents say: prose that has no < and closes every code span that it opens.
func (s *Scanner) skip(line string) bool {
	switch {
	case s.enclosed():
		return false
	case line == "":
		s.para = false
		return true
	}
	text, item := strings.CutPrefix(line, "- ")
	if text == "" || !isPlain(text[0]) && text[0] != '`' || strings.IndexByte(text, '<') >= 0 {
		return false
	}
	switch ticks := strings.Count(text, "`"); {
	case ticks == 0:
	case ticks%2 > 0, strings.Contains(text, "``"), strings.IndexByte(text, '\\') >= 0:
		return false
	}
	s.list, s.para = item, true
	return true
}

// Break says that something else, such as a tool call, stands between the text
// before and after. It ends
// the line and everything that was left open, code fences included: text of
// successive turns arrives glued together, and a turn's slip must not cost the
// next turn's sigils.
func (s *Scanner) Break() {
	if len(s.line) > 0 {
		s.endLine()
	}
	for i := range s.stack {
		if f := s.stack[i].found; f != nil {
			s.base.merge(f)
		}
	}
	clear(s.stack) // lets go of the bodies
	s.stack = s.stack[:0]
	s.kept.merge(&s.base)
	s.base = found{}
	s.fence, s.until, s.list, s.para, s.thought = fence{}, "", false, false, false
}

// Open says that the text stands in the middle of something: a sigil, code, a
// comment or a thought. A Break here would tear it apart, or have a quoted sigil count.
func (s *Scanner) Open() bool {
	if s.enclosed() || s.InTag() {
		return true
	}
	return bytes.Count(s.line, []byte("`"))%2 == 1
}

// enclosed reports whether lines are within something that was begun on an earlier one.
func (s *Scanner) enclosed() bool {
	return s.thought || s.fence.length > 0 || s.until != "" || len(s.stack) > 0
}

// InTag says that the current line begins with a sigil that is not closed on it yet.
func (s *Scanner) InTag() bool {
	line := bytes.TrimSpace(s.line)
	if len(line) == 0 || line[0] != '<' {
		return false
	}
	for _, name := range names {
		after, whole := bytes.CutPrefix(line[1:], []byte(name))
		switch {
		case !whole:
			if bytes.HasPrefix([]byte(name), line[1:]) {
				return true
			}
		case len(after) == 0, strings.IndexByte(" \t/>", after[0]) >= 0:
			_, closed := trimClosing(line, name)
			return !closed && !bytes.HasSuffix(after, []byte("/>"))
		}
	}
	return false
}

// Set returns what the text amounts to if it ends here. Scanning may go on
// afterwards as if Set had not been called.
func (s *Scanner) Set() Set {
	// Ending writes into the line and into what is open; what it appends to
	// slices beyond their length is overwritten when scanning goes on.
	end := *s
	end.line, end.stack = slices.Clone(s.line), make([]open, len(s.stack))
	for i, o := range s.stack {
		end.stack[i] = o.clone()
	}
	end.Break()
	return end.kept.resolve()
}

// keep buffers a part of a line. Of an endless line only the beginning and the
// very end matter: what it could be is decided there.
func (s *Scanner) keep(part string) {
	if room := maxLine - len(s.line); len(part) > room {
		s.line = append(s.line, part[:room]...)
		part = part[room:]
		s.long = true
	} else {
		s.line = append(s.line, part...)
		return
	}
	if len(part) >= maxTail {
		s.tail = append(s.tail[:0], part[len(part)-maxTail:]...)
		return
	}
	if over := len(s.tail) + len(part) - maxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	s.tail = append(s.tail, part...)
}

func (s *Scanner) endLine() {
	if s.long {
		// The seam keeps the two halves from forming a tag that was never written.
		s.line = append(append(plain.Whole(s.line), seam), s.tail...)
	}
	s.scanLine(s.line)
	s.line, s.tail, s.long = s.line[:0], s.tail[:0], false
}

// unbroken returns what of b stands before the missing middle of a long line. A
// NUL in the text itself passes for the seam, which costs only what follows it.
func (s *Scanner) unbroken(b []byte) []byte {
	if !s.long {
		return b
	}
	i := bytes.IndexByte(b, seam)
	if i < 0 {
		return b
	}
	return b[:i]
}
