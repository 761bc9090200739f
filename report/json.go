package report

import (
	"io"
	"slices"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
)

// The shapes of docs/json.md. Keys do not change once released; more may be added.

var (
	runBegin = jsonval.Fields[Run](`outcome reason? started_at ended_at duration_ms=Duration iterations together counts usage verified`)
	runEnd   = jsonval.Fields[Run](`criteria attempts failures waits`)
	runLast  = jsonval.Fields[Run](`next warnings folder`)

	taskBegin = jsonval.Fields[Task](`id title feature? parent? group status status_now=Now blockers=After`)
)

// MarshalJSON writes everything that is known, with foreign text as it was written.
func (r Run) MarshalJSON() ([]byte, error) {
	tasks := seq.Map(r.Tasks, func(t Task) jsonval.Object {
		return append(taskBegin(t), "attempts", seq.Map(t.Attempts, func(i int) string { return r.Attempts[i].ID }), "verified", t.Verified)
	})
	return slices.Concat(
		jsonval.Object{"run", r.ID, "scope", jsonval.Object{"text", r.Scope, "target", null(r.Target)}}, runBegin(r),
		jsonval.Object{"cost_per_verified_usd", r.perVerified(), "models", r.Models, "tasks", tasks}, runEnd(r),
		jsonval.Object{"work", work(r.Work), "forecast", r.Forecast}, runLast(r),
	).MarshalJSON()
}

var togetherKeys = jsonval.Fields[Together](`continues iterations duration_ms=Duration usage`)

// MarshalJSON writes the run with those that it continues.
func (t Together) MarshalJSON() ([]byte, error) { return togetherKeys(t).MarshalJSON() }

var (
	attemptBegin = jsonval.Fields[Attempt](`id task title iteration nth agent? model? model_effective? sandbox? started_at ended_at
		duration_ms=Duration outcome? status? reason? stop_reason? verdict?`)
	attemptEnd = jsonval.Fields[Attempt](`drift files evidence`)
)

// MarshalJSON writes the attempt.
func (a Attempt) MarshalJSON() ([]byte, error) {
	checked := jsonval.Object{"gates", seq.Map(a.Gates, gateKeys), "notes", null(a.Notes)}
	return slices.Concat(attemptBegin(a), checked, Used(a.Usage.Usage), attemptEnd(a)).MarshalJSON()
}

// Used is what an attempt used, with null for what is unknown.
func Used(u event.Usage) jsonval.Object {
	in, cached, out := u.Counts()
	return jsonval.Object{
		"tokens_in", in, "tokens_cached", cached, "tokens_out", out, "cost_usd", u.CostUSD, "cost_estimated", u.Estimated, "cost_unknown", u.Unknown,
	}
}

var (
	failureBegin = jsonval.Fields[Failure](`task title reason`)
	failureEnd   = jsonval.Fields[Failure](`detail? attempts attempt? holds next`)
	gateKeys     = jsonval.Fields[event.Gate](`command passed exit? baseline? verdict? tests tests_before`)
)

// MarshalJSON writes the failure.
func (f Failure) MarshalJSON() ([]byte, error) {
	var gate any
	if f.Gate != nil {
		gate = gateKeys(*f.Gate)
	}
	return slices.Concat(failureBegin(f), jsonval.Object{"gate", gate}, failureEnd(f)).MarshalJSON()
}

// MarshalJSON writes the usage with null for what is unknown.
func (u Usage) MarshalJSON() ([]byte, error) {
	in, cached, out := u.Counts()
	return jsonval.Object{
		"attempts", u.Attempts, "tokens_in", in, "tokens_cached", cached, "tokens_out", out, "cached_share", u.CachedShare(),
		"cost_usd", u.CostUSD, "cost_estimated_usd", human.Exact(u.EstimatedUSD), "cost_unknown_attempts", u.Silent,
	}.MarshalJSON()
}

var spendingKeys = jsonval.Fields[Spending](`key title? done verified`)

// MarshalJSON writes the spending with what one verified task cost.
func (s Spending) MarshalJSON() ([]byte, error) {
	return append(spendingKeys(s), "cost_per_verified_usd", s.PerVerified(), "usage", s.Usage).MarshalJSON()
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

const costKeys = ` cost_usd=Usage.CostUSD cost_estimated=Usage.Estimated cost_unknown=Usage.Unknown duration_ms=Duration `

var (
	resultKeys = jsonval.Fields[event.Result](`outcome reason? run iterations done=Counts.Done failed=Counts.Failed remaining=Counts.Remaining` + costKeys)
	earlierRun = jsonval.Fields[event.Together](`continues iterations` + costKeys)
)

// ResultJSON is what ralph run --json prints when a run is over.
func ResultJSON(out event.Result) jsonval.Object {
	var together any
	if out.Together != nil {
		together = earlierRun(*out.Together)
	}
	return append(resultKeys(out), "together", together, "tasks", out.Tasks, "work", work(out.Work))
}

// work is null if agents worked in the project's own folder.
func work(w *event.Work) any {
	if w == nil {
		return nil
	}
	list := func(k []event.Kept) []event.Kept { return append([]event.Kept{}, k...) }
	return jsonval.Object{"target", w.Target, "commits", w.Commits, "from", null(w.From), "to", null(w.To), "review", list(w.Review), "behind", list(w.Behind), "kept", list(w.Kept), "waits", w.Waits}
}
