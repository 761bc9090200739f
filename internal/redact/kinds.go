package redact

import (
	"slices"
	"strings"

	"ralph/internal/plain"
)

// kind is secrets that are known by how they begin and go on.
type kind struct {
	prefix string
	not    string // what does not stand before one
	// match is how much of the beginning of s, which has the prefix, is such a secret. open says that what
	// follows s could change that.
	match func(prefix, s string) (n int, open bool)
}

const (
	keyPrefix = "-----BEGIN "

	maxToken = 512      // bytes of a token; what is longer is something else
	maxKey   = 16 << 10 // bytes of a private key as text
	maxLabel = 40       // bytes of what kind of key it is
)

// kinds lists them. A word may end in "sk-", such as task-1, always after a vowel; letters of escape
// sequences, such as \n and \u003e, are none.
var kinds = []kind{
	{"ghp_", "", token},
	{"gho_", "", token},
	{"ghu_", "", token},
	{"ghs_", "", token},
	{"ghr_", "", token},
	{"github_pat_", "", token},
	{"sk-", "aeiou", token},
	{"xox", "", token},
	{"AKIA", "", token},
	{keyPrefix, "", privateKey},
}

// begins says that s, which comes after a byte, begins with the prefix.
func (k *kind) begins(before byte, s string) bool {
	return strings.HasPrefix(s, k.prefix) && strings.IndexByte(k.not, before) < 0
}

// begun says that s is the beginning of such a secret as far as it goes.
func (k *kind) begun(before byte, s string) bool {
	if len(s) < len(k.prefix) {
		return strings.HasPrefix(k.prefix, s) && strings.IndexByte(k.not, before) < 0
	}
	if !k.begins(before, s) {
		return false
	}
	_, open := k.match(k.prefix, s)
	return open
}

// token matches letters, digits, - and _. Names have few digits and capitals, and placeholders none.
func token(prefix, s string) (n int, open bool) {
	s = s[:min(len(s), maxToken)]
	least, random, mixed := 12, 6, 0
	for n = len(prefix); n < len(s) && (plain.IsAlnum(s[n]) || s[n] == '-' || s[n] == '_'); n++ {
		if plain.IsAlnum(s[n]) && s[n] < 'a' {
			mixed++
		}
	}
	if strings.HasPrefix(s[n:], ellipsis) {
		least, random = minSecret, 1
	}
	open = n == len(s) && n < maxToken
	if n-len(prefix) < least || mixed < random {
		return 0, open
	}
	return n, open
}

// privateKey matches a private key as text, or as much of it as there is.
func privateKey(prefix, s string) (n int, open bool) {
	s = s[:min(len(s), maxKey)]
	label, rest, whole := strings.Cut(s[len(prefix):], "-----")
	switch {
	case len(label) > maxLabel:
		return 0, false
	case !whole:
		return 0, true
	case !strings.HasSuffix(strings.TrimSuffix(label, " BLOCK"), "KEY") || strings.Contains(label, "PUBLIC"):
		return 0, false
	}
	head := len(s) - len(rest)
	if body, last, ends := strings.Cut(rest, "-----END "); ends {
		if _, after, ends := strings.Cut(last, "-----"); ends {
			return len(s) - len(after), false
		}
		return head + len(body), len(s) < maxKey
	}
	return head + base64Lines(rest), len(s) < maxKey
}

// begunKey is the length of the longest end of s that is the beginning of a private key.
func begunKey(s string) int {
	for i := max(len(s)-maxKey+1, 0); ; i += len(keyPrefix) {
		n := strings.Index(s[i:], keyPrefix)
		if n < 0 {
			return 0
		}
		i += n
		if _, open := privateKey(keyPrefix, s[i:]); open {
			return len(s) - i
		}
	}
}

// base64Lines is the length of the lines of Base64 that s begins with, also if it is JSON.
func base64Lines(s string) (n int) {
	for at := 0; at < len(s); {
		switch {
		case strings.IndexByte(" \t\r\n", s[at]) >= 0:
			at++
		case s[at] == '\\':
			at += len(`\n`)
		default:
			line := at
			for at < len(s) && isBase64(s[at]) {
				at++
			}
			if at-line < 16 {
				return n
			}
			n = at
		}
	}
	return n
}

// inURL finds a value of which a URL has some bytes escaped: every program chooses others.
func inURL(value string) (list []kind) {
	isPlain := func(c rune) bool {
		return c < 0x80 && plain.IsAlnum(byte(c)) || strings.ContainsRune("-_.~", c)
	}
	if !strings.ContainsFunc(value, func(c rune) bool { return !isPlain(c) }) {
		return nil
	}
	escape := func(c byte) string { return string([]byte{'%', hexDigits[c>>4], hexDigits[c&15]}) }
	match := func(_, s string) (n int, open bool) {
		for _, c := range []byte(value) {
			rest, escaped := s[n:], escape(c)
			m := min(len(rest), len(escaped))
			switch {
			case m == len(escaped) && strings.EqualFold(rest[:m], escaped):
				n += m
			case m < len(escaped) && strings.EqualFold(rest, escaped[:m]):
				return 0, true
			case rest[0] == c, rest[0] == '+' && c == ' ':
				n++
			default:
				return 0, false
			}
		}
		return n, false
	}
	first := escape(value[0])
	starts := []string{value[:2], value[:1] + "%", value[:1] + "+", first[:2], strings.ToLower(first[:2])}
	slices.Sort(starts)
	for _, start := range slices.Compact(starts) {
		list = append(list, kind{start, "", match})
	}
	return list
}

const hexDigits = "0123456789ABCDEF"

func isBase64(c byte) bool { return plain.IsAlnum(c) || c == '+' || c == '/' || c == '=' }
