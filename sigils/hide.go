package sigils

import "bytes"

// fence is an open code fence; the zero fence is none.
type fence struct {
	char   byte
	length int
	indent int // the deepest column its end may have
	depth  int // fences opened inside it
}

// openFence reads the beginning of a fence. In a list its end may be as far
// inside as the item is.
func openFence(text []byte, column int, list bool) (fence, bool) {
	f := fence{char: text[0], length: runLength(text, text[0]), indent: 3}
	if f.length < 3 || f.char == '`' && bytes.IndexByte(text[f.length:], '`') >= 0 {
		return fence{}, false
	}
	if list {
		f.indent += column
	}
	return f, true
}

// next looks at a line inside the fence and ends the fence if the line does.
// Agents put fences into fences of the same length when they quote Markdown; by
// CommonMark the inner end would end the outer one and the rest would be text. So
// a line that opens a fence with a language is counted, and its end is not ours.
func (f *fence) next(text []byte, indent int) {
	n := runLength(text, f.char)
	switch {
	case n < f.length || indent > f.indent:
	case isLanguage(text[n:]):
		f.depth++
	case len(text) > n:
	case f.depth > 0:
		f.depth--
	default:
		*f = fence{}
	}
}

func isLanguage(b []byte) bool {
	for _, c := range b {
		if !isAlnum(c) && c != '_' && c != '-' && c != '+' && c != '.' && c != '#' {
			return false
		}
	}
	return len(b) > 0
}

// htmlEnd returns what ends the hidden HTML that text begins, or "". Comments and
// raw elements hide as CommonMark says; other elements that quote do so only if
// the tag is alone on its line, because prose may begin with one.
func htmlEnd(text []byte) string {
	if bytes.HasPrefix(text, []byte("<!--")) {
		return "-->"
	}
	if bytes.HasPrefix(text, []byte("<![CDATA[")) {
		return "]]>"
	}
	n := 1
	for n < len(text) && 'a' <= text[n]|0x20 && text[n]|0x20 <= 'z' {
		n++
	}
	if n < len(text) && text[n] != '>' && text[n] != ' ' && text[n] != '\t' || n == 1 || n > len("<blockquote") {
		return ""
	}
	alone := bytes.IndexByte(text, '>') == len(text)-1
	switch name := string(bytes.ToLower(text[1:n])); name {
	case "pre", "script", "style", "textarea":
		return "</" + name + ">"
	case "blockquote", "code", "example", "prompt", "quote", "samp", "xmp":
		if alone {
			return "</" + name + ">"
		}
	}
	return ""
}

// containsFold looks for sub, which is lower case, in any case.
func containsFold(b []byte, sub string) bool {
	for len(b) >= len(sub) {
		i := bytes.IndexByte(b, sub[0])
		if i < 0 || len(b)-i < len(sub) {
			return false
		}
		if bytes.EqualFold(b[i:i+len(sub)], []byte(sub)) {
			return true
		}
		b = b[i+1:]
	}
	return false
}
