package watch

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Sizes of a picture, in pixels.
const (
	svgCell = 8.4 // width of a character of 14 px in a monospaced font
	svgLine = 18
	svgEdge = 16
)

var svgColours = map[string]string{
	"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd",
}

// sgr are the few escape sequences that ralph writes.
var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// drawSVG draws a screen of text with colours, as wide as its longest line, for the picture of
// the documentation.
func drawSVG(title, screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	var body strings.Builder
	width := 0
	for i, l := range lines {
		n := svgRow(&body, l, svgEdge+svgLine*(i+1)+svgLine)
		width = max(width, n)
	}
	w, h := svgEdge*2+int(svgCell*float64(width)), svgEdge*2+svgLine*(len(lines)+2)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" aria-label="%s">
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g fill="#30363d"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">
%s</g>
</svg>
`, w, h, w, html.EscapeString(title), body.String())
}

// svgRow draws one line (with spaces that no reader of SVG collapses), a span for each style, each at the column that it begins in: fonts differ in the width
// of what is not ASCII. It returns how many columns the line has.
func svgRow(b *strings.Builder, text string, y int) int {
	style, column := "", 0
	span := func(s string) {
		if strings.TrimSpace(s) != "" {
			lead := len(s) - len(strings.TrimLeft(s, " "))
			n := utf8.RuneCountInString(strings.TrimSpace(s))
			fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", svgEdge+svgCell*float64(column+lead), y, svgCell*float64(n), style, strings.ReplaceAll(html.EscapeString(strings.TrimSpace(s)), "  ", "\u00a0\u00a0"))
		}
		column += utf8.RuneCountInString(s)
	}
	at := 0
	for _, m := range sgr.FindAllStringSubmatchIndex(text, -1) {
		span(text[at:m[0]])
		style, at = svgAttributes(text[m[2]:m[3]]), m[1]
	}
	span(text[at:])
	return column
}

func svgAttributes(codes string) string {
	attrs := ""
	for code := range strings.SplitSeq(codes, ";") {
		switch {
		case code == "1":
			attrs += ` font-weight="bold"`
		case code == "2":
			attrs += ` fill-opacity="0.5"`
		case code == "4":
			attrs += ` text-decoration="underline"`
		case svgColours[code] != "":
			attrs += ` fill="` + svgColours[code] + `"`
		}
	}
	return attrs
}
