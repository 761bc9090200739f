package report

import (
	"errors"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/jsonval"
)

// Line is a run in a list of runs: as it stands, with the iterations that are its own.
type Line struct {
	dag.Run
	Duration     time.Duration // so far
	Done, Failed int           // tasks by their last attempt in the run
	Usage        Usage
}

// MarshalJSON writes the line.
func (l Line) MarshalJSON() ([]byte, error) {
	return jsonval.Object{
		"id", l.ID, "outcome", l.Outcome, "reason", null(l.Reason), "feature", null(l.Scope.Feature), "task", null(l.Scope.Task), "tag", null(l.Scope.Tag),
		"started_at", l.StartedAt, "ended_at", l.EndedAt, "duration_ms", l.Duration, "iterations", l.Iterations, "continues", null(l.Continues),
		"done", l.Done, "failed", l.Failed, "usage", l.Usage,
	}.MarshalJSON()
}

// Lines lists runs, the newest first; a limit of 0 means all of them.
func Lines(g *dag.Graph, limit int, life func(dag.Process) dag.Life, now time.Time) ([]Line, error) {
	runs, _ := g.History.Runs(limit)
	lines := make([]Line, len(runs))
	for i, run := range runs {
		receipts, _ := g.History.Receipts(dag.ReceiptFilter{Run: run.ID})
		lines[i] = LineOf(run, receipts, life, now)
		lines[i].Iterations, _ = g.History.OwnIterations(run.ID)
	}
	return lines, g.Tx().Err()
}

// LineOf sums a run up by its receipts.
func LineOf(run dag.Run, receipts []dag.Receipt, life func(dag.Process) dag.Life, now time.Time) Line {
	l := Line{Run: run}
	var end time.Time
	l.Outcome, end = standing(run, receipts, life, now)
	l.Duration = max(end.Sub(run.StartedAt), 0)
	last := map[string]event.AttemptOutcome{}
	for _, r := range receipts {
		last[r.Task] = r.Outcome
		l.Usage = l.Usage.plus(usageOf(r))
	}
	for _, outcome := range last {
		if outcome.Done() {
			l.Done++
		} else if outcome == event.AttemptFailed {
			l.Failed++
		}
	}
	return l
}

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
		t, err := g.Tasks.Resolve(typed)
		if err == nil {
			return taskLogs(g, t)
		}
		if !errors.Is(err, dag.ErrNotFound) || strings.HasPrefix(prefix, "t-") {
			return nil, err
		}
	}
	run, err := g.History.RunOrLast(typed)
	if err != nil && !isRun && errors.Is(err, dag.ErrNotFound) {
		return nil, &dag.MissingError{Kind: "run or task", Typed: typed}
	}
	if err != nil {
		return nil, err
	}
	l := Log{Run: run, Ended: map[string]bool{}}
	receipts, err := g.History.Receipts(dag.ReceiptFilter{Run: run.ID})
	for _, r := range receipts {
		l.Ended[r.ID] = !r.EndedAt.IsZero()
	}
	return []Log{l}, err
}

func taskLogs(g *dag.Graph, t dag.Task) ([]Log, error) {
	receipts, _ := g.History.Receipts(dag.ReceiptFilter{Task: t.ID})
	var list []Log
	for _, r := range receipts {
		if slices.ContainsFunc(list, func(l Log) bool { return l.Run.ID == r.Run }) {
			continue
		}
		run, err := g.History.ResolveRun(r.Run)
		if err != nil {
			return nil, err
		}
		list = append(list, Log{Run: run, Task: t.ID})
	}
	return list, g.Tx().Err()
}
