package tamper

import (
	"strings"
	"unicode/utf8"
)

// mask returns text with the insides of comments and strings blanked, byte for
// byte in place: what a pattern finds in it is code, and where it found it is
// where it stands in the text. It reads any text, also what is no program.
func mask(lang language, text string) string {
	m := &masker{in: text, out: []byte(text), lang: lang}
	for m.i < len(m.in) {
		m.step()
	}
	return string(m.out)
}

type masker struct {
	in       string
	out      []byte
	i        int
	lang     language
	last     byte // the last byte of code that is no space
	noRegexp int  // up to here, because none ended on this line
	// nested holds, for a template literal inside of which we are in code again,
	// how many braces are open there.
	nested []int
}

func (m *masker) step() {
	c, rest := m.in[m.i], m.in[m.i:]
	switch {
	case m.lang == python && c == '#', m.lang != python && strings.HasPrefix(rest, "//"):
		m.blank(m.find("\n"))
	case m.lang != python && strings.HasPrefix(rest, "/*"):
		m.comment()
	case m.lang == python && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, `'''`)):
		m.quoted(rest[:3], true)
	case c == '"':
		m.quoted(rest[:1], m.lang == rust)
	case c == '\'' && m.lang == rust:
		m.char()
	case c == '\'':
		m.quoted(rest[:1], false)
	case c == '`' && m.lang == golang:
		m.i++
		m.blank(m.find("`"))
		m.code(1)
	case c == '`' && m.lang == javascript:
		m.code(1)
		m.template()
	case c == '/' && m.lang == javascript && m.regexpMayStart():
		m.regexp()
	case c == 'r' && m.lang == rust && m.raw():
	case len(m.nested) > 0 && (c == '{' || c == '}'):
		m.brace(c)
	default:
		m.code(1)
	}
}

func (m *masker) code(n int) {
	for end := min(m.i+n, len(m.in)); m.i < end; m.i++ {
		if c := m.in[m.i]; c > ' ' {
			m.last = c
		}
	}
}

func (m *masker) blank(end int) {
	for ; m.i < end; m.i++ {
		m.out[m.i] = ' '
	}
}

func (m *masker) find(s string) int {
	if at := strings.Index(m.in[m.i:], s); at >= 0 {
		return m.i + at
	}
	return len(m.in)
}

func (m *masker) comment() {
	depth, end := 1, m.i+2
	for end < len(m.in) && depth > 0 {
		switch {
		case strings.HasPrefix(m.in[end:], "*/"):
			depth--
			end++
		case m.lang == rust && strings.HasPrefix(m.in[end:], "/*"):
			depth++
			end++
		}
		end++
	}
	m.blank(min(end, len(m.in)))
}

// quoted is a string from its first quote to its last. Unless it may have several lines, a
// line ends it that is not continued.
func (m *masker) quoted(quote string, lines bool) {
	m.code(len(quote))
	end := m.i
	for end < len(m.in) && !strings.HasPrefix(m.in[end:], quote) && (lines || m.in[end] != '\n') {
		if m.in[end] == '\\' {
			end++
		}
		end++
	}
	m.blank(min(end, len(m.in)))
	if strings.HasPrefix(m.in[m.i:], quote) {
		m.code(len(quote))
	}
}

// char tells a character of Rust from a lifetime.
func (m *masker) char() {
	_, size := utf8.DecodeRuneInString(m.in[m.i+1:])
	if after := m.i + 1 + size; strings.HasPrefix(m.in[m.i+1:], `\`) || (after < len(m.in) && m.in[after] == '\'') {
		m.quoted("'", false)
		return
	}
	m.code(1)
}

// raw is a string like r#"…"#. It reports whether there is one.
func (m *masker) raw() bool {
	if m.i > 0 && isWord(m.in[m.i-1]) && (m.in[m.i-1] != 'b' || (m.i > 1 && isWord(m.in[m.i-2]))) {
		return false
	}
	end := m.i + 1
	for end < len(m.in) && m.in[end] == '#' {
		end++
	}
	if end == len(m.in) || m.in[end] != '"' {
		return false
	}
	hashes := m.in[m.i+1 : end]
	m.code(end + 1 - m.i)
	m.blank(m.find(`"` + hashes))
	m.code(1 + len(hashes))
	return true
}

// template is the part of a template literal up to its end or to code in it.
func (m *masker) template() {
	for end := m.i; ; end++ {
		switch {
		case end >= len(m.in):
			m.blank(len(m.in))
			return
		case m.in[end] == '\\':
			end++
		case m.in[end] == '`':
			m.blank(end)
			m.code(1)
			return
		case strings.HasPrefix(m.in[end:], "${"):
			m.blank(end + 2)
			m.nested = append(m.nested, 0)
			m.last = '{'
			return
		}
	}
}

func (m *masker) brace(c byte) {
	top := len(m.nested) - 1
	switch {
	case c == '{':
		m.nested[top]++
	case m.nested[top] > 0:
		m.nested[top]--
	default:
		m.nested = m.nested[:top]
		m.blank(m.i + 1)
		m.template()
		return
	}
	m.code(1)
}

// regexpMayStart tells a regular expression from a division by what stands before.
func (m *masker) regexpMayStart() bool {
	if m.i < m.noRegexp {
		return false
	}
	if m.last == 0 || strings.IndexByte("(,=:[!&|?{};+-*%~^<>", m.last) >= 0 {
		return true
	}
	before := strings.TrimRight(m.in[max(0, m.i-16):m.i], " \t")
	return strings.HasSuffix(before, "return") || strings.HasSuffix(before, "typeof") || strings.HasSuffix(before, "case")
}

func (m *masker) regexp() {
	class, end := false, m.i+1
	for ; end < len(m.in) && m.in[end] != '\n'; end++ {
		switch c := m.in[end]; {
		case c == '\\':
			end++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			m.code(1)
			m.blank(end)
			m.code(1)
			return
		}
	}
	m.noRegexp = end
	m.code(1)
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// brackets returns, for every opening bracket of masked text, where it is closed, or the
// end of the text.
func brackets(code string) []int32 {
	closes := make([]int32, len(code))
	var open []int
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{':
			closes[i] = int32(len(code))
			open = append(open, i)
		case ')', ']', '}':
			if top := len(open) - 1; top >= 0 {
				closes[open[top]] = int32(i)
				open = open[:top]
			}
		}
	}
	return closes
}
