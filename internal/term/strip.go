package term

import "strings"

// Strip removes whole escape sequences: colours (ESC [ ... letter) and titles and
// links (ESC ] ... BEL or ESC \). Without their first byte, which Line and Block
// drop, the rest of them would litter the text.
func Strip(s string) string {
	at := strings.IndexByte(s, '\x1b')
	if at < 0 {
		return s
	}
	var b strings.Builder
	for at >= 0 {
		b.WriteString(s[:at])
		s = s[at+escape(s[at:]):]
		at = strings.IndexByte(s, '\x1b')
	}
	b.WriteString(s)
	return b.String()
}

// maxEscape is how long a sequence may be. What is longer is shown rather than
// swallowed.
const maxEscape = 4096

// escape measures the sequence at the start of s; what is none is one byte long.
func escape(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[':
		for i := 2; i < min(len(s), maxEscape); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return 1
			}
		}
	case ']':
		for i := 2; i < min(len(s), maxEscape); i++ {
			if s[i] == '\a' {
				return i + 1
			}
			if s[i] == '\x1b' && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			if s[i] == '\n' {
				return 1
			}
		}
	}
	return 1
}
