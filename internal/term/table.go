package term

import (
	"strings"
)

// Cell is one cleaned text and how to paint it once its width is known.
type Cell struct {
	Text  string
	Paint func(string) string // nil leaves it plain
}

func (c Cell) painted(text string) string {
	if c.Paint == nil {
		return text
	}
	return c.Paint(text)
}

// Table aligns rows in columns, two spaces apart. The last column is cut to the
// width of the terminal, or broken at words.
type Table struct {
	Width int  // of the terminal; 0 means unlimited
	Wrap  bool // break the last column instead of cutting it
	Rows  [][]Cell
}

// Add appends a row of at least one cell.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// String is the table.
func (t *Table) String() string {
	widths := t.widths()
	var b strings.Builder
	for _, row := range t.Rows {
		line, used, last := "", 0, len(row)-1
		for i, cell := range row[:last] {
			text := Line(cell.Text)
			line += cell.painted(text) + strings.Repeat(" ", widths[i]-Width(text)+2)
			used += widths[i] + 2
		}
		b.WriteString(strings.TrimRight(t.withLast(line, row[last], used), " ") + "\n")
	}
	return b.String()
}

// Indented is the table two columns further right, within the same width.
func (t *Table) Indented() string {
	var indented strings.Builder
	for line := range strings.Lines((&Table{Width: max(t.Width-2, 0), Wrap: t.Wrap, Rows: t.Rows}).String()) {
		indented.WriteString("  " + line)
	}
	return indented.String()
}

// minColumn is the narrowest column that text is broken into. Where there is less
// space, it goes below the row.
const minColumn = 24

// withLast is a row with its last column.
func (t *Table) withLast(row string, last Cell, used int) string {
	text, width := Line(last.Text), t.Width-used
	switch {
	case t.Width <= 0:
		return row + last.painted(text)
	case !t.Wrap:
		return row + last.painted(Cut(text, max(width, 10)))
	case width < minColumn && used > 0:
		row, used = strings.TrimRight(row, " ")+"\n    ", 4
	}
	for i, part := range Wrap(text, max(t.Width-used, minColumn), "") {
		if i > 0 {
			row += "\n" + strings.Repeat(" ", used)
		}
		row += last.painted(part)
	}
	return row
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.Rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(Line(cell.Text)))
		}
	}
	return widths
}

// Palette colours text, or leaves it alone. The zero value leaves it alone.
type Palette struct {
	On bool
}

func (p Palette) paint(code, s string) string {
	if !p.On || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold is for headings and what matters most.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim is for what may be skipped.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Red is for what failed.
func (p Palette) Red(s string) string { return p.paint("31", s) }

// Green is for what is done.
func (p Palette) Green(s string) string { return p.paint("32", s) }

// Yellow is for what needs a look.
func (p Palette) Yellow(s string) string { return p.paint("33", s) }

// Cyan is for what can be acted on.
func (p Palette) Cyan(s string) string { return p.paint("36", s) }
