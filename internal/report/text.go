package report

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"ralph/internal/event"
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

//go:embed page/text.tmpl
var pageText string

// textWaits is how many tasks that wait text names; the other formats name the rest.
const textWaits = 20

// Text writes the report for a terminal.
func Text(w io.Writer, r Run, o TextOptions) error {
	p := o.Palette
	// With one failure, what is next for it is what is next for the run.
	t := texter{document{r, len(r.Failures), textWaits, len(r.Failures) > 1}, o, p}
	var b strings.Builder
	err := template.Must(template.New("").Funcs(template.FuncMap{
		"bold": p.Bold, "dim": p.Dim, "red": p.Red, "yellow": p.Yellow, "cyan": p.Cyan, "line": render.Line[string],
		"plural": human.Count, "minus": minus,
		"tone": func(of render.Tone, s string) string { return of.Paint(p, s) },
		"tail": func(s string) []string { return term.MarkedTail(s, term.GateLines) },
		"hang": func(f fact) string {
			return strings.Join(term.Wrap(fmt.Sprintf("  %-10s %s", f.Name, f.Value), o.Width, strings.Repeat(" ", 13)), "\n")
		},
	}).Parse(pageText)).Execute(&b, t)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, term.WrapLines(b.String(), o.Width))
	return err
}

// texter is the data of the template of text.
type texter struct {
	document
	o TextOptions
	p term.Palette
}

// Facts are one below the other.
func (t texter) Facts() []fact {
	facts := t.facts()
	if t.Setup != nil {
		facts = append(facts, factsOf("checked by", render.Line(t.Setup.Verify), "sandbox", render.Line(t.Setup.Sandbox))...)
	}
	return facts
}

// facts are the heads of text and Markdown.
func (r Run) facts() []fact {
	why, _ := head(r.Reason)
	return factsOf("tasks", render.Counts(r.Counts), "why", why, "scope", r.Scope, "continues", r.Together.words(), "began", r.when(r.StartedAt),
		"took", human.Span(r.Duration)+", "+human.Count(len(r.Attempts), "attempt"), "cost", r.Usage.CostWords(),
		"tokens", r.Usage.TokenWords(), "forecast", r.Forecast.words(), "verified", r.verifiedWords(), "gates", human.Some(r.excused(), "excused gate"), "work", strings.Join(render.Landed(r.Work), "; "))
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

// WaitTable has those that wait and are named.
func (t texter) WaitTable() string {
	table := &term.Table{Width: t.o.Width, Wrap: true}
	for _, w := range t.Waiting() {
		table.Add(term.Cell{Text: w.Task, Paint: t.p.Cyan}, term.Cell{Text: term.Cut(w.Title, 40)}, term.Cell{Text: w.Why, Paint: t.p.Dim})
	}
	return table.Indented()
}

// AttemptTable has every attempt.
func (t texter) AttemptTable() string {
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
	return table.Indented()
}

// ModelTable has what each model cost.
func (t texter) ModelTable() string {
	table := &term.Table{Width: t.o.Width}
	for _, s := range t.Models {
		table.Add(term.Cell{Text: render.Line(s.Key)}, term.Cell{Text: human.Count(s.Usage.Attempts, "attempt")},
			term.Cell{Text: s.Usage.CostWords()}, term.Cell{Text: s.TokenWords()})
	}
	return table.Indented()
}

// StepTable has what to type next.
func (t texter) StepTable() string { return render.Steps(t.Next, t.p, t.o.Width) }

// Words says in one line what an attempt took and gave.
func (a Attempt) Words() string {
	verdict, _ := head(a.Verdict)
	by := "verifier: "
	if strings.HasPrefix(verdict, "review: ") || strings.HasPrefix(verdict, "the task asks ") || strings.HasPrefix(verdict, "accepted by ") {
		by = ""
	}
	stopped := render.Line(a.StopReason)
	if stopped == "end_turn" || stopped == "cancelled" { // that we did ourselves
		stopped = ""
	}
	return strings.Join(human.Parts(strings.TrimSpace(render.Line(a.Agent)+" "+a.ModelWords()), a.Usage.TokenWords(), human.Some(len(a.Files), "file"),
		gateWords(a.Gates), human.Lead(by, shorten(verdict, 80)), human.Lead("stopped by ", stopped)), ", ")
}

func gateWords(gates []event.Gate) string {
	passed, excused, tests := 0, "", ""
	if refused(gates) != nil {
		return "a gate failed"
	}
	for _, g := range gates {
		if g.Verdict != event.GateExcused {
			passed++
		}
		tests += human.Lead("; ", human.Tests(g.Tests, g.TestsBefore))
	}
	if n := len(gates) - passed; n > 0 {
		excused = human.Count(n, "gate") + " excused: allowed to fail"
	}
	if passed == 0 {
		return excused + tests
	}
	return human.Count(passed, "gate") + " passed" + human.Lead(", ", excused) + tests
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
