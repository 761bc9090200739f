package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/forecast"
	"ralph/internal/report"
	"ralph/internal/testing/check"
)

// begun is a world with two tasks and a run of which that was forecast.
func begun(t *testing.T, f dag.Forecast) *world {
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "one"}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "two"}})
	w.begin(dag.Scope{})
	w.update(func(g *dag.Graph) error { return g.History.KeepForecast(w.run.ID, f) })
	return w
}

func (w *world) paid(took time.Duration, cost *float64) {
	w.t.Helper()
	check.That(w.t, w.attempt(try{took: took, note: dag.Note{Agent: "claude", Usage: &event.Usage{CostUSD: cost, Unknown: cost == nil}}}), "nothing is ready")
}

// TestAReportSaysHowRightItsForecastWas, for each way in which a run ends.
func TestAReportSaysHowRightItsForecastWas(t *testing.T) {
	t.Parallel()
	hour := forecast.Span{P50: time.Hour, P90: 2 * time.Hour}
	money := &forecast.Money{P50: 2, P90: 3}
	base := dag.Forecast{Tasks: 2, Past: 9, Took: hour, Cost: money, DoneP50: 2, DoneP90: 1}
	until := base
	until.Until = time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	nothing := base
	nothing.Took, nothing.Cost = forecast.Span{}, nil
	tests := map[string]struct {
		of   dag.Forecast
		play func(*world)
		want string
	}{
		"complete": {base, func(w *world) {
			w.paid(44*time.Minute+58*time.Second, ptr(2.0))
			w.paid(45*time.Minute, ptr(1.5))
			w.end(event.OutcomeComplete, "", event.Counts{})
		}, "time: p50 was 1h00m and the result 50 % more, within p90 of 2h00m; cost: p50 was $2.00 and the result 75 % more, above p90 of $3.00"},
		"earlier": {base, func(w *world) {
			w.paid(15*time.Minute-time.Second, ptr(1.0))
			w.paid(15*time.Minute-time.Second, ptr(1.0))
			w.end(event.OutcomeComplete, "", event.Counts{})
		}, "time: p50 was 1h00m and the result 50 % less, within p90 of 2h00m; cost: p50 was $2.00 and the result the same, within p90 of $3.00"},
		"without what it waited for rate limits": {base, func(w *world) {
			w.paid(10*time.Hour-time.Second, ptr(2.0))
			w.update(func(g *dag.Graph) error { return g.History.Waited(w.run.ID, 9*time.Hour) })
			w.end(event.OutcomeComplete, "", event.Counts{})
		}, "time: p50 was 1h00m and the result the same, within p90 of 2h00m; cost: p50 was $2.00 and the result the same, within p90 of $3.00"},
		"a cost that nobody knows": {base, func(w *world) {
			w.paid(3*time.Hour-time.Second, nil)
			w.end(event.OutcomeComplete, "", event.Counts{})
		}, "time: p50 was 1h00m and the result 200 % more, above p90 of 2h00m"},
		"no cost in the forecast, and no time": {nothing, func(w *world) {
			w.paid(time.Minute, ptr(1.0))
			w.end(event.OutcomeComplete, "", event.Counts{})
		}, "time: p50 was 0s, above p90 of 0s"},
		"failed after all of its tasks": {base, func(w *world) {
			w.paid(time.Hour-time.Second, ptr(2.0))
			w.end(event.OutcomeFailure, "C1 is not proven", event.Counts{Done: 1, Total: 1})
		}, "time: p50 was 1h00m and the result the same, within p90 of 2h00m; cost: p50 was $2.00 and the result the same, within p90 of $3.00"},
		"failed before": {base, func(w *world) {
			w.paid(time.Hour, ptr(2.0))
			w.end(event.OutcomeFailure, "the agent gave up", event.Counts{Done: 1, Remaining: 1, Total: 2})
		}, "p50 1h00m, p90 2h00m; p50 $2.00, p90 $3.00; not compared: the run ended before its tasks did: failure"},
		"stopped at its time": {until, func(w *world) {
			w.paid(time.Hour, ptr(1.0))
			w.end(event.OutcomeLimit, "it is 04:00", event.Counts{})
		}, "done: p50 was 2 and the result 50 % less, within p90 of at least 1; cost: p50 was $2.00 and the result 50 % less, within p90 of $3.00"},
		"and nothing done": {until, func(w *world) {
			w.now = w.now.Add(time.Hour)
			w.end(event.OutcomeLimit, "it is 04:00", event.Counts{})
		}, "done: p50 was 2 and the result 100 % less, below p90 of at least 1; cost: p50 was $2.00 and the result 100 % less, within p90 of $3.00"},
		"another limit": {until, func(w *world) {
			w.paid(time.Minute, ptr(1.0))
			w.end(event.OutcomeLimit, "1 iteration", event.Counts{})
		}, "p50 1h00m, p90 2h00m; p50 $2.00, p90 $3.00; not compared: the run ended before its tasks did: limit"},
		"not over": {base, func(w *world) { w.paid(time.Minute, ptr(1.0)) }, "p50 1h00m, p90 2h00m; p50 $2.00, p90 $3.00; not compared: the run is not over"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begun(t, test.of)
			test.play(w)
			r := w.load()
			for _, format := range []report.Format{"text", "markdown", "html"} {
				var b bytes.Buffer
				check.OK(t, report.Write(&b, r, format, report.TextOptions{}, report.HTMLOptions{}))
				check.Contains(t, string(format), test.want, strings.ReplaceAll(b.String(), "&#43;", "+"))
			}
			var got struct {
				Forecast struct {
					Compared bool
					Why      *string
				}
			}
			text, err := json.Marshal(r)
			check.OK(t, err)
			check.OK(t, json.Unmarshal(text, &got))
			check.That(t, got.Forecast.Compared == (got.Forecast.Why == nil) && got.Forecast.Compared != strings.Contains(test.want, "not compared"), "JSON: %+v", got.Forecast)
		})
	}
}

// TestAForecastInWords says what is unknown, and never that it is nothing.
func TestAForecastInWords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC)
	span := forecast.Span{P50: time.Hour, P90: 3 * time.Hour}
	base := forecast.Result{
		Tasks: 3, Past: 7, Attempts: 9, Draws: 1000, Took: span, Whole: span, Cost: &forecast.Money{P50: 1, P90: 2}, DoneP50: 3, DoneP90: 2, AllDone: 0.5,
		Basis: []forecast.Basis{{Level: forecast.SameModel, Tasks: 2, Past: 7}, {Level: forecast.Anything, Tasks: 1, Past: 7}}, Sparse: true,
	}
	partly, unknown, free := base, base, base
	partly.CostUnknown, partly.CostEstimated = 1, true
	unknown.Cost, unknown.CostUnknown = nil, 3
	free.Cost = &forecast.Money{}
	for name, test := range map[string]struct {
		forecast report.Forecast
		want     []string
	}{
		"all of it": {report.Forecast{Result: base, At: at, Workers: 2}, []string{
			"tasks", "3, 2 at once", "end", "p50 23:00 (in 1h00m), p90 Sat 3 Jan 01:00 (in 3h00m)", "cost", "p50 $1.00, p90 $2.00",
			"done", "p50 3, p90 at least 2 of 3 tasks; all of them in 50 % of the simulated runs",
			"based on", "7 past tasks with 9 attempts: 2 tasks by past ones with the same agent and model, 1 task by all past ones, because fewer than 5 had the same agent",
			"careful", "some of the tasks have fewer than 10 past ones to go by, so p90 may be too early and too cheap",
		}},
		"until":         {report.Forecast{Result: base, At: at, Until: at.Add(2 * time.Hour)}, []string{"end", "if nothing stopped it", "by Sat 3 Jan 00:00", "p50 3", "cost", "until then"}},
		"some unknown":  {report.Forecast{Result: partly, At: at}, []string{"cost", "at least about p50 $1.00, p90 $2.00; the cost of 1 task is unknown"}},
		"all unknown":   {report.Forecast{Result: unknown, At: at}, []string{"cost", "unknown: no similar task has reported its cost"}},
		"costs nothing": {report.Forecast{Result: free, At: at}, []string{"cost", "nothing"}},
		"no past":       {report.Forecast{Result: forecast.Result{Tasks: 1}}, []string{"forecast", "1 open task in scope, and no past one in this project to go by"}},
		"nothing to do": {report.Forecast{Result: forecast.Result{Past: 7}}, []string{"forecast", "nothing is open in scope"}},
	} {
		got := strings.Join(test.forecast.Fields(), "\n")
		for i := range test.want {
			check.Contains(t, name, test.want[i], got)
		}
		_, err := json.Marshal(test.forecast)
		check.OK(t, err)
	}
}
