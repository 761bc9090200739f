package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table collects one line per figure.
type table struct {
	lines    [][]string
	unjudged bool // goals are for the full sizes: a quick run only names them
}

// add puts a figure beside what it is compared with. A line without a ratio or
// without a goal leaves those empty.
func (t *table) add(section, what, figure, baseline, ratio, goal string) {
	t.lines = append(t.lines, []string{section, what, figure, baseline, ratio, goal})
}

// compare adds a line whose ratio has a limit.
func (t *table) compare(section, what, figure, baseline string, ratio float64, atMost bool, limit float64) {
	sign, met := "<=", ratio <= limit
	if !atMost {
		sign, met = ">=", ratio >= limit
	}
	t.add(section, what, figure, baseline, fmt.Sprintf("%.2f", ratio), t.verdict(fmt.Sprintf("%s %.1f", sign, limit), met))
}

// verdict says whether a goal was met.
func (t *table) verdict(goal string, met bool) string {
	switch {
	case t.unjudged:
		return goal
	case met:
		return goal + " met"
	default:
		return goal + " MISSED"
	}
}

// print writes the table as Markdown that is also readable as it is.
func (t *table) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells []string) { fmt.Fprintf(tw, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line([]string{"section", "what", "figure", "compared with", "ratio", "goal"})
	line([]string{"---", "---", "---", "---", "---", "---"})
	for _, cells := range t.lines {
		line(cells)
	}
	_ = tw.Flush()
}

// median is the middle of the samples, which it sorts.
func median[T time.Duration | float64](samples []T) T {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[len(samples)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// short prints a duration with three digits, in the unit that fits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f us", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
}

// count prints a number of tasks as people say it.
func count(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000:
		return fmt.Sprintf("%dk", n/1_000)
	default:
		return fmt.Sprint(n)
	}
}

// machine says what the figures were seen on.
func machine() string {
	cpu := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer func() { _ = f.Close() }()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "model name\t: "); ok {
				cpu = name
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, %s",
		cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}
