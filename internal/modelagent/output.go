package modelagent

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"ralph/internal/human"
	"ralph/internal/term"
)

const (
	// maxResult is how many characters of a result a model is sent.
	maxResult = 30_000
	// keptBytes of each end are enough for maxResult characters and the colours between them.
	keptBytes = 128 << 10
)

// ends keeps the beginning and the end of what is written to it, in bounded memory.
type ends struct {
	mu         sync.Mutex
	head, tail []byte
	lost       int64 // bytes between them
}

// Write never waits and never fails.
func (e *ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	written := len(p)
	room := min(keptBytes-len(e.head), len(p))
	e.head, p = append(e.head, p[:room]...), p[room:]
	e.tail = append(e.tail, p...)
	if over := len(e.tail) - keptBytes; over > keptBytes { // not each time: a flood costs one copy of each byte
		e.lost += int64(over)
		e.tail = e.tail[:copy(e.tail, e.tail[over:])]
	}
	return written, nil
}

// text is what was printed so far, in at most so many characters.
func (e *ends) text(most int) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost == 0 {
		return shorten(printed(string(e.head)+string(e.tail)), "", 0, most)
	}
	return shorten(printed(string(e.head)), printed(string(e.tail)), e.lost, most)
}

// shorten is head and tail, between which so many bytes were lost, in at most so many characters. The beginning and the
// end are kept, and a line between them says how much is not there.
func shorten(head, tail string, lost int64, most int) string {
	size := lost + int64(len(head)+len(tail))
	if lost == 0 {
		if head += tail; utf8.RuneCountInString(head) <= most {
			return head
		}
		tail = head
	}
	const note = "\n[... %s left out ...]\n"
	half := max(0, most-len(note)-10) / 2
	begin, end := []rune(head), []rune(tail)
	head, tail = string(begin[:min(half, len(begin))]), string(end[max(0, len(end)-half):])
	return head + fmt.Sprintf(note, human.Bytes(size-int64(len(head)+len(tail)))) + tail
}

// printed is what a program printed, without its colours. A line that was written over by the next one is a line.
func printed(s string) string {
	s = term.Strip(strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// readable is text that every provider takes, with control characters as their pictures: a model that reads a file has
// to see that they are there.
func readable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '\u2400' + r
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
