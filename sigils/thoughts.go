package sigils

import (
	"bytes"
	"slices"

	"ralph/internal/lazyregexp"
)

// thoughtTag begins or ends what a model thinks. A server that does not know the model
// leaves it in the message.
var thoughtTag = lazyregexp.New(`(?i)<(/?)think(?:ing)?[ \t]{0,8}>`)

// withoutThoughts returns what of a line follows the thought that it stands in and those
// that it begins with. It is false if nothing does.
func (s *Scanner) withoutThoughts(line []byte) ([]byte, bool) {
	for {
		if s.thought {
			n := thoughtEnd(line)
			if n < 0 {
				return nil, false
			}
			line, s.thought = line[n:], false
		}
		text, indent := trimIndent(line)
		if s.fence.length > 0 || s.until != "" || indent > 3 {
			return line, true
		}
		n := s.think(text)
		if n == 0 {
			return line, true
		}
		line = text[n:]
	}
}

// think takes the tag of a thought that b begins with, and returns its length or 0.
func (s *Scanner) think(b []byte) int {
	if len(b) == 0 || b[0] != '<' {
		return 0
	}
	at := thoughtTag.Get().FindSubmatchIndex(b[:min(len(b), len("</thinking        >"))])
	if at == nil || at[0] > 0 {
		return 0
	}
	if s.thought = at[2] == at[3]; !s.thought { // its beginning was in the prompt: all of this text was one
		s.drop(0)
		s.base = found{}
	}
	return at[1]
}

// thoughtEnd is where the text after a thought begins, or -1.
func thoughtEnd(b []byte) int {
	for _, at := range thoughtTag.Get().FindAllSubmatchIndex(b, -1) {
		if at[2] < at[3] {
			return at[1]
		}
	}
	return -1
}

// inCode says that a code span or a comment is open.
func (s *Scanner) inCode() bool {
	return slices.ContainsFunc(s.stack, func(o open) bool { return o.block == nil })
}

// hasMarkup says that scanInline has more to do in a line than to follow code spans.
func (s *Scanner) hasMarkup(b []byte) bool {
	if i := bytes.IndexByte(b, '<'); i >= 0 && (bytes.Contains(b[i:], []byte("<!--")) || thoughtTag.Get().Match(b[i:])) { // most lines have none
		return true
	}
	return len(s.stack) > 0 && s.commentIndex() >= 0 && bytes.Contains(b, []byte("-->"))
}
