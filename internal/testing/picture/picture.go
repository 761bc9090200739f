// Package picture draws the screen of a terminal as SVG, for tests that keep the pictures of
// the documentation current. It knows the few escape sequences that ralph writes.
package picture

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	cell = 8.4 // width of a character of 14 px in a monospaced font
	line = 18
	edge = 16
)

var colours = map[string]string{
	"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd",
}

var sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// SVG draws a screen of text with colours, as wide as its longest line.
func SVG(title, screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	var body strings.Builder
	width := 0
	for i, l := range lines {
		n := row(&body, l, edge+line*(i+1)+line)
		width = max(width, n)
	}
	w, h := edge*2+int(cell*float64(width)), edge*2+line*(len(lines)+2)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" aria-label="%s">
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g fill="#30363d"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">
%s</g>
</svg>
`, w, h, w, html.EscapeString(title), body.String())
}

// row draws one line (with spaces that no reader of SVG collapses), a span for each style, each at the column that it begins in: fonts differ in the width
// of what is not ASCII. It returns how many columns the line has.
func row(b *strings.Builder, text string, y int) int {
	style, column := "", 0
	span := func(s string) {
		if strings.TrimSpace(s) != "" {
			lead := len(s) - len(strings.TrimLeft(s, " "))
			n := utf8.RuneCountInString(strings.TrimSpace(s))
			fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", edge+cell*float64(column+lead), y, cell*float64(n), style, strings.ReplaceAll(html.EscapeString(strings.TrimSpace(s)), "  ", "\u00a0\u00a0"))
		}
		column += utf8.RuneCountInString(s)
	}
	at := 0
	for _, m := range sequence.FindAllStringSubmatchIndex(text, -1) {
		span(text[at:m[0]])
		style, at = attributes(text[m[2]:m[3]]), m[1]
	}
	span(text[at:])
	return column
}

func attributes(codes string) string {
	attrs := ""
	for code := range strings.SplitSeq(codes, ";") {
		switch {
		case code == "1":
			attrs += ` font-weight="bold"`
		case code == "2":
			attrs += ` fill-opacity="0.5"`
		case code == "4":
			attrs += ` text-decoration="underline"`
		case colours[code] != "":
			attrs += ` fill="` + colours[code] + `"`
		}
	}
	return attrs
}
