package report

import (
	"fmt"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
)

// Accuracy is what was forecast of a run when it began, and how right that was.
type Accuracy struct {
	dag.Forecast
	Took    time.Duration // without waits for rate limits
	CostUSD *float64      // nil if it is unknown
	Done    int           // tasks

	AtUntil bool   // the run stopped at Until: what counts is how far it came
	Why     string // why nothing can be compared; "" if it can
}

// accuracy compares a run with its forecast; nil if there was none.
func (s snapshot) accuracy(r Run) *Accuracy {
	if s.forecast == nil {
		return nil
	}
	a := &Accuracy{Forecast: *s.forecast, Took: max(r.Duration-s.forecast.Waited, 0)}
	if r.Usage.Silent == 0 {
		cost := r.Usage.Cost()
		a.CostUSD = &cost
	}
	for _, t := range r.Tasks {
		if t.Ran() && t.Status == dag.Done {
			a.Done++
		}
	}
	switch {
	case r.Outcome == event.OutcomeComplete:
	case r.Outcome == event.OutcomeLimit && !a.Until.IsZero() && !r.EndedAt.Before(a.Until):
		a.AtUntil = true
	case !r.Over():
		a.Why = "the run is not over"
	case r.Counts.Total > 0 && r.Counts.Remaining == 0: // it failed for another reason, such as a criterion that is not proven
	default:
		a.Why = "the run ended before its tasks did: " + render.OutcomeWord(r.Outcome)
	}
	return a
}

// words says how accurate the forecast was, or what it was if that cannot be said.
func (a *Accuracy) words() string {
	switch {
	case a == nil:
		return ""
	case a.Why != "":
		text := fmt.Sprintf("p50 %s, p90 %s", human.Span(a.Forecast.Took.P50), human.Span(a.Forecast.Took.P90))
		if a.Cost != nil {
			text += fmt.Sprintf("; p50 %s, p90 %s", human.Dollars(a.Cost.P50), human.Dollars(a.Cost.P90))
		}
		return text + "; not compared: " + a.Why
	}
	text := compare("time", human.Span, a.Took, a.Forecast.Took.P50, a.Forecast.Took.P90)
	if a.AtUntil {
		text = fmt.Sprintf("done: p50 was %d%s, %s p90 of at least %d", a.DoneP50, off(deviation(a.Done, a.DoneP50)), side(a.Done >= a.DoneP90, "within", "below"), a.DoneP90)
	}
	if a.Cost != nil && a.CostUSD != nil {
		text += "; " + compare("cost", human.Dollars, *a.CostUSD, a.Cost.P50, a.Cost.P90)
	}
	return text
}

func compare[T time.Duration | float64](what string, say func(T) string, actual, p50, p90 T) string {
	return fmt.Sprintf("%s: p50 was %s%s, %s p90 of %s", what, say(p50), off(deviation(actual, p50)), side(actual <= p90, "within", "above"), say(p90))
}

func side(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// deviation is by how much of p50 the result lay above it; nil if that was 0.
func deviation[T time.Duration | float64 | int](actual, p50 T) *float64 {
	if p50 == 0 {
		return nil
	}
	d := float64(actual-p50) / float64(p50)
	return &d
}

func off(d *float64) string {
	switch {
	case d == nil:
		return ""
	case *d >= 0.005:
		return fmt.Sprintf(" and the result %.0f %% more", 100**d)
	case *d <= -0.005:
		return fmt.Sprintf(" and the result %.0f %% less", -100**d)
	default:
		return " and the result the same"
	}
}

// MarshalJSON writes null for what was not forecast or cannot be compared.
func (a *Accuracy) MarshalJSON() ([]byte, error) {
	amount := func(compared bool, p50, p90, actual any, d *float64, within bool) jsonval.Object {
		o := jsonval.Object{"p50", p50, "p90", p90, "actual", nil, "error", nil, "within_p90", nil}
		if compared {
			o[5], o[7], o[9] = actual, d, within
		}
		return o
	}
	fore, compared := a.Forecast, a.Why == ""
	var cost any
	if c := fore.Cost; c != nil {
		actual := 0.0
		if a.CostUSD != nil {
			actual = *a.CostUSD
		}
		cost = amount(compared && a.CostUSD != nil, human.Exact(c.P50), human.Exact(c.P90), human.Exact(actual), deviation(actual, c.P50), actual <= c.P90)
	}
	return jsonval.Object{
		"tasks", fore.Tasks, "past_tasks", fore.Past, "until", fore.Until, "compared", compared, "why", null(a.Why),
		"took_ms", amount(compared && !a.AtUntil, fore.Took.P50, fore.Took.P90, a.Took, deviation(a.Took, fore.Took.P50), a.Took <= fore.Took.P90),
		"cost_usd", cost,
		"done", amount(compared, fore.DoneP50, fore.DoneP90, a.Done, deviation(a.Done, fore.DoneP50), a.Done >= fore.DoneP90),
	}.MarshalJSON()
}
