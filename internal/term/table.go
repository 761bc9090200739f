package term

import (
	"io"
	"strings"
)

// Cell is one cleaned text and how to paint it once its width is known.
type Cell struct {
	Text  string
	Paint func(string) string // nil leaves it plain
}

// Table aligns rows in columns, two spaces apart. The last column is cut to the
// width of the terminal, or broken at words.
type Table struct {
	Width int  // of the terminal; 0 means unlimited
	Wrap  bool // break the last column instead of cutting it
	Rows  [][]Cell
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// WriteTo writes the table.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	widths := t.widths()
	var b strings.Builder
	for _, row := range t.Rows {
		used := 0
		var line strings.Builder
		for i, cell := range row {
			text := Line(cell.Text)
			last := i == len(row)-1
			switch room := t.Width - used; {
			case !last || t.Width <= 0:
			case t.Wrap:
				b.WriteString(t.broken(line.String(), cell, used))
				continue
			default:
				text = Cut(text, max(room, 10))
			}
			pad := widths[i] - Width(text)
			if cell.Paint != nil {
				text = cell.Paint(text)
			}
			line.WriteString(text)
			if !last {
				line.WriteString(strings.Repeat(" ", pad+2))
				used += widths[i] + 2
			}
		}
		if !t.Wrap || t.Width <= 0 {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// minColumn is the narrowest column that text is broken into. Where there is less
// room, it goes below the row.
const minColumn = 24

// broken is a row with its last column in as many lines as it needs.
func (t *Table) broken(row string, last Cell, used int) string {
	lines := []string{strings.TrimRight(row, " ")}
	if t.Width-used < minColumn && used > 0 {
		used = 4
		lines = append(lines, strings.Repeat(" ", used))
	} else {
		lines[0] = row
	}
	for i, part := range Wrap(Line(last.Text), max(t.Width-used, minColumn), "") {
		if last.Paint != nil {
			part = last.Paint(part)
		}
		if i > 0 {
			lines = append(lines, strings.Repeat(" ", used))
		}
		lines[len(lines)-1] += part
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " ") + "\n"
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
