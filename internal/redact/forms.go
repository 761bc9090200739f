package redact

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode/utf16"
)

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
