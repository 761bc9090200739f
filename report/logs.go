package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
)

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
		return nil, fmt.Errorf("%q: %w: neither a run nor a task", typed, dag.ErrNotFound)
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
