package term

import "strings"

// Wrap breaks a cleaned or painted line at its spaces, so that no part is wider than
// width; the parts after the first begin with indent. A word that is wider than that
// stays whole. A width of 0 means unlimited.
func Wrap(s string, width int, indent string) []string {
	s = strings.ReplaceAll(s, "\t", "    ")
	var w Wrapper
	parts := strings.Split(w.Add(s, width)+w.End(width), "\n")
	if width <= 0 || len(parts) == 1 {
		return []string{s}
	}
	inner := max(width-Width(indent), 1)
	first, rest := parts[0], strings.TrimLeft(strings.TrimPrefix(s, parts[0]), " ")
	w = Wrapper{}
	parts = strings.Split(w.Add(rest, inner)+w.End(inner), "\n")
	for i := range parts {
		parts[i] = indent + parts[i]
	}
	return append([]string{first}, parts...)
}

// Wrapper breaks text at its spaces that comes in pieces, wherever they were cut. It
// holds the last word back until it is whole.
type Wrapper struct {
	col    int    // where the next character goes
	spaces string // before the word
	word   string
}

// Add returns what can be written of the text so far.
func (w *Wrapper) Add(text string, width int) string {
	var b strings.Builder
	for len(text) > 0 {
		if n := strings.IndexAny(text, " \t\n"); n != 0 {
			if n < 0 {
				n = len(text)
			}
			w.word += text[:n]
			text = text[n:]
			continue
		}
		w.flush(&b, width)
		switch text[0] {
		case '\n':
			b.WriteByte('\n')
			*w = Wrapper{}
		case '\t':
			w.spaces += strings.Repeat(" ", 8-(w.col+len(w.spaces))%8)
		default:
			w.spaces += " "
		}
		text = text[1:]
	}
	if width > 0 && Width(Strip(w.word)) >= width { // it is not a word, and must not be held for ever
		w.flush(&b, width)
	}
	return b.String()
}

// End returns what was held back; more of the same line may follow.
func (w *Wrapper) End(width int) string {
	var b strings.Builder
	w.flush(&b, width)
	return b.String()
}

// Held says that a word waits for its end.
func (w *Wrapper) Held() bool { return w.word != "" }

func (w *Wrapper) flush(b *strings.Builder, width int) {
	if w.word == "" {
		return
	}
	wide := Width(Strip(w.word))
	if width > 0 && w.col > 0 && w.spaces != "" && w.col+len(w.spaces)+wide > width {
		b.WriteByte('\n')
		w.col, w.spaces = 0, ""
	}
	b.WriteString(w.spaces + w.word)
	w.col += len(w.spaces) + wide
	w.spaces, w.word = "", ""
}

// WrapLines is text whose lines are broken as Wrap does, each set off from its own
// beginning.
func WrapLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		plain := Strip(line)
		indent := strings.Repeat(" ", len(plain)-len(strings.TrimLeft(plain, " "))+2)
		b.WriteString(strings.Join(Wrap(line, width, indent), "\n"))
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
