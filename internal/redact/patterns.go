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
)

// patterns are what is looked for. They are found by their first two bytes, so that a
// text is gone through once, however many there are.
type patterns struct {
	all     []string
	by      map[uint16][]string
	starts  [1 << 16 / 64]uint64 // a bit for each pair of bytes that begins one
	firsts  [256]bool
	longest int
}

// none is nothing to look for.
var none patterns

func newPatterns(all []string) *patterns {
	p := &patterns{all: all, by: map[uint16][]string{}}
	for _, pattern := range all {
		k := pair(pattern, 0)
		p.by[k] = append(p.by[k], pattern)
		p.starts[k/64] |= 1 << (k % 64)
		p.firsts[pattern[0]] = true
		p.longest = max(p.longest, len(pattern))
	}
	return p
}

func pair(s string, i int) uint16 { return uint16(s[i])<<8 | uint16(s[i+1]) }

// at lists the patterns that may begin at a place with two bytes or more.
func (p *patterns) at(s string, i int) []string {
	if k := pair(s, i); p.starts[k/64]&(1<<(k%64)) != 0 {
		return p.by[k]
	}
	return nil
}

// span is a part of a text.
type span struct{ from, to int }

// find lists the parts of s that secrets cover, in order and apart from each other.
func (p *patterns) find(s string) []span {
	if len(p.all) == 0 {
		return nil
	}
	var found []span
	for i := 0; i+minSecret <= len(s); i++ {
		for _, pattern := range p.at(s, i) {
			if n := covers(s[i:], pattern); n > 0 {
				found = append(found, span{i, i + n})
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
func (p *patterns) partial(s string) int {
	for n := len(ellipsis) - 1; n > 0; n-- {
		if rest, cut := strings.CutSuffix(s, ellipsis[:n]); cut {
			if held := p.begun(rest); held >= minSecret {
				return max(held+n, p.begun(s))
			}
		}
	}
	return p.begun(s)
}

// begun is the length of the longest end of s that is the beginning of a pattern.
func (p *patterns) begun(s string) int {
	for i := max(len(s)-p.longest+1, 0); i+1 < len(s); i++ {
		for _, pattern := range p.at(s, i) {
			if len(pattern) > len(s)-i && strings.HasPrefix(pattern, s[i:]) {
				return len(s) - i
			}
		}
	}
	if len(s) > 0 && p.firsts[s[len(s)-1]] {
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
	return out
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
