package report

import (
	"encoding/json"
	"io"

	"ralph/event"
	"ralph/internal/jsonval"
)

// ResultJSON is what ralph run --json prints when a run is over.
type ResultJSON struct {
	Outcome    event.RunOutcome `json:"outcome"`
	Reason     *string          `json:"reason"`
	Run        string           `json:"run"`
	Iterations int              `json:"iterations"`
	Done       int              `json:"done"`
	Failed     int              `json:"failed"`
	Remaining  int              `json:"remaining"`
	costJSON
	DurationMS int64               `json:"duration_ms"`
	Together   *resultTogetherJSON `json:"together"`
	Tasks      []event.Resolved    `json:"tasks"`
}

// resultTogetherJSON is what a run came to with those that it continues.
type resultTogetherJSON struct {
	Continues  string `json:"continues"`
	Iterations int    `json:"iterations"`
	costJSON
	DurationMS int64 `json:"duration_ms"`
}

// costJSON is what something cost. Null is unknown, or nothing: unknown says which.
type costJSON struct {
	CostUSD   *float64 `json:"cost_usd"`
	Estimated bool     `json:"cost_estimated"`
	Unknown   bool     `json:"cost_unknown"`
}

// Result writes what came of a run as one object on one line.
func Result(w io.Writer, out event.Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(NewResult(out))
}

// NewResult is what came of a run, as machines read it.
func NewResult(out event.Result) ResultJSON {
	cost := func(u event.Usage) costJSON { return costJSON{u.CostUSD, u.Estimated, u.Unknown} }
	j := ResultJSON{
		Outcome: out.Outcome, Reason: jsonval.Text(out.Reason), Run: out.Run, Iterations: out.Iterations, Done: out.Counts.Done,
		Failed: out.Counts.Failed, Remaining: out.Counts.Remaining, costJSON: cost(out.Usage),
		DurationMS: out.Duration.Milliseconds(), Tasks: jsonval.List(out.Tasks),
	}
	if t := out.Together; t != nil {
		j.Together = &resultTogetherJSON{t.Continues, t.Iterations, cost(t.Usage), t.Duration}
	}
	return j
}
