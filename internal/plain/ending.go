package plain

import "strings"

// HasEnding reports whether a word ends like the name of a file: with a dot, a letter, and at most five more letters or digits.
func HasEnding(word string) bool {
	i := strings.LastIndexByte(word, '.')
	switch n := len(word) - i - 1; {
	case i < 0, n == 0, n > 6:
		return false
	}
	return IsLetter(word[i+1]) && strings.TrimFunc(word[i+1:], IsAlnum[rune]) == ""
}
