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
	var c Clipper
	return c.Add(line) + c.End(all)
}

// Clipper does the same to a line that comes in pieces.
type Clipper struct{ used, lost int }

// Add returns what is shown of a piece.
func (c *Clipper) Add(piece string) string {
	kept, left, lost := term.Head(piece, maxShown-c.used)
	c.used, c.lost = maxShown-left, c.lost+lost
	return kept
}

// End is what is written after the line. The next one begins.
func (c *Clipper) End(all string) (mark string) {
	if c.lost > 0 {
		mark = " … " + human.Count(c.lost, "more character") + ": " + all
	}
	*c = Clipper{}
	return mark
}
