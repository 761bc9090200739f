package plain

// IsDigit reports whether a character is one of 0 to 9.
func IsDigit[C byte | rune](c C) bool { return '0' <= c && c <= '9' }

// IsLetter reports whether a character is a letter without an accent.
func IsLetter[C byte | rune](c C) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsAlnum reports whether a character is such a letter or a digit.
func IsAlnum[C byte | rune](c C) bool { return IsLetter(c) || IsDigit(c) }
