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
// width of the terminal.
type Table struct {
	Width int // of the terminal; 0 means unlimited
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
			if last && t.Width > 0 {
				text = Cut(text, max(t.Width-used, 10))
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
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
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
