package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ralph/internal/seq"
)

// Line is a line that is not empty.
type Line struct {
	Number int
	Text   string
	sum    string // and its file
}

// unnamed is the file whose sums have no name: the only one that the first records had.
const unnamed = ".ralph.toml"

// lines lists those of all settings.
func (h *History) lines() (list []Line) {
	for _, t := range h.read(Settings) {
		prefix, above := t.Name+":", ""
		if t.Name == unnamed {
			prefix = ""
		}
		for i, line := range strings.Split(t.Text, "\n") {
			text := strings.TrimSpace(line)
			if above += line + "\n"; text == "" {
				continue
			}
			whole := text
			if t.Exact { // a line goes with its indentation and with the empty lines above it
				whole = above
			}
			list, above = append(list, Line{i + 1, text, prefix + textSum(whole)[:16]}), ""
		}
	}
	return list
}

// fileOf is the file of a line.
func fileOf(sum string) string {
	if i := strings.LastIndex(sum, ":"); i >= 0 {
		return sum[:i]
	}
	return unnamed
}

func sumsOf(lines []Line) []string { return seq.Map(lines, func(line Line) string { return line.sum }) }

// sums are those of all files of a kind, by their names.
func (h *History) sums(k Kind) map[string]string {
	sums := map[string]string{}
	for _, t := range h.read(k) {
		sums[t.Name] = textSum(t.Text)
	}
	return sums
}

func textSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// changed is what became of files that are not as they were; the sum of one that is gone is empty.
func changed(before, now map[string]string) map[string]string {
	diff := map[string]string{}
	for file, sum := range now {
		if before[file] != sum {
			diff[file] = sum
		}
	}
	for file := range before {
		if _, is := now[file]; !is {
			diff[file] = ""
		}
	}
	return diff
}

// without is list without the entries of other, each as often as it occurs there.
func without(list, other []string) []string {
	count := map[string]int{}
	for _, entry := range other {
		count[entry]++
	}
	var out []string
	for _, entry := range list {
		if count[entry]--; count[entry] < 0 {
			out = append(out, entry)
		}
	}
	return out
}
