package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/plain"
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
	if apart := words(plain.Camel(path)); len(apart) > len(list) {
		list = append(append(list, ""), apart...)
	}
	return list
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

const (
	maxTitle = 120 // bytes
	maxTag   = 40
	maxTags  = 20
	maxBody  = 8000 // bytes, for text whose words have no blanks between them
)

// tidy makes an entry what every entry is: names in one line and short, tags
// without repetition, the body cut. The result does not change when it is tidied
// again.
func (e *Entry) tidy() {
	e.Title = oneLine(e.Title, maxTitle)
	e.Feature = oneLine(e.Feature, maxTitle)
	e.Task, e.Run = oneLine(e.Task, maxTag), oneLine(e.Run, maxTag)
	e.Tags = tidyTags(e.Tags)
	body := strings.TrimSpace(cleanLines(e.Body))
	e.links = links(body)
	e.Body, e.Words = cutWords(body)
	e.prepare()
}

// tidyTags drops what is empty or said already, and all beyond maxTags: who tags
// with everything wants to be everywhere.
func tidyTags(list []string) []string {
	var out, keys []string
	for _, tag := range list {
		tag = oneLine(tag, maxTag)
		if tag == "" || slices.Contains(keys, key(tag)) || len(out) == maxTags {
			continue
		}
		out, keys = append(out, tag), append(keys, key(tag))
	}
	return out
}

// cutWords returns a body of at most MaxWords words and maxBody bytes, which says
// so when it was cut, and how many words there were.
func cutWords(body string) (kept string, total int) {
	total = len(strings.Fields(body))
	if total <= MaxWords && len(body) <= maxBody {
		return body, total
	}
	rest := body
	for range MaxWords - cutWordsOwn {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !unicode.IsSpace(r) })
	}
	said := cutNotice(total)
	kept = strings.TrimSpace(plain.Head(strings.TrimSuffix(body, rest), maxBody-len(said)-2))
	return kept + "\n\n" + said, total
}

func cutNotice(total int) string { return fmt.Sprintf("[cut: %d words were written]", total) }

// cutWordsOwn is how many words the notice of a cut has.
const cutWordsOwn = 5

// oneLine returns text in one line without control characters, cut at limit bytes.
func oneLine(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(plain.Head(text, 8*limit), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || plain.IsInvisible(r) || r == utf8.RuneError
	}), " ")
	return strings.TrimSpace(plain.Head(text, limit))
}

// cleanLines ends every line with \n and drops control characters.
func cleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case plain.IsLineEnd(r):
			return '\n'
		case r != '\t' && unicode.IsControl(r), plain.IsInvisible(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\r\n", "\n"))
}
