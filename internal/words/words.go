// Package words splits text into words, knows which of them tell something, and ranks texts by them: for the journal, for
// knowledge and for the sections of a prompt.
package words

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/plain"
)

// maxWord is the longest word, in bytes, that is worth looking for in an index. Longer ones are keys, hashes and pictures in base64.
const maxWord = 64

// All yields the words of a text in lower case: letters, digits and the marks on them, which is what FTS5 takes for words,
// too. Nothing that means something to FTS5 is left in them.
func All(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range scan(text, func(string, int) int { return 0 }) {
			if len(word) <= maxWord && !yield(word) {
				return
			}
		}
	}
}

// Names are the words of a text, with names and numbers in one piece: C++, C#, 3.2.
func Names(text string) []string { return slices.Collect(scan(text, sign)) }

// scan yields words in lower case. A word that ends at a place goes on for as many bytes as more returns.
func scan(text string, more func(text string, end int) int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := text; ; {
			start := strings.IndexFunc(rest, isInWord)
			if start < 0 {
				return
			}
			rest = rest[start:]
			end := length(rest)
			end += more(rest, end)
			if !yield(strings.ToLower(rest[:end])) {
				return
			}
			rest = rest[end:]
		}
	}
}

// length is that of the word at the beginning of a text.
func length(text string) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !isInWord(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// sign returns how many bytes of a name or number follow a word: the parts of a number such as 3.2.1, or plus and number
// signs, unless another word follows those at once, as in "a+b".
func sign(text string, end int) int {
	number := end
	for number+1 < len(text) && plain.IsDigit(text[number-1]) && text[number] == '.' && plain.IsDigit(text[number+1]) {
		number += 1 + length(text[number+1:])
	}
	if number > end {
		return number - end
	}
	signs := len(text[end:]) - len(strings.TrimLeft(text[end:], "+#"))
	if r, _ := utf8.DecodeRuneInString(text[end+signs:]); isInWord(r) {
		return 0
	}
	return signs
}

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// Text is a set of words that also knows which follow each other.
type Text struct {
	set     map[string]bool
	running string // " word word "
}

// TextOf makes a text of lists of words. Nothing follows from one list into the next.
func TextOf(lists ...[]string) Text {
	t := Text{set: map[string]bool{}}
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

// Holds reports whether a word stands in the text, or several with a blank between, one after the other.
func (t Text) Holds(key string) bool {
	first, _, more := strings.Cut(key, " ")
	return key != "" && t.set[first] && (!more || strings.Contains(t.running, " "+key+" "))
}

// Tells reports whether a word tells what a text is about. In a long journal the words of every text are known by their
// number; in a short one every word is rare.
func Tells(word string) bool {
	switch word {
	case "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
		"has", "have", "how", "if", "in", "into", "is", "it", "its", "like", "must", "not", "of", "on", "one", "or", "other", "out",
		"should", "so", "such", "than", "that", "the", "their", "them", "then", "there", "they", "this", "to", "two", "was", "we",
		"what", "when", "where", "which", "while", "who", "will", "with", "you", "your":
		return false
	}
	return utf8.RuneCountInString(word) > 1
}
