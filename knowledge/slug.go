package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const maxSlug = 60 // bytes

// slug makes the name of a file, without .md, of any title: a to z, 0 to 9 and
// single dashes between them, at most maxSlug bytes. A title of which too much is
// lost is named by its hash.
func slug(title string) string {
	var b strings.Builder
	lost := 0
	for _, r := range strings.ToLower(title) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case r > 0x7f:
			lost++
			fallthrough
		default:
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	name := strings.Trim(b.String(), "-")
	if name == "" || lost > len(name) || isReserved(name) {
		return "k-" + hash(title)
	}
	return name
}

// hash tells titles apart whose slugs are the same.
func hash(title string) string {
	sum := sha256.Sum256([]byte(title))
	return hex.EncodeToString(sum[:4])
}

// isReserved says whether Windows takes the name for a device.
func isReserved(name string) bool {
	return slices.Contains([]string{"con", "prn", "aux", "nul"}, name) ||
		len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt"))
}
