package plain

import (
	"strings"
	"unicode"
)

// ShellWord says that a character means nothing to a shell, wherever it stands.
func ShellWord(r rune) bool {
	return strings.ContainsRune("/._-+=:,@%", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// ShellQuote makes one word of a text for a shell, in quotation marks if it needs them.
func ShellQuote(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !ShellWord(r) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
