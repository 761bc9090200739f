package render

import (
	"ralph/internal/human"
	"ralph/internal/term"
)

// maxShown is how many characters of a line people see.
const maxShown = 2000

// Clip shortens a line, painted or not, to what people see, and says how much is missing and
// what shows it.
func Clip(line, all string) string {
	var c clip
	return c.add(line) + c.end(all)
}

// clip does the same to a line that comes in pieces.
type clip struct{ used, lost int }

func (c *clip) add(piece string) string {
	kept, left, lost := term.Head(piece, maxShown-c.used)
	c.used, c.lost = maxShown-left, c.lost+lost
	return kept
}

// end is what is written after the line. The next one begins.
func (c *clip) end(all string) (mark string) {
	if c.lost > 0 {
		mark = " … " + human.Count(c.lost, "more character") + ": " + all
	}
	*c = clip{}
	return mark
}
