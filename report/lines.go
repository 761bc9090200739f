package report

import (
	"errors"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/jsonval"
)

// Line is a run in a list of runs.
type Line struct {
	ID         string             `json:"id"`
	Outcome    event.RunOutcome   `json:"outcome"`
	Reason     jsonval.NullString `json:"reason"`
	Feature    jsonval.NullString `json:"feature"`
	Task       jsonval.NullString `json:"task"`
	StartedAt  jsonval.Stamp      `json:"started_at"`
	EndedAt    jsonval.Stamp      `json:"ended_at"`
	DurationMS int64              `json:"duration_ms"`
	Iterations int                `json:"iterations"` // its own
	Continues  jsonval.NullString `json:"continues"`
	Done       int                `json:"done"`   // tasks whose last attempt in the run got them done
	Failed     int                `json:"failed"` // and those whose last attempt failed them
	Usage      Usage              `json:"usage"`

	Scope dag.Scope `json:"-"`
}

// Lines lists runs, the newest first; a limit of 0 means all of them.
func Lines(g *dag.Graph, limit int, life func(dag.Process) dag.Life, now time.Time) ([]Line, error) {
	runs, err := g.Runs(limit)
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(runs))
	for i, run := range runs {
		receipts, err := g.Receipts(dag.ReceiptFilter{Run: run.ID})
		if err != nil {
			return nil, err
		}
		lines[i] = LineOf(run, receipts, life, now)
		if lines[i].Iterations, err = g.OwnIterations(run.ID); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// LineOf sums a run up by its receipts.
func LineOf(run dag.Run, receipts []dag.Receipt, life func(dag.Process) dag.Life, now time.Time) Line {
	l := Line{
		ID: run.ID, Reason: null(run.Reason), Feature: null(run.Scope.Feature), Task: null(run.Scope.Task),
		StartedAt: when(run.StartedAt), EndedAt: when(run.EndedAt), Continues: null(run.Continues), Scope: run.Scope,
	}
	last := map[string]event.AttemptOutcome{}
	for _, r := range receipts {
		last[r.Task] = r.Outcome
		l.Usage = l.Usage.plus(usageOf(r))
	}
	for _, outcome := range last {
		switch outcome {
		case event.AttemptDone:
			l.Done++
		case event.AttemptFailed:
			l.Failed++
		case event.AttemptRetried, event.AttemptReleased, event.AttemptTimeout, event.AttemptRefused, event.AttemptError,
			event.AttemptLimited, event.AttemptInterrupted:
		}
	}
	outcome, end := standing(run, receipts, life, now)
	l.Outcome, l.DurationMS = outcome, max(end.Sub(run.StartedAt), 0).Milliseconds()
	return l
}

// Duration is how long the run took, or has taken so far.
func (l Line) Duration() time.Duration { return time.Duration(l.DurationMS) * time.Millisecond }

// Log is a run whose log is wanted, or only what it did for one task.
type Log struct {
	Run   dag.Run
	Task  string
	Ended map[string]bool // attempts that are over, if it is the log of a whole run
}

// Logs finds what was typed: a run, the runs that worked on a task, or the last run.
func Logs(g *dag.Graph, typed string) ([]Log, error) {
	prefix := strings.ToLower(typed)
	isRun := typed == "" || strings.HasPrefix(prefix, "r-")
	if !isRun {
		t, err := g.Resolve(typed)
		if err == nil {
			return taskLogs(g, t)
		}
		if !errors.Is(err, dag.ErrNotFound) || strings.HasPrefix(prefix, "t-") {
			return nil, err
		}
	}
	run, err := g.RunOrLast(typed)
	if err != nil && !isRun && errors.Is(err, dag.ErrNotFound) {
		return nil, &dag.MissingError{Kind: "run or task", Typed: typed}
	}
	if err != nil {
		return nil, err
	}
	l := Log{Run: run, Ended: map[string]bool{}}
	receipts, err := g.Receipts(dag.ReceiptFilter{Run: run.ID})
	for _, r := range receipts {
		l.Ended[r.ID] = !r.EndedAt.IsZero()
	}
	return []Log{l}, err
}

func taskLogs(g *dag.Graph, t dag.Task) ([]Log, error) {
	receipts, err := g.Receipts(dag.ReceiptFilter{Task: t.ID})
	if err != nil {
		return nil, err
	}
	var list []Log
	for _, r := range receipts {
		if slices.ContainsFunc(list, func(l Log) bool { return l.Run.ID == r.Run }) {
			continue
		}
		run, err := g.ResolveRun(r.Run)
		if err != nil {
			return nil, err
		}
		list = append(list, Log{Run: run, Task: t.ID})
	}
	return list, nil
}
