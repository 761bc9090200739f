package report

import (
	"encoding/json"
	"io"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
)

// The shape of docs/json.md. Keys do not change once released; more may be added.
type runJSON struct {
	Run        string           `json:"run"`
	Scope      scopeJSON        `json:"scope"`
	Outcome    event.RunOutcome `json:"outcome"`
	Reason     *string          `json:"reason"`
	StartedAt  string           `json:"started_at"`
	EndedAt    *string          `json:"ended_at"`
	DurationMS int64            `json:"duration_ms"`
	Iterations int              `json:"iterations"`
	Together   *togetherJSON    `json:"together"`
	Counts     event.Counts     `json:"counts"`
	Usage      Usage            `json:"usage"`
	Verified   int              `json:"verified"`
	PerDone    *float64         `json:"cost_per_verified_usd"`
	Models     []Spending       `json:"models"`
	Tasks      []taskJSON       `json:"tasks"`
	Attempts   []attemptJSON    `json:"attempts"`
	Failures   []failureJSON    `json:"failures"`
	Waits      []Wait           `json:"waits"`
	Next       []render.Step    `json:"next"`
	Warnings   []string         `json:"warnings"`
	Folder     string           `json:"folder"`
}

// togetherJSON is the run with those that it continues.
type togetherJSON struct {
	Continues  string `json:"continues"`
	Iterations int    `json:"iterations"`
	DurationMS int64  `json:"duration_ms"`
	Usage      Usage  `json:"usage"`
}

type scopeJSON struct {
	Text   string  `json:"text"`
	Target *string `json:"target"`
}

// MarshalJSON writes the usage with null for what is unknown.
func (u Usage) MarshalJSON() ([]byte, error) {
	in, cached, out := u.Counts()
	return jsonval.Marshal(struct {
		Attempts     int      `json:"attempts"`
		TokensIn     *int64   `json:"tokens_in"`
		TokensCached *int64   `json:"tokens_cached"`
		TokensOut    *int64   `json:"tokens_out"`
		CostUSD      *float64 `json:"cost_usd"`
		EstimatedUSD float64  `json:"cost_estimated_usd"`
		Unknown      int      `json:"cost_unknown_attempts"`
	}{u.Attempts, in, cached, out, u.CostUSD, human.Exact(u.EstimatedUSD), u.Silent})
}

// MarshalJSON writes the spending with what one verified task cost.
func (s Spending) MarshalJSON() ([]byte, error) {
	return jsonval.Marshal(struct {
		Key      string             `json:"key"`
		Title    jsonval.NullString `json:"title"`
		Done     int                `json:"done"`
		Verified int                `json:"verified"`
		PerDone  *float64           `json:"cost_per_verified_usd"`
		Usage    Usage              `json:"usage"`
	}{s.Key, jsonval.NullString(s.Title), s.Done, s.Verified, s.PerVerified(), s.Usage})
}

type taskJSON struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Feature  *string    `json:"feature"`
	Parent   *string    `json:"parent"`
	Group    bool       `json:"group"`
	Status   dag.Status `json:"status"`
	Now      dag.Status `json:"status_now"`
	Blockers []string   `json:"blockers"`
	Attempts []string   `json:"attempts"`
	Verified bool       `json:"verified"`
}

type attemptJSON struct {
	ID             string     `json:"id"`
	Task           string     `json:"task"`
	Title          string     `json:"title"`
	Iteration      int        `json:"iteration"`
	Nth            int        `json:"nth"`
	Agent          *string    `json:"agent"`
	Model          *string    `json:"model"`
	ModelEffective *string    `json:"model_effective"`
	Sandbox        *string    `json:"sandbox"`
	StartedAt      string     `json:"started_at"`
	EndedAt        *string    `json:"ended_at"`
	DurationMS     int64      `json:"duration_ms"`
	Outcome        *string    `json:"outcome"`
	Status         *string    `json:"status"`
	Reason         *string    `json:"reason"`
	StopReason     *string    `json:"stop_reason"`
	Verdict        *string    `json:"verdict"`
	Gates          []gateJSON `json:"gates"`
	Notes          *string    `json:"notes"`
	TokensIn       *int64     `json:"tokens_in"`
	TokensCached   *int64     `json:"tokens_cached"`
	TokensOut      *int64     `json:"tokens_out"`
	CostUSD        *float64   `json:"cost_usd"`
	CostEstimated  bool       `json:"cost_estimated"`
	CostUnknown    bool       `json:"cost_unknown"`
	Drift          []string   `json:"drift"`
	Files          []string   `json:"files"`
	Evidence       []Evidence `json:"evidence"`
}

type gateJSON struct {
	Command  string  `json:"command"`
	Passed   bool    `json:"passed"`
	Exit     *string `json:"exit"`
	Baseline *string `json:"baseline"`
	Verdict  *string `json:"verdict"`
}

type failureJSON struct {
	Task     string        `json:"task"`
	Title    string        `json:"title"`
	Reason   string        `json:"reason"`
	Gate     *gateJSON     `json:"gate"`
	Detail   *string       `json:"detail"`
	Attempts int           `json:"attempts"`
	Attempt  *string       `json:"attempt"`
	Holds    int           `json:"holds"`
	Next     []render.Step `json:"next"`
}

// JSON writes everything that is known, with foreign text as it was written.
func JSON(w io.Writer, r Run) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r.json())
}

func (r Run) json() runJSON {
	j := runJSON{
		Run: r.ID, Scope: scopeJSON{r.Scope, jsonval.Text(r.Target)}, Outcome: r.Outcome, Reason: jsonval.Text(r.Reason), StartedAt: stamp(r.StartedAt),
		EndedAt: jsonval.Time(r.EndedAt), DurationMS: r.Duration.Milliseconds(), Iterations: r.Iterations, Counts: r.Counts, Usage: r.Usage,
		Verified: r.Verified, PerDone: (Spending{Usage: r.Usage, Verified: r.Verified}).PerVerified(),
		Models: jsonval.List(r.Models), Tasks: []taskJSON{}, Attempts: []attemptJSON{}, Failures: []failureJSON{}, Waits: jsonval.List(r.Waits),
		Next: jsonval.List(r.Next), Warnings: jsonval.List(r.Warnings), Folder: r.Folder,
	}
	if t := r.Together; t != nil {
		j.Together = &togetherJSON{t.Continues, t.Iterations, t.Duration.Milliseconds(), t.Usage}
	}
	for _, t := range r.Tasks {
		out := taskJSON{
			ID: t.ID, Title: t.Title, Feature: jsonval.Text(t.Feature), Parent: jsonval.Text(t.Parent), Group: t.Group, Status: t.Status, Now: t.Now,
			Blockers: jsonval.List(t.After), Attempts: []string{}, Verified: t.Verified,
		}
		for _, i := range t.Attempts {
			out.Attempts = append(out.Attempts, r.Attempts[i].ID)
		}
		j.Tasks = append(j.Tasks, out)
	}
	for _, a := range r.Attempts {
		j.Attempts = append(j.Attempts, a.json())
	}
	for _, f := range r.Failures {
		out := failureJSON{
			Task: f.Task, Title: f.Title, Reason: f.Reason, Detail: jsonval.Text(f.Detail), Attempts: f.Attempts,
			Attempt: jsonval.Text(f.Attempt), Holds: f.Holds, Next: jsonval.List(f.Next),
		}
		if f.Gate != nil {
			g := gateAsJSON(*f.Gate)
			out.Gate = &g
		}
		j.Failures = append(j.Failures, out)
	}
	return j
}

func (a Attempt) json() attemptJSON {
	in, cached, out := a.Usage.Counts()
	j := attemptJSON{
		ID: a.ID, Task: a.Task, Title: a.Title, Iteration: a.Iteration, Nth: a.Nth, Agent: jsonval.Text(a.Agent), Model: jsonval.Text(a.Model),
		ModelEffective: jsonval.Text(a.Effective), Sandbox: jsonval.Text(a.Sandbox), StartedAt: stamp(a.StartedAt), EndedAt: jsonval.Time(a.EndedAt),
		DurationMS: a.Duration.Milliseconds(), Outcome: jsonval.Text(a.Outcome), Status: jsonval.Text(a.Status), Reason: jsonval.Text(a.Reason),
		StopReason: jsonval.Text(a.StopReason), Verdict: jsonval.Text(a.Verdict), Gates: []gateJSON{}, Notes: jsonval.Text(a.Notes),
		TokensIn: in, TokensCached: cached, TokensOut: out, CostUSD: a.Usage.CostUSD,
		CostEstimated: a.Usage.Guessed > 0, CostUnknown: a.Usage.Silent > 0, Drift: jsonval.List(a.Drift), Files: jsonval.List(a.Files), Evidence: jsonval.List(a.Evidence),
	}
	for _, g := range a.Gates {
		j.Gates = append(j.Gates, gateAsJSON(g))
	}
	return j
}

func gateAsJSON(g event.Gate) gateJSON {
	return gateJSON{Command: g.Command, Passed: g.Passed, Exit: jsonval.Text(g.Exit), Baseline: jsonval.Text(g.Baseline), Verdict: jsonval.Text(g.Verdict)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

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
