package chat

import (
	"strings"
	"unicode/utf16"

	"ralph/internal/lazyregexp"
	"ralph/internal/term"
)

const cutNote = "\n(the rest is too long for this chat: see ralph inbox, or ralph report)"

// fit makes text harmless and at most so long, as the service counts it.
func fit(text string, limit int, cost func(rune) int) string {
	text = strings.TrimSpace(term.Block(strings.ToValidUTF8(text, "?")))
	sum, end := 0, -1 // end is where it is cut, if it has to be
	for i, r := range text {
		if sum += cost(r); end < 0 && sum > limit-len(cutNote) {
			end = i
		}
	}
	if sum <= limit {
		return text
	}
	return text[:end] + cutNote
}

// units are those in which Telegram counts, and escapedUnits those of what Slack gets.
func units(r rune) int { return max(utf16.RuneLen(r), 1) }

func escapedUnits(r rune) int { return units(r) + len(escape.Replace(string(r))) - len(string(r)) }

// Slack reads these three characters as markup, such as <!channel>, and writes them like this, too.
var (
	escape   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescape = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
	address  = lazyregexp.New(`<((?:https?|mailto):[^|>]*)(?:\|[^>]*)?>`)
)

// written is what a person typed in Slack, without what Slack made of addresses: <https://example.com|example.com>.
func written(text string) string { return unescape.Replace(address.Get().ReplaceAllString(text, "$1")) }
