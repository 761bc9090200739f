package journal

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/seq"
)

// maxWord is the longest word, in bytes, that is worth looking for. Longer ones
// are keys, hashes and pictures in base64.
const maxWord = 64

// words yields the words of a text in lower case: letters, digits and the marks
// on them, which is what FTS5 takes for words, too. Nothing that means something
// to FTS5 is left in them.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, isBetweenWords) {
			if len(word) <= maxWord && !yield(strings.ToLower(word)) {
				return
			}
		}
	}
}

func isBetweenWords(r rune) bool {
	return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// distinct is the set of the words of some texts.
func distinct(texts ...string) map[string]bool {
	set := map[string]bool{}
	for _, text := range texts {
		for word := range words(text) {
			set[word] = true
		}
	}
	return set
}

// query makes an FTS5 expression of words.
func query(list []string, operator string) string {
	return strings.Join(seq.Map(list, func(word string) string { return `"` + word + `"` }), " "+operator+" ")
}

// isStopWord says whether a word is in every text. In a long journal such words
// are known by their number; in a short one every word is rare.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has", "have", "if", "in",
		"into", "is", "it", "its", "not", "of", "on", "or", "should", "so", "than", "that", "the", "their", "then", "there",
		"they", "this", "to", "was", "we", "when", "which", "will", "with", "you", "your":
		return true
	}
	return false
}
