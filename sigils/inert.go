package sigils

import "strings"

// inertBracket looks like a bracket to people and models and like nothing to us.
const inertBracket = "‹"

// Inert returns text in which every tag of a sigil, opening or closing, in any
// case and however malformed, has lost its bracket: "<task-done>" becomes
// "‹task-done>". Parse finds nothing in the result or in any text put together
// from such results line by line. Other text is untouched, and doing it twice is
// the same as doing it once.
func Inert(text string) string {
	var out strings.Builder
	kept := 0
	for i := 0; i < len(text); {
		j := strings.IndexByte(text[i:], '<')
		if j < 0 {
			break
		}
		i += j + 1
		if !beginsTag(text[i:]) {
			continue
		}
		out.WriteString(text[kept : i-1])
		out.WriteString(inertBracket)
		kept = i
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// beginsTag looks at what follows a bracket. It is broader than the grammar, so
// that a near miss that a model would repair is inert too.
func beginsTag(s string) bool {
	s = s[:min(len(s), len("/ ")+len(tagVerifyPass)+1)]
	s = strings.TrimLeft(s, "/ ")
	n := 0
	for n < len(s) && (s[n] == '-' || s[n] == '_' || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'z') {
		n++
	}
	name := strings.ReplaceAll(strings.ToLower(s[:n]), "_", "-")
	_, ok := sigilName([]byte(name))
	return ok
}
