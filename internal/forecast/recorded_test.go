package forecast_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ralph/internal/event"
	"ralph/internal/forecast"
	"ralph/internal/testing/check"
)

// recorded is a run, with what came before it.
type recorded struct {
	About string
	Jobs  int
	Past  []struct {
		Task    int
		Outcome event.AttemptOutcome
		Took    int64    `json:"took_ms"`
		Cost    *float64 `json:"cost_usd"`
	}
	After [][]int
	Took  int64    `json:"took_ms"`
	Cost  *float64 `json:"cost_usd"`
	Above bool     // it took longer than p90, as one of ten does
}

// TestRecordedRuns forecasts runs from what came before them: all but an unlucky one lie below p90, with p50 off by less than half.
func TestRecordedRuns(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/runs/*.json")
	check.OK(t, err)
	check.Equal(t, "recorded runs", 4, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.OK(t, err)
		var run recorded
		check.OK(t, json.Unmarshal(text, &run))
		check.That(t, strings.HasPrefix(run.About, "recorded: ") || strings.HasPrefix(run.About, "by hand: "), "%s does not say what it is", file)
		var attempts []forecast.Attempt
		for _, a := range run.Past {
			attempts = append(attempts, forecast.Attempt{
				Task: strconv.Itoa(a.Task), Traits: sonnet, Outcome: a.Outcome, Took: time.Duration(a.Took) * time.Millisecond, CostUSD: a.Cost,
			})
		}
		in := forecast.Input{Past: forecast.PastTasks(attempts), Workers: run.Jobs, KeepGoing: true}
		for _, after := range run.After {
			in.Nodes = append(in.Nodes, node(after...))
		}
		out, took := forecast.Run(in), time.Duration(run.Took)*time.Millisecond
		t.Logf("%s: took %v, forecast %v; %+v", file, took, out.Took, out.Cost)
		within := func(what string, actual, p50, p90 float64) {
			check.That(t, actual <= p90, "%s: %s %v is above p90 of %v", file, what, actual, p90)
			check.That(t, actual > p50/2 && actual < p50*3/2, "%s: %s %v is far from p50 of %v", file, what, actual, p50)
		}
		if run.Above {
			check.That(t, took > out.Took.P90 && took < 2*out.Took.P50, "%s: it is no longer above p90: %v, %v", file, took, out.Took)
			continue
		}
		within("time", took.Seconds(), out.Took.P50.Seconds(), out.Took.P90.Seconds())
		if run.Cost != nil {
			within("cost", *run.Cost, out.Cost.P50, out.Cost.P90)
		}
		for _, p := range in.Past {
			check.That(t, p.Took > 0 && p.Took < 3*time.Hour, "%s: a task that was killed, or waited for a rate limit, counts as %v", file, p.Took)
		}
	}
}
