//go:build unix

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// table is what a benchmark found, printed as docs/dev/performance.md has it.
type table struct{ rows []string }

// newTable prints its rows when the benchmark ends.
func newTable(b *testing.B) *table {
	t := &table{}
	b.Cleanup(func() {
		fmt.Printf("\n%s\n\n| what | figure | compared with | ratio | goal |\n|---|---|---|---|---|\n%s\n", b.Name(), strings.Join(t.rows, ""))
	})
	return t
}

// row adds a figure, and what it is compared with, if anything.
func (t *table) row(what, figure, compared, ratio, goal string) {
	t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", what, figure, compared, ratio, goal))
}

// show has three digits or so: more would be noise.
func show(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f us", d.Seconds()*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func times(a, b time.Duration) string { return fmt.Sprintf("%.2f", ratio(a, b)) }

// below and above say whether a goal is met. A quick run may miss goals, so it only names them.
func below(got, most float64) string { return verdict(fmt.Sprintf("<= %g", most), got <= most) }

func above(got, least float64) string { return verdict(fmt.Sprintf(">= %g", least), got >= least) }

func verdict(goal string, met bool) string {
	switch {
	case testing.Short():
		return goal
	case met:
		return goal + " met"
	}
	return goal + " MISSED"
}
