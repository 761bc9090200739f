package taskcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/jsonval"
	"ralph/internal/term"
)

var taskLogCommand = cli.Command{
	Name: "log", Args: "ID", Short: "show a task's history, or add to it",
	Flags: []cli.Flag{
		{Name: "message", Short: "m", Usage: "add `TEXT`, @FILE, or - for stdin; the next agent reads it"},
		cli.JSONFlag,
	},
	Example: `ralph task log 1f0c -m "use the staging server"`, Exits: "3 not found",
	Run: cli.Action(runTaskLog),
}

type taskLogOptions struct {
	Args    []string
	Message *string // nil reads the history
	JSON    bool
}

func (o *taskLogOptions) Parse(cli.CommandLine) error {
	if o.Message != nil && o.JSON {
		return cli.Usagef("--json goes with reading the history, not with -m")
	}
	return nil
}

func runTaskLog(ctx context.Context, a *cli.App, o taskLogOptions) error {
	if o.Message != nil {
		return addLog(ctx, a, o.Args[0], *o.Message)
	}
	return a.View(ctx, func(_ *cli.Session, g *dag.Graph) error {
		t, err := cli.ResolveTask(g, o.Args[0])
		if err != nil {
			return err
		}
		logs, err := g.Tasks.Logs(t)
		if err != nil {
			return err
		}
		list, text, p := []jsonval.Object{}, "", a.Palette()
		for _, l := range logs {
			list = append(list, jsonval.Object{"at", l.At, "kind", l.Kind, "text", l.Text})
			entry := strings.ReplaceAll(strings.TrimSpace(term.Block(l.Text)), "\n", "\n    ")
			text += fmt.Sprintf("%s  %-7s  %s\n", p.Dim(l.At.Local().Format(time.DateTime)), l.Kind, entry)
		}
		switch {
		case o.JSON:
			return a.PrintJSON(list)
		case len(logs) > 0:
		case t.Attempts > 0:
			a.Note("%s has no log entries; see its attempts with: ralph task show %s", t.ID, t.ID)
		default:
			a.Note("%s has no log entries", t.ID)
		}
		return cli.Written(fmt.Fprint(a.Stdout, text))
	})
}

func addLog(ctx context.Context, a *cli.App, id, message string) error {
	text, err := cli.ReadText(a, message)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return cli.Usagef("the message is empty")
	}
	var t dag.Task
	err = a.Record(ctx, func(_ *cli.Session, g *dag.Graph) (err error) {
		if t, err = cli.ResolveTask(g, id); err != nil {
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
	a.Note("%s: noted%s", t.ID, more)
	return nil
}
