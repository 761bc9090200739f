package knowledge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// words splits text into words in lower case: letters, digits and the marks on
// them, with the signs of names such as C++ and C#.
func words(text string) []string {
	var list []string
	start := -1
	for i, r := range text {
		switch {
		case isWordRune(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			end := i + signs(text[i:])
			list = append(list, strings.ToLower(text[start:end]))
			start = -1
		}
	}
	if start >= 0 {
		list = append(list, strings.ToLower(text[start:]))
	}
	return list
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// signs returns how many plus or number signs belong to the word before s: all,
// unless another word follows at once, as in "a+b".
func signs(s string) int {
	rest := strings.TrimLeft(s, "+#")
	if r, _ := utf8.DecodeRuneInString(rest); isWordRune(r) {
		return 0
	}
	return len(s) - len(rest)
}

// pathWords splits the names in a path, userStore.go also into user and store.
func pathWords(path string) []string {
	list := words(path)
	if apart := words(splitCamel(path)); len(apart) > len(list) {
		list = append(append(list, ""), apart...)
	}
	return list
}

func splitCamel(name string) string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsLower(before) && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// text is a set of words that also knows which follow each other.
type text struct {
	set     map[string]bool
	running string // " word word "
}

func newText(lists ...[]string) text {
	t := text{set: map[string]bool{}}
	var b strings.Builder
	for _, list := range lists {
		b.WriteString("\n ")
		for _, word := range list {
			t.set[word] = true
			b.WriteString(word + " ")
		}
	}
	t.running = b.String()
	return t
}

// holds says whether the words of a key stand in the text, one after the other.
func (t text) holds(key string) bool {
	if key == "" {
		return false
	}
	first, _, more := strings.Cut(key, " ")
	return t.set[first] && (!more || strings.Contains(t.running, " "+key+" "))
}
