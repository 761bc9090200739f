package plain

import "strings"

// maxEnding is how long the ending of a file's name is at most, without the dot.
const maxEnding = 6

// HasEnding says that a word ends like the name of a file: with a dot, a letter, and a few more letters or digits.
func HasEnding(word string) bool {
	i := strings.LastIndexByte(word, '.')
	end := word[i+1:]
	if i < 0 || end == "" || len(end) > maxEnding || '0' <= end[0] && end[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(end, func(r rune) bool { return (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') })
}
