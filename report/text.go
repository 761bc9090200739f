package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
	"ralph/internal/term"
)

// TextOptions say how text is written for a terminal, or without one.
type TextOptions struct {
	Palette term.Palette
	Width   int // of the terminal; 0 means unlimited
}

// textWaits is how many tasks that wait text names; the other formats name the rest.
const textWaits = 20

// Text writes the report for a terminal.
func Text(w io.Writer, r Run, o TextOptions) error {
	t := texter{Run: r, o: o, p: o.Palette}
	t.head()
	t.failures()
	t.waits()
	t.attempts()
	t.spending()
	t.ending()
	_, err := io.WriteString(w, term.WrapLines(t.b.String(), o.Width))
	return err
}

type texter struct {
	Run
	o TextOptions
	p term.Palette
	b strings.Builder
}

func (t *texter) f(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

func (t *texter) head() {
	t.f("%s  %s\n", t.p.Cyan(t.ID), t.Tone().Paint(t.p, t.Tone().Sign()+" "+t.Headline()))
	facts := t.facts()
	if t.Setup != nil {
		facts = append(facts, factsOf("checked by", render.Line(t.Setup.Verify), "sandbox", render.Line(t.Setup.Sandbox))...)
	}
	for _, f := range facts {
		t.f("%s\n", strings.Join(term.Wrap(fmt.Sprintf("  %-10s %s", f.Name, f.Value), t.o.Width, strings.Repeat(" ", 13)), "\n"))
	}
}

// facts are the heads of text and Markdown.
func (r Run) facts() []fact {
	why, _ := head(r.Reason)
	return factsOf("tasks", render.Counts(r.Counts), "why", why, "scope", r.Scope, "continues", r.Together.words(), "began", r.when(r.StartedAt),
		"took", human.Span(r.Duration)+", "+human.Count(len(r.Attempts), "attempt"), "cost", r.Usage.CostWords(),
		"tokens", r.Usage.TokenWords(), "verified", r.verifiedWords())
}

type fact struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
	More  string `xml:"-"` // folded below it, in the page
}

// factsOf makes facts of names and values; what has no value is left out.
func factsOf(pairs ...string) (facts []fact) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			facts = append(facts, fact{Name: pair[0], Value: pair[1]})
		}
	}
	return facts
}

func (r Run) perVerified() *float64 {
	return Spending{Usage: r.Usage, Verified: r.Verified}.PerVerified()
}

// verifiedWords says how many tasks were checked, and what one of them cost.
func (r Run) verifiedWords() string {
	if r.Verified == 0 {
		return "no task passed verification"
	}
	text := human.Count(r.Verified, "task") + " passed verification"
	if each := r.perVerified(); each != nil {
		text += ", at " + human.Dollars(*each) + " each"
	}
	return text
}

func (t *texter) failures() {
	if len(t.Failures) == 0 {
		return
	}
	t.f("\n%s\n", t.p.Bold("Failed"))
	for _, f := range t.Failures {
		t.f("  %s  %s\n", t.p.Red(f.Task), t.p.Bold(f.Title))
		t.f("      %s\n", f.Reason)
		if f.Gate != nil {
			t.f("      gate %s: %s\n", render.Line(f.Gate.Command), render.Line(f.Gate.Exit))
		}
		if f.Attempt == "" {
			t.f("      %s\n", t.p.Dim("it was not this run that failed it"))
		}
		if f.Holds > 0 {
			t.f("      %s\n", human.Count(f.Holds, "task")+" cannot run before it is done")
		}
		for _, l := range term.MarkedTail(f.Detail, term.GateLines) {
			t.f("      %s %s\n", t.p.Dim("|"), l)
		}
		if len(t.Failures) == 1 {
			break // they are what is next
		}
		for _, s := range f.Next {
			t.f("      %s  %s\n", t.p.Cyan(s.Command), t.p.Dim(s.Why))
		}
	}
}

func (t *texter) waits() {
	if len(t.Waits) == 0 {
		return
	}
	t.f("\n%s\n", t.p.Bold("Waiting"))
	table := &term.Table{Width: t.o.Width, Wrap: true}
	for _, w := range t.Waits[:min(len(t.Waits), textWaits)] {
		table.Add(term.Cell{Text: w.Task, Paint: t.p.Cyan}, term.Cell{Text: term.Cut(w.Title, 40)}, term.Cell{Text: w.Why, Paint: t.p.Dim})
	}
	t.b.WriteString(table.Indented())
	if more := len(t.Waits) - textWaits; more > 0 {
		t.f("  and %d more\n", more)
	}
}

func (t *texter) attempts() {
	if len(t.Attempts) == 0 {
		return
	}
	t.f("\n%s\n", t.p.Bold("Attempts"))
	table := &term.Table{Width: t.o.Width}
	for _, a := range t.Attempts {
		facts := a.Words()
		if t.Usage.Known > 0 {
			facts = strings.TrimSuffix(a.Usage.CostWords()+", "+facts, ", ")
		}
		table.Add(term.Cell{Text: t.clock(a.StartedAt), Paint: t.p.Dim}, term.Cell{Text: a.Task, Paint: t.p.Cyan},
			term.Cell{Text: a.State(), Paint: func(s string) string { return a.Tone().Paint(t.p, s) }}, term.Cell{Text: human.Span(a.Duration)},
			term.Cell{Text: term.Cut(a.Title, 40)}, term.Cell{Text: facts, Paint: t.p.Dim})
	}
	t.b.WriteString(table.Indented())
}

// Words says in one line what an attempt took and gave.
func (a Attempt) Words() string {
	var facts []string
	if who := strings.TrimSpace(render.Line(a.Agent) + " " + a.ModelWords()); who != "" {
		facts = append(facts, who)
	}
	if tokens := a.Usage.TokenWords(); tokens != "" {
		facts = append(facts, tokens)
	}
	if n := len(a.Files); n > 0 {
		facts = append(facts, human.Count(n, "file"))
	}
	if words := gateWords(a.Gates); words != "" {
		facts = append(facts, words)
	}
	if a.Verdict != "" {
		verdict, _ := head(a.Verdict)
		facts = append(facts, "verifier: "+shorten(verdict, 80))
	}
	if a.StopReason != "" && a.StopReason != "end_turn" && a.StopReason != "cancelled" { // that we did ourselves
		facts = append(facts, "stopped by "+render.Line(a.StopReason))
	}
	return strings.Join(facts, ", ")
}

func gateWords(gates []event.Gate) string {
	excused := 0
	for _, g := range gates {
		if !g.Accepted() {
			return "a gate failed"
		}
		if g.Verdict == event.GateExcused {
			excused++
		}
	}
	var parts []string
	if n := len(gates) - excused; n > 0 {
		parts = append(parts, human.Count(n, "gate")+" passed")
	}
	if excused > 0 {
		parts = append(parts, human.Count(excused, "gate")+" excused: red before the work, too")
	}
	return strings.Join(parts, ", ")
}

func (t *texter) spending() {
	if !t.Spends() {
		return
	}
	t.f("\n%s\n", t.p.Bold("Cost by model"))
	table := &term.Table{Width: t.o.Width}
	for _, s := range t.Models {
		table.Add(term.Cell{Text: render.Line(s.Key)}, term.Cell{Text: human.Count(s.Usage.Attempts, "attempt")},
			term.Cell{Text: s.Usage.CostWords()}, term.Cell{Text: s.TokenWords()})
	}
	t.b.WriteString(table.Indented())
}

func (t *texter) ending() {
	if len(t.Next) > 0 {
		t.f("\n%s\n", t.p.Bold("Next"))
		table := &term.Table{Width: t.o.Width, Wrap: true}
		for _, s := range t.Next {
			table.Add(term.Cell{Text: s.Command, Paint: t.p.Cyan}, term.Cell{Text: s.Why, Paint: t.p.Dim})
		}
		t.b.WriteString(table.Indented())
	}
	for _, w := range t.Warnings {
		t.f("\n%s %s\n", t.p.Yellow("warning:"), w)
	}
	if t.Unread != "" {
		t.f("\n%s the files of this run cannot be read (%s): what only they hold is missing\n", t.p.Yellow("warning:"), t.Unread)
		return
	}
	if t.Pruned {
		return
	}
	t.f("\n%s %s\n", t.p.Dim("files:"), t.Folder)
}

// head is the first line of foreign text that says something, and rest what follows.
func head(s string) (first, rest string) {
	first, rest = render.First(render.Block(s))
	return first, strings.Trim(rest, "\n")
}

// shorten keeps the beginning of a text and says how much it left out.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	kept := plain.Head(s, limit)
	return kept + fmt.Sprintf("… (%s more)", human.Bytes(int64(len(s)-len(kept))))
}

// ending keeps the end of a text, where a failing command says why.
func ending(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	kept := plain.Tail(s, limit)
	if _, after, ok := strings.Cut(kept, "\n"); ok && len(after) > limit/2 {
		kept = after
	}
	return fmt.Sprintf("… (%s before this)\n", human.Bytes(int64(len(s)-len(kept)))) + kept
}

// CostWords says what was spent: an unknown cost is called unknown, and
// what is estimated is marked.
func (u Usage) CostWords() string {
	switch {
	case u.Known == 0 && u.Silent == 0:
		return "nothing"
	case u.Silent > 0 && u.Cost() == 0:
		return "unknown"
	}
	text := human.Dollars(u.Cost())
	var asides []string
	switch {
	case u.Guessed == u.Known:
		text, asides = "about "+text, []string{"estimated"}
	case u.Guessed > 0:
		asides = append(asides, human.Dollars(u.EstimatedUSD)+" of it estimated")
	}
	if u.Silent > 0 {
		text = "at least " + text
		if all := u.Known + u.Silent - u.Partly - u.Parts; all > 0 {
			asides = append(asides, fmt.Sprintf("%d of %d attempts did not report it", min(u.Silent, all), all))
		}
	}
	if len(asides) > 0 {
		text += " (" + strings.Join(asides, "; ") + ")"
	}
	return text
}

// TokenWords says what was read and written where the heading says tokens, or "".
func (u Usage) TokenWords() string {
	return strings.TrimPrefix(strings.Replace(human.InOut(u.TokensIn, u.TokensCached, u.TokensOut), " tokens in", " in", 1), "tokens ")
}

// TokenWords adds how much of the input came from a cache.
func (s Spending) TokenWords() string {
	words := s.Usage.TokenWords()
	if share := s.Usage.CachedShare(); share != nil {
		words += fmt.Sprintf(" (%.0f %% of input cached)", 100**share)
	}
	return words
}

func (r Run) when(t time.Time) string { return t.In(r.Zone).Format("2006-01-02 15:04:05 MST") }

func (r Run) clock(t time.Time) string { return t.In(r.Zone).Format(time.TimeOnly) }

// ModelWords says which model worked, and which one was asked for if it differs.
func (a Attempt) ModelWords() string {
	switch {
	case a.ModelEffective == "":
		return render.Line(a.Model)
	case a.Model == "" || a.Model == a.ModelEffective:
		return render.Line(a.ModelEffective)
	default:
		return render.Line(a.ModelEffective) + " (asked for: " + render.Line(a.Model) + ")"
	}
}

// State is how an attempt ended, or that it runs.
func (a Attempt) State() string {
	if !a.Ended() {
		return string(event.OutcomeRunning)
	}
	words, _ := render.Attempt(a.Outcome, a.Status)
	return words
}

// Tone is how that is to be taken.
func (a Attempt) Tone() render.Tone {
	_, tone := render.Attempt(a.Outcome, a.Status)
	return tone
}
