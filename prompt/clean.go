package prompt

import (
	"strings"
	"unicode"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// clean returns text that is only text: valid UTF-8, lines ended by \n, no
// terminal escapes, no control characters but tabs, nothing invisible that can
// reorder or hide what a person would read.
func clean(text string) string {
	text = strings.ReplaceAll(escapePattern.Get().ReplaceAllString(text, "$1"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case plain.IsLineEnd(r):
			return '\n'
		case r == '\t' || !unicode.IsControl(r) && !plain.IsInvisible(r):
			return r
		}
		return -1
	}, text)
}

// escapePattern is a terminal escape: a control sequence, a title or link up to its end, or
// else the escape character alone. What ends a title may be a line end, which stays. A title
// does not reach past the next escape character: looking further from each would take for ever.
var escapePattern = lazyregexp.New(`\x1b(?:\[[ -?]*[@-~]?|\][^\a\n\x1b]*(?:\a|\x1b\\|(\n)))?`)

// breakVerdicts keeps foreign text from passing a worker's prompt off as a
// verifier's: these words distinguish the two. Other words with the same
// beginning, such as the name of a file, stay as they are.
func breakVerdicts(text string) string {
	return verdictPattern.Get().ReplaceAllString(text, "$1\u2011$2")
}

var verdictPattern = lazyregexp.New(`(?i)(verify)-(pass|fail)`)

// cleanID keeps what IDs are made of.
func cleanID(id string) string {
	id = strings.Map(func(r rune) rune {
		if plain.IsAlnum(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return -1
	}, id)
	return id[:min(len(id), 64)]
}
