package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/forecast"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
)

// ForecastOptions say what a forecast is about, as a run is told what to do.
type ForecastOptions struct {
	Claim    dag.ClaimOptions
	Workers  int
	FailFast bool
	Until    time.Time // zero for never

	// Model is the one that a task is given if it begins as the nth of a run. Modelless says of agents that they have none.
	Model     func(nth int, pinned string) string
	Modelless func(agent string) bool
}

// Forecast is when the open tasks of a scope will be done, and what they will cost.
type Forecast struct {
	forecast.Result
	At      time.Time
	Scope   dag.Scope
	Workers int
	Until   time.Time // zero for never
}

// ReadForecast reads what a forecast is made of. The function that it returns makes it, and needs the graph no more.
func ReadForecast(g *dag.Graph, o ForecastOptions) (func() Forecast, error) {
	f := Forecast{At: g.Now(), Scope: o.Claim.Scope, Workers: o.Workers, Until: o.Until}
	model := func(agent, model string) string {
		if o.Modelless(agent) {
			return ""
		}
		return model
	}
	attempts, _ := g.History.PastAttempts() // an error stays with the transaction
	for i, a := range attempts {
		attempts[i].Model = model(a.Agent, a.Model)
	}
	past := forecast.PastTasks(attempts)
	if len(past) == 0 {
		t, err := g.Tasks.Tally(f.Scope)
		f.Tasks = t.Open()
		return func() Forecast { return f }, err
	}
	in, err := g.Tasks.OpenGraph(o.Claim)
	if err != nil {
		return nil, err
	}
	in.Past, in.Workers, in.FailFast = past, o.Workers, o.FailFast
	for i, n := range in.Nodes {
		in.Nodes[i].Model = model(n.Agent, o.Model(i+1, n.Model))
	}
	if !o.Until.IsZero() {
		in.Until = max(o.Until.Sub(f.At), 1)
	}
	return func() Forecast { f.Result = forecast.Run(in); return f }, nil
}

// Known says that it says something: there was a past, and there is something to do.
func (f Forecast) Known() bool { return f.Past > 0 && f.Tasks > 0 }

// Kept is what of it is kept with a run.
func (f Forecast) Kept() dag.Forecast {
	kept := dag.Forecast{Tasks: f.Tasks, Past: f.Past, Took: f.Took, Until: f.Until, DoneP50: f.DoneP50, DoneP90: f.DoneP90}
	if f.CostUnknown == 0 {
		kept.Cost = f.Cost
	}
	return kept
}

// Unknown is why there is no forecast; "" if there is one.
func (f Forecast) Unknown() string {
	switch {
	case f.Tasks == 0 && f.LeftOut > 0:
		return human.Count(f.LeftOut, "open task") + " in scope, but none can run; see why with: ralph status"
	case f.Tasks == 0:
		return "nothing is open in scope"
	case f.Past == 0:
		return human.Count(f.Tasks, "open task") + " in scope, and no past one in this project to go by; ask again after the first runs"
	}
	return ""
}

// Fields are the names and values of what a person reads about it.
func (f Forecast) Fields() []string {
	if why := f.Unknown(); why != "" {
		return []string{"forecast", why}
	}
	fields := []string{"tasks", fmt.Sprintf("%d, %d at once", f.Tasks, f.Workers)}
	if f.LeftOut > 0 {
		fields = append(fields, "left out", human.Count(f.LeftOut, "task")+" that cannot run: a person, a failed task or one out of scope keeps them back")
	}
	ends, done := f.spanWords(f.Whole), f.doneWords()
	if !f.Until.IsZero() {
		done = "by " + human.Moment(f.Until, f.At) + ": " + done
		if f.Whole.P90 > f.Until.Sub(f.At) {
			ends += ", if nothing stopped it"
		}
	}
	fields = append(fields, "end", ends, "cost", f.costWords(), "done", done, "based on", f.basisWords())
	if f.Sparse {
		fields = append(fields, "careful", fmt.Sprintf("some of the tasks have fewer than %d past ones to go by, so p90 may be too early and too cheap", forecast.Enough))
	}
	return fields
}

func (f Forecast) spanWords(s forecast.Span) string {
	one := func(d time.Duration) string {
		return fmt.Sprintf("%s (in %s)", human.Moment(f.At.Add(d), f.At), human.Span(d))
	}
	return "p50 " + one(s.P50) + ", p90 " + one(s.P90)
}

func (f Forecast) costWords() string {
	switch {
	case f.Cost == nil:
		return "unknown: no similar task has reported its cost"
	case f.Cost.P90 == 0 && f.CostUnknown == 0:
		return "nothing"
	}
	text := human.Roughly(f.CostUnknown > 0, f.CostEstimated) + "p50 " + human.Dollars(f.Cost.P50) + ", p90 " + human.Dollars(f.Cost.P90)
	if !f.Until.IsZero() {
		text += " until then"
	}
	if f.CostUnknown > 0 {
		text += fmt.Sprintf("; the cost of %s is unknown", human.Count(f.CostUnknown, "task"))
	}
	return text
}

func (f Forecast) doneWords() string {
	text := fmt.Sprintf("p50 %d, p90 at least %d of %s", f.DoneP50, f.DoneP90, human.Count(f.Tasks, "task"))
	return text + fmt.Sprintf("; all of them in %.0f %% of the simulated runs", 100*f.AllDone)
}

func (f Forecast) basisWords() string {
	how := seq.Map(f.Basis, func(b forecast.Basis) string {
		like := "past ones with the same " + string(b.Level)
		if b.Level == forecast.Anything {
			like = "all past ones, because fewer than " + fmt.Sprint(forecast.Few) + " had the same agent"
		}
		return human.Count(b.Tasks, "task") + " by " + like
	})
	return fmt.Sprintf("%s with %s: %s", human.Count(f.Past, "past task"), human.Count(f.Attempts, "attempt"), strings.Join(how, ", "))
}

// Moment is when something ends that takes so long, as people read it.
func (f Forecast) Moment(d time.Duration) string { return human.Moment(f.At.Add(d), f.At) }

// MarshalJSON writes null for what is not known.
func (f Forecast) MarshalJSON() ([]byte, error) {
	o := jsonval.Object{
		"at", f.At, "scope",
		jsonval.Object{"text", f.Scope.String(), "target", null(cmp.Or(f.Scope.Task, f.Scope.Feature, f.Scope.Tag))},
		"jobs", f.Workers, "until", f.Until, "tasks", f.Tasks, "left_out", f.LeftOut, "past_tasks", f.Past, "past_attempts", f.Attempts, "why", null(f.Unknown()),
	}
	if !f.Known() {
		return append(o, "simulated", 0, "sparse", true, "basis", []any{}, "end", nil, "whole", nil, "cost_usd", nil, "cost_unknown_tasks", f.Tasks, "cost_estimated", false,
			"done", nil, "all_done", nil, "each", []any{}).MarshalJSON()
	}
	var cost any
	if f.Cost != nil {
		cost = jsonval.Object{"p50", human.Exact(f.Cost.P50), "p90", human.Exact(f.Cost.P90)}
	}
	span := func(s forecast.Span) jsonval.Object {
		return jsonval.Object{"p50", f.At.Add(s.P50), "p90", f.At.Add(s.P90), "p50_ms", s.P50, "p90_ms", s.P90}
	}
	basis := seq.Map(f.Basis, func(b forecast.Basis) jsonval.Object {
		return jsonval.Object{"same", string(b.Level), "tasks", b.Tasks, "past_tasks", b.Past}
	})
	each := seq.Map(f.Each, func(e forecast.Estimate) jsonval.Object {
		var end any
		if e.Ever > 0 {
			end = span(e.End)
		}
		return jsonval.Object{"task", e.ID, "title", e.Title, "end", end, "done", e.Done}
	})
	return append(o, "simulated", f.Draws, "sparse", f.Sparse, "basis", basis, "end", span(f.Took), "whole", span(f.Whole), "cost_usd", cost,
		"cost_unknown_tasks", f.CostUnknown, "cost_estimated", f.CostEstimated,
		"done", jsonval.Object{"p50", f.DoneP50, "p90", f.DoneP90}, "all_done", f.AllDone, "each", each).MarshalJSON()
}
