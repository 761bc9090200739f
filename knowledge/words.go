package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/plain"
	"ralph/internal/words"
)

// pathWords splits the names in a path, userStore.go also into user and store.
func pathWords(path string) []string {
	list := words.Names(path)
	if apart := words.Names(plain.Camel(path)); len(apart) > len(list) {
		list = append(append(list, ""), apart...)
	}
	return list
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
