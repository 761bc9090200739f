package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"ralph/internal/plain"
)

// patterns are what is looked for. They are found by their first two bytes, so that a
// text is gone through once, however many there are.
type patterns struct {
	values  []string
	groups  []group
	by      [1 << 16]uint16      // the group that begins with two bytes, 0 if there is none
	starts  [1 << 16 / 64]uint64 // a bit for each pair of bytes that begins one
	firsts  [256]bool            // the bytes that begin one
	after   [256]string          // what does not stand before that byte then
	longest int
}

// group is what begins with the same two bytes.
type group struct {
	values []string // and their forms
	kinds  []*kind
}

// none is nothing to look for.
var none patterns

func newPatterns(values []string) *patterns {
	p := &patterns{values: values, groups: make([]group, 1), longest: maxToken}
	start := func(prefix, not string) *group {
		k, first := pair(prefix, 0), prefix[0]
		p.starts[k/64] |= 1 << (k % 64)
		if !p.firsts[first] || not == "" {
			p.firsts[first], p.after[first] = true, not
		}
		if p.by[k] == 0 {
			p.by[k] = uint16(len(p.groups))
			p.groups = append(p.groups, group{})
		}
		return &p.groups[p.by[k]]
	}
	recognise := func(list []kind) {
		for _, one := range list {
			g := start(one.prefix, one.not)
			g.kinds = append(g.kinds, &one)
		}
	}
	recognise(kinds)
	for _, value := range values {
		for _, pattern := range forms(value) {
			g := start(pattern, "")
			g.values = append(g.values, pattern)
			p.longest = max(p.longest, len(pattern))
		}
		recognise(inURL(value))
		p.longest = max(p.longest, len("%00")*len(value))
	}
	return p
}

func pair(s string, i int) uint16 { return uint16(s[i])<<8 | uint16(s[i+1]) }

// begins says that something may begin at a place with two bytes or more.
func (p *patterns) begins(s string, i int) bool {
	k := pair(s, i)
	return p.starts[k/64]&(1<<(k%64)) != 0
}

// previous is the byte before s[i], where s comes after before. It is 0 if it ends an escape sequence, such as \u003e or %3a: after a digit.
func previous(before, s string, i int) byte {
	two := lastTwo(before, s[:i])
	if n := len(two); n == 1 || n == 2 && !plain.IsDigit(two[0]) {
		return two[n-1]
	}
	return 0
}

// lastTwo are the last bytes of s, which comes after before.
func lastTwo(before, s string) string {
	if len(s) < 2 {
		s = before + s
	}
	return s[max(len(s)-2, 0):]
}

// span is a part of a text.
type span struct{ from, to int }

// find lists the parts of s, which comes after before, that secrets cover, in order and apart from each other.
func (p *patterns) find(before, s string) []span {
	if p == &none {
		return nil
	}
	var found []span
	for i := 0; i+minSecret <= len(s); i++ {
		if !p.begins(s, i) {
			continue
		}
		g := &p.groups[p.by[pair(s, i)]]
		for _, pattern := range g.values {
			if n := covers(s[i:], pattern); n > 0 {
				found = append(found, span{i, i + n})
			}
		}
		for _, k := range g.kinds {
			if k.begins(previous(before, s, i), s[i:]) {
				if n, _ := k.match(k.prefix, s[i:]); n > 0 {
					found = append(found, span{i, i + n})
				}
			}
		}
	}
	return join(found)
}

// ellipsis ends a text that was cut to fit a column or a title.
const ellipsis = "…"

// covers is how much of the beginning of s is the pattern: all of it, or what is left
// of one that was cut. It is 0 if s begins with something else.
func covers(s, pattern string) int {
	n := 0
	for n < min(len(s), len(pattern)) && s[n] == pattern[n] {
		n++
	}
	if n == len(pattern) || n >= minSecret && strings.HasPrefix(s[n:], ellipsis) {
		return n
	}
	return 0
}

// partial is the length of the longest end of s that begins a secret, also one that
// was cut there.
func (p *patterns) partial(before, s string) int {
	for n := len(ellipsis) - 1; n > 0; n-- {
		if rest, cut := strings.CutSuffix(s, ellipsis[:n]); cut {
			if held := p.begun(before, rest); held >= minSecret {
				return max(held+n, p.begun(before, s))
			}
		}
	}
	return p.begun(before, s)
}

// begun is the length of the longest end of s that is the beginning of a pattern.
func (p *patterns) begun(before, s string) int {
	if p == &none {
		return 0
	}
	if n := begunKey(s); n >= p.longest {
		return n
	}
	for i := max(len(s)-p.longest+1, 0); i+1 < len(s); i++ {
		if !p.begins(s, i) {
			continue
		}
		g := &p.groups[p.by[pair(s, i)]]
		for _, pattern := range g.values {
			if len(pattern) > len(s)-i && strings.HasPrefix(pattern, s[i:]) {
				return len(s) - i
			}
		}
		for _, k := range g.kinds {
			if k.begun(previous(before, s, i), s[i:]) {
				return len(s) - i
			}
		}
	}
	if i := len(s) - 1; i >= 0 && p.firsts[s[i]] && strings.IndexByte(p.after[s[i]], previous(before, s, i)) < 0 {
		return 1
	}
	return 0
}

// join merges spans that overlap or touch.
func join(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// forms are the value itself and as other texts contain it: JSON with and without
// the escaping of HTML or of all that is not ASCII, HTML, XML, URLs.
func forms(value string) []string {
	out := []string{value, html.EscapeString(value), url.QueryEscape(value), url.PathEscape(value)}
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(escapeHTML)
		if enc.Encode(value) == nil {
			quoted := strings.TrimSpace(b.String())
			quoted = quoted[1 : len(quoted)-1]
			out = append(out, quoted, ascii(quoted))
		}
	}
	var b bytes.Buffer
	if xml.EscapeText(&b, []byte(value)) == nil {
		out = append(out, b.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ascii escapes what is not ASCII in a JSON string.
func ascii(quoted string) string {
	var b strings.Builder
	for _, c := range quoted {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
