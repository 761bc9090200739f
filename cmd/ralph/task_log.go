package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/term"
)

var taskLogCommand = command{
	name: "log", args: "ID", short: "show a task's history, or add to it",
	flags: []flagSpec{
		{name: "message", short: "m", usage: "add `TEXT`, @FILE, or - for stdin; the next agent reads it"},
		jsonFlag,
	},
	example: `ralph task log 1f0c -m "use the staging server"`, exits: "3 not found",
	run: action(runTaskLog),
}

type taskLogOptions struct {
	Args    []string
	Message *string // nil reads the history
	JSON    bool
}

func (o *taskLogOptions) parse(commandLine) error {
	if o.Message != nil && o.JSON {
		return usagef("--json goes with reading the history, not with -m")
	}
	return nil
}

func runTaskLog(ctx context.Context, a *app, o taskLogOptions) error {
	if o.Message != nil {
		return addLog(ctx, a, o.Args[0], *o.Message)
	}
	return a.view(ctx, func(_ *session, g *dag.Graph) error {
		t, err := resolveTask(g, o.Args[0])
		if err != nil {
			return err
		}
		logs, err := g.Tasks.Logs(t)
		if err != nil {
			return err
		}
		list, text, p := []jsonval.Object{}, "", a.palette()
		for _, l := range logs {
			list = append(list, jsonval.Object{"at", l.At, "kind", l.Kind, "text", l.Text})
			entry := strings.ReplaceAll(strings.TrimSpace(term.Block(l.Text)), "\n", "\n    ")
			text += fmt.Sprintf("%s  %-7s  %s\n", p.Dim(l.At.Local().Format(time.DateTime)), l.Kind, entry)
		}
		switch {
		case o.JSON:
			return a.printJSON(list)
		case len(logs) > 0:
		case t.Attempts > 0:
			a.note("%s has no log entries; see its attempts with: ralph task show %s", t.ID, t.ID)
		default:
			a.note("%s has no log entries", t.ID)
		}
		return written(fmt.Fprint(a.stdout, text))
	})
}

func addLog(ctx context.Context, a *app, id, message string) error {
	text, err := readText(a, message)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return usagef("the message is empty")
	}
	var t dag.Task
	err = a.record(ctx, func(_ *session, g *dag.Graph) (err error) {
		if t, err = resolveTask(g, id); err != nil {
			return err
		}
		return g.Tasks.Log(t.ID, dag.LogUser, text)
	})
	if err != nil {
		return err
	}
	more := ""
	switch {
	case t.Children > 0:
		more = "; it is a group, and agents only read the messages of their own task"
	case t.Status == dag.Done, t.Status == dag.Failed, t.Status == dag.Cancelled:
		more = fmt.Sprintf("; it is %s, so an agent only reads that after: ralph task reset %s", t.Status, t.ID)
	case t.Status == dag.InProgress:
		more = "; the agent that is working on it does not see that, the next one does"
	}
	a.note("%s: noted%s", t.ID, more)
	return nil
}
