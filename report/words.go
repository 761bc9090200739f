package report

import (
	"fmt"
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
)

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

// CostWords says what was spent: what is unknown is said to be unknown, and
// what is estimated is marked.
func (u Usage) CostWords() string {
	switch {
	case u.Told == 0 && u.Silent == 0:
		return "nothing"
	case u.Silent > 0 && u.Cost() == 0:
		return "unknown"
	}
	text := human.Dollars(u.Cost())
	var asides []string
	switch {
	case u.Guessed == u.Told:
		text, asides = "about "+text, []string{"estimated"}
	case u.Guessed > 0:
		asides = append(asides, human.Dollars(u.EstimatedUSD)+" of it estimated")
	}
	if u.Silent > 0 {
		text = "at least " + text
		if all := u.Told + u.Silent - u.Partly - u.Parts; all > 0 {
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

func (r Run) when(t time.Time) string { return t.In(r.Zone).Format("2006-01-02 15:04:05 MST") }

func (r Run) clock(t time.Time) string { return t.In(r.Zone).Format(time.TimeOnly) }

// ModelWords says which model worked, and which one was asked for if it differs.
func (a Attempt) ModelWords() string {
	switch {
	case a.Effective == "":
		return render.Line(a.Model)
	case a.Model == "" || a.Model == a.Effective:
		return render.Line(a.Effective)
	default:
		return render.Line(a.Effective) + " (asked for: " + render.Line(a.Model) + ")"
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
