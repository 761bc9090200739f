// Package human says amounts as people do: one place, so that a run, its report and
// the live view say the same in the same words.
package human

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Span writes a duration: 340ms, 12s, 1m20s, 2h05m, 3d4h.
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// Moment writes a time as short as it is clear from now on: with seconds if it comes at once, with the day if it is another one.
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case t.Sub(now) < time.Minute:
		return t.Format(time.TimeOnly)
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	default:
		return t.Format("Mon 2 Jan 15:04")
	}
}

// Duration is a duration as a person configures it: without the units that are zero.
func Duration(d time.Duration) string {
	s := d.String()
	if trimmed, ok := strings.CutSuffix(s, "m0s"); ok {
		s = trimmed + "m"
	}
	if trimmed, ok := strings.CutSuffix(s, "h0m"); ok {
		s = trimmed + "h"
	}
	return s
}

// Dollars writes an amount: cents where they matter, more where they are all there is.
func Dollars(v float64) string {
	switch {
	case v > 0 && v < 0.0001:
		return "less than $0.0001"
	case v > 0 && v < 0.01:
		return fmt.Sprintf("$%.4f", v)
	default:
		return fmt.Sprintf("$%.2f", v)
	}
}

// Exact drops the noise at the end of a sum of binary fractions: 1.2, not
// 1.2000000000000002.
func Exact(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// Roughly comes before an amount: nobody knows all of it, or some is an estimate.
func Roughly(unknown, estimated bool) string {
	words := ""
	if unknown {
		words = "at least "
	}
	if estimated {
		words += "about "
	}
	return words
}

// Bytes writes a size: 340 bytes, 12 KiB, 1.5 MiB, 20.3 GiB.
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return Count(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
}

// Thousands groups the digits of a number.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Tokens counts tokens: 1 token, 12,000 tokens.
func Tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return Thousands(n) + " tokens"
}

// InOut says how many tokens were read, those from a cache apart, and written. No agent
// answers with 0 of them: a count of 0 is one that it did not report. Empty if it reported none.
func InOut(in, cached, out int64) string {
	if in+cached+out == 0 {
		return ""
	}
	text := "tokens in unknown"
	if in > 0 {
		text = Tokens(in) + " in"
	}
	if cached > 0 {
		text += ", " + Thousands(cached) + " cached"
	}
	if out == 0 {
		return text + ", out unknown"
	}
	return text + ", " + Thousands(out) + " out"
}

// Count counts things: 1 task, 2 tasks, 3 tries, 4 processes.
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	stem, isY := strings.CutSuffix(word, "y")
	switch {
	case word == "criterion":
		word = "criteria"
	case isY && !strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeiou"):
		word = stem + "ies"
	case strings.HasSuffix(word, "s"):
		word += "es"
	default:
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// Some is Count, but nothing for none.
func Some(n int, word string) string {
	if n == 0 {
		return ""
	}
	return Count(n, word)
}

// Lead puts words before a text, unless there is none.
func Lead(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

// Parts are those of a sentence that say something.
func Parts(parts ...string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// Series lists items as a person does: a, b or c.
func Series[S ~string](items []S, last string) (text string) {
	for i, item := range items {
		switch i {
		case 0:
		case len(items) - 1:
			text += " " + last + " "
		default:
			text += ", "
		}
		text += string(item)
	}
	return text
}

// Path is a path as people read it: from a folder on, if it is in there.
func Path(path, folder string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Branch is what work lands on as people call it: a branch, or the HEAD of a working tree, if that is detached.
func Branch(ref string) string {
	if path.Base(ref) == "HEAD" && !strings.HasPrefix(ref, "refs/") {
		return "HEAD"
	}
	if IsFolder(ref) {
		return "this folder"
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}

// IsFolder reports whether a ref has what has landed in a project's own folder.
func IsFolder(ref string) bool { return strings.HasPrefix(ref, "refs/ralph/folder/") }

// On says where work lands: on a branch, or in a project's own folder.
func On(ref string) string {
	if IsFolder(ref) {
		return "in " + Branch(ref)
	}
	return "on " + Branch(ref)
}

// MergeCommand is what lands the work there that is finished.
func MergeCommand(ref string) string {
	if IsFolder(ref) {
		return "ralph merge --in-place"
	}
	return "ralph merge --target " + Branch(ref)
}

// List names items, at most that many of them: a, b and 3 more.
func List(items []string, most int) string {
	if len(items) <= most {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
}

// Few names as many items as a line has room for, and counts the others.
func Few(items []string) string { return List(items, 5) }

// Tests is how many tests passed, and how many did before the work, as far as that is known.
func Tests(now, before *int) string {
	switch {
	case now == nil:
		return ""
	case before == nil || *before == *now:
		return Count(*now, "test") + " passed"
	}
	return fmt.Sprintf("%s passed, %d before the work", Count(*now, "test"), *before)
}
