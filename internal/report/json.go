package report

import (
	"io"
	"slices"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
)

// The shapes of docs/json.md. Keys do not change once released; more may be added.

// MarshalJSON writes everything that is known, with foreign text as it was written.
func (r Run) MarshalJSON() ([]byte, error) {
	tasks := seq.Map(r.Tasks, func(t Task) jsonval.Object {
		return jsonval.Object{
			"id", t.ID, "title", t.Title, "feature", null(t.Feature), "parent", null(t.Parent), "group", t.Group, "status", t.Status, "status_now", t.Now,
			"blockers", t.After, "attempts", seq.Map(t.Attempts, func(i int) string { return r.Attempts[i].ID }), "verified", t.Verified,
		}
	})
	scope := jsonval.Object{"text", r.Scope, "target", null(r.Target)}
	return jsonval.Object{
		"run", r.ID, "scope", scope, "outcome", r.Outcome, "reason", null(r.Reason),
		"started_at", r.StartedAt, "ended_at", r.EndedAt, "duration_ms", r.Duration, "iterations", r.Iterations, "together", r.Together,
		"counts", r.Counts, "usage", r.Usage, "verified", r.Verified, "cost_per_verified_usd", r.perVerified(), "models", r.Models, "tasks", tasks,
		"criteria", r.Criteria, "attempts", r.Attempts, "failures", r.Failures, "waits", r.Waits, "work", work(r.Work), "forecast", r.Forecast,
		"next", r.Next, "warnings", r.Warnings, "folder", r.Folder,
	}.MarshalJSON()
}

// MarshalJSON writes the run with those that it continues.
func (t Together) MarshalJSON() ([]byte, error) {
	return jsonval.Object{"continues", t.Continues, "iterations", t.Iterations, "duration_ms", t.Duration, "usage", t.Usage}.MarshalJSON()
}

// MarshalJSON writes the attempt.
func (a Attempt) MarshalJSON() ([]byte, error) {
	return slices.Concat(
		jsonval.Object{
			"id", a.ID, "task", a.Task, "title", a.Title, "iteration", a.Iteration, "nth", a.Nth, "agent", null(a.Agent), "model", null(a.Model),
			"model_effective", null(a.ModelEffective), "sandbox", null(a.Sandbox), "started_at", a.StartedAt, "ended_at", a.EndedAt,
			"duration_ms", a.Duration, "outcome", null(a.Outcome), "status", null(a.Status), "reason", null(a.Reason),
			"stop_reason", null(a.StopReason), "verdict", null(a.Verdict), "gates", seq.Map(a.Gates, gate), "notes", null(a.Notes),
		}, Used(a.Usage.Usage),
		jsonval.Object{"drift", a.Drift, "files", a.Files, "evidence", a.Evidence}).MarshalJSON()
}

// Used is what an attempt used, with null for what is unknown.
func Used(u event.Usage) jsonval.Object {
	in, cached, out := u.Counts()
	return jsonval.Object{
		"tokens_in", in, "tokens_cached", cached, "tokens_out", out, "cost_usd", u.CostUSD, "cost_estimated", u.Estimated, "cost_unknown", u.Unknown,
	}
}

func gate(g event.Gate) jsonval.Object {
	return jsonval.Object{
		"command", g.Command, "passed", g.Passed, "exit", null(g.Exit), "baseline", null(g.Baseline), "verdict", null(g.Verdict),
		"tests", g.Tests, "tests_before", g.TestsBefore,
	}
}

// MarshalJSON writes the failure.
func (f Failure) MarshalJSON() ([]byte, error) {
	var failed any
	if f.Gate != nil {
		failed = gate(*f.Gate)
	}
	return jsonval.Object{
		"task", f.Task, "title", f.Title, "reason", f.Reason, "gate", failed, "detail", null(f.Detail), "attempts", f.Attempts,
		"attempt", null(f.Attempt), "holds", f.Holds, "next", f.Next,
	}.MarshalJSON()
}

// MarshalJSON writes the usage with null for what is unknown.
func (u Usage) MarshalJSON() ([]byte, error) {
	in, cached, out := u.Counts()
	return jsonval.Object{
		"attempts", u.Attempts, "tokens_in", in, "tokens_cached", cached, "tokens_out", out, "cached_share", u.CachedShare(),
		"cost_usd", u.CostUSD, "cost_estimated_usd", human.Exact(u.EstimatedUSD), "cost_unknown_attempts", u.Silent,
	}.MarshalJSON()
}

// MarshalJSON writes the spending with what one verified task cost.
func (s Spending) MarshalJSON() ([]byte, error) {
	return jsonval.Object{
		"key", s.Key, "title", null(s.Title), "done", s.Done, "verified", s.Verified, "cost_per_verified_usd", s.PerVerified(), "usage", s.Usage,
	}.MarshalJSON()
}

// MarshalJSON writes null for what is unknown without an attempt.
func (p Pace) MarshalJSON() ([]byte, error) {
	var success, p50, p95 any
	if p.Attempts > 0 {
		success, p50, p95 = p.Share(), p.P50, p.P95
	}
	return jsonval.Object{"key", p.Key, "attempts", p.Attempts, "done", p.Done, "success", success, "p50_ms", p50, "p95_ms", p95}.MarshalJSON()
}

// Result writes what came of a run as one object on one line.
func Result(w io.Writer, out event.Result) error {
	return jsonval.Encoder(w).Encode(ResultJSON(out))
}

// ResultJSON is what ralph run --json prints when a run is over.
func ResultJSON(out event.Result) jsonval.Object {
	var together any
	if t := out.Together; t != nil {
		together = append(jsonval.Object{"continues", t.Continues, "iterations", t.Iterations}, cost(t.Usage, t.Duration)...)
	}
	return slices.Concat(
		jsonval.Object{
			"outcome", out.Outcome, "reason", null(out.Reason), "run", out.Run, "iterations", out.Iterations,
			"done", out.Counts.Done, "failed", out.Counts.Failed, "remaining", out.Counts.Remaining,
		}, cost(out.Usage, out.Duration.Milliseconds()),
		jsonval.Object{"together", together, "tasks", out.Tasks, "work", work(out.Work)})
}

func cost(u event.Usage, ms int64) jsonval.Object {
	return jsonval.Object{"cost_usd", u.CostUSD, "cost_estimated", u.Estimated, "cost_unknown", u.Unknown, "duration_ms", ms}
}

// work is null if agents worked in the project's own folder.
func work(w *event.Work) any {
	if w == nil {
		return nil
	}
	list := func(k []event.Kept) []event.Kept { return append([]event.Kept{}, k...) }
	return jsonval.Object{"target", w.Target, "commits", w.Commits, "from", null(w.From), "to", null(w.To), "review", list(w.Review), "behind", list(w.Behind), "kept", list(w.Kept), "waits", w.Waits}
}
