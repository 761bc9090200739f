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
	Cost
	DurationMS int64               `json:"duration_ms"`
	Together   *resultTogetherJSON `json:"together"`
	Tasks      []event.Resolved    `json:"tasks"`
}

// resultTogetherJSON is what a run came to with those that it continues.
type resultTogetherJSON struct {
	Continues  string `json:"continues"`
	Iterations int    `json:"iterations"`
	Cost
	DurationMS int64 `json:"duration_ms"`
}

// Result writes what came of a run as one object on one line.
func Result(w io.Writer, out event.Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(NewResult(out))
}

// NewResult is what came of a run, as machines read it.
func NewResult(out event.Result) ResultJSON {
	j := ResultJSON{
		Outcome: out.Outcome, Reason: jsonval.Text(out.Reason), Run: out.Run, Iterations: out.Iterations, Done: out.Counts.Done,
		Failed: out.Counts.Failed, Remaining: out.Counts.Remaining, Cost: CostOf(out.Usage),
		DurationMS: out.Duration.Milliseconds(), Tasks: jsonval.List(out.Tasks),
	}
	if t := out.Together; t != nil {
		j.Together = &resultTogetherJSON{t.Continues, t.Iterations, CostOf(t.Usage), t.Duration}
	}
	return j
}
