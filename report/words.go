package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ralph/internal/term"
)

// clean makes foreign text harmless and keeps its lines.
func clean(s string) string { return term.Block(term.Strip(strings.ToValidUTF8(s, "?"))) }

// head is the first line of foreign text that says something, and rest what follows.
func head(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(clean(s)), "\n")
	return strings.TrimSpace(first), strings.Trim(rest, "\n")
}

// shorten keeps the beginning of a text and says how much it left out.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + fmt.Sprintf("… (%s more)", Bytes(int64(len(s)-cut)))
}

// ending keeps the end of a text, where a failing command says why.
func ending(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := len(s) - limit
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	if _, after, ok := strings.Cut(s[cut:], "\n"); ok && len(after) > limit/2 {
		return fmt.Sprintf("… (%s before this)\n", Bytes(int64(len(s)-len(after)))) + after
	}
	return fmt.Sprintf("… (%s before this)\n", Bytes(int64(cut))) + s[cut:]
}

// Bytes writes a size as people say it: 340 bytes, 12 KiB, 1.5 MiB, 20.3 GiB.
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
}

// Span writes a duration as people say it: 340ms, 12s, 1m20s, 2h5m, 3d4h.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
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

// Cost says in words what was spent: what is unknown is said to be unknown, and
// what is estimated is marked.
func (u Usage) Cost() string {
	switch {
	case u.Told == 0 && u.Silent == 0:
		return "nothing"
	case u.Silent > 0 && u.USD == 0:
		return "unknown"
	}
	text := Dollars(u.USD)
	var asides []string
	switch {
	case u.Guessed == u.Told:
		text, asides = "about "+text, []string{"estimated"}
	case u.Guessed > 0:
		asides = append(asides, Dollars(u.Estimated)+" of it estimated")
	}
	if u.Silent > 0 {
		text = "at least " + text
		if all := u.Told + u.Silent - u.Partly - u.Parts; all > 0 {
			asides = append(asides, fmt.Sprintf("%d of %d attempts did not tell", min(u.Silent, all), all))
		}
	}
	if len(asides) > 0 {
		text += " (" + strings.Join(asides, "; ") + ")"
	}
	return text
}

// Tokens says in words what was read and written, or "".
func (u Usage) Tokens() string {
	var parts []string
	add := func(n *int64, word string) {
		if n != nil {
			parts = append(parts, Thousands(*n)+" "+word)
		}
	}
	add(u.In, "in")
	add(u.Cached, "cached")
	add(u.Out, "out")
	return strings.Join(parts, ", ")
}

// Thousands groups the digits of a number.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural counts things: 1 task, 2 tasks, 3 tries.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if stem, ok := strings.CutSuffix(word, "y"); ok {
		return strconv.Itoa(n) + " " + stem + "ies"
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// when writes a time for people.
func (r Run) when(t time.Time) string { return t.In(r.Zone).Format("2006-01-02 15:04:05 MST") }

// clock writes the time of a day.
func (r Run) clock(t time.Time) string { return t.In(r.Zone).Format(time.TimeOnly) }

// ModelWords says which model worked, and which one was asked for if it differs.
func (a Attempt) ModelWords() string {
	switch {
	case a.Effective == "":
		return line(a.Model)
	case a.Model == "" || a.Model == a.Effective:
		return line(a.Effective)
	default:
		return line(a.Effective) + " (asked for: " + line(a.Model) + ")"
	}
}

// State is how an attempt ended, or that it runs.
func (a Attempt) State() string {
	switch {
	case !a.Ended():
		return Running
	case a.Status == "failed" && a.Outcome != "failed":
		return "failed (" + line(a.Outcome) + ")"
	default:
		return line(a.Outcome)
	}
}
