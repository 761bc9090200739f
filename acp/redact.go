package acp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// minSecret is the shortest value that is hidden: shorter ones occur by chance
// in everything.
const minSecret = 6

const redacted = "[redacted]"

// redactor hides values wherever they appear, also as JSON writes them. A value
// that arrives in pieces, in two chunks of a stream, is not seen.
type redactor struct{ secrets [][]byte }

func newRedactor(values []string) redactor {
	var r redactor
	for _, value := range values {
		value = strings.TrimSpace(value)
		if len(value) < minSecret {
			continue
		}
		for _, form := range forms(value) {
			if !slices.ContainsFunc(r.secrets, func(s []byte) bool { return string(s) == form }) {
				r.secrets = append(r.secrets, []byte(form))
			}
		}
	}
	// The longest first, or a secret that begins with another leaves its end.
	slices.SortStableFunc(r.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// forms are the value itself and as JSON strings contain it, with and without
// the escaping of HTML.
func forms(value string) []string {
	out := []string{value}
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil {
			quoted := strings.TrimSpace(b.String())
			out = append(out, quoted[1:len(quoted)-1])
		}
	}
	return out
}

// bytes returns b itself when there is nothing to hide in it.
func (r redactor) bytes(b []byte) []byte {
	for _, secret := range r.secrets {
		if bytes.Contains(b, secret) {
			b = bytes.ReplaceAll(b, secret, []byte(redacted))
		}
	}
	return b
}

func (r redactor) text(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, string(secret), redacted)
	}
	return s
}

// longest is the length of the longest secret.
func (r redactor) longest() int {
	if len(r.secrets) == 0 {
		return 0
	}
	return len(r.secrets[0])
}
