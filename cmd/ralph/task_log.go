package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/term"
)

func (a *app) taskLog() command {
	return command{
		name: "log", args: "ID", short: "show a task's history, or add to it",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "add `TEXT`, @FILE, or - for stdin; the next agent reads it"},
			jsonFlag(),
		},
		example: `ralph task log 1f0c -m "use the staging server"`, exits: "3 not found",
		run: a.runTaskLog,
	}
}

type logJSON struct {
	At   string `json:"at"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (a *app) runTaskLog(c *cli.Context) error {
	if c.IsSet("message") {
		return a.addLog(c)
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		t, err := resolveOne(c, g)
		if err != nil {
			return err
		}
		logs, err := g.Logs(t)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			list := []logJSON{}
			for _, l := range logs {
				list = append(list, logJSON{l.At.Format(time.RFC3339), string(l.Kind), l.Text})
			}
			return a.printJSON(list)
		}
		switch {
		case len(logs) > 0:
		case t.Attempts > 0:
			a.note("%s has no log entries; see its attempts with: ralph task show %s", t.ID, t.ID)
		default:
			a.note("%s has no log entries", t.ID)
		}
		p := a.palette()
		for _, l := range logs {
			text := strings.ReplaceAll(strings.TrimSpace(term.Block(l.Text)), "\n", "\n    ")
			if _, err := fmt.Fprintf(a.stdout, "%s  %-7s  %s\n", p.Dim(l.At.Local().Format(time.DateTime)), l.Kind, text); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) addLog(c *cli.Context) error {
	if c.Bool("json") {
		return usagef("--json goes with reading the history, not with -m")
	}
	text, err := a.readText(c.String("message"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return usagef("the message is empty")
	}
	var noted dag.Task
	err = a.update(c.Context, func(_ *session, g *dag.Graph) error {
		t, err := resolveOne(c, g)
		if err != nil {
			return err
		}
		noted = t
		return g.Log(t.ID, dag.LogUser, text)
	})
	if err != nil {
		return err
	}
	switch {
	case noted.Children > 0:
		a.note("%s: noted; it is a group, and agents read what is said to their own task", noted.ID)
	case noted.Status == dag.Done, noted.Status == dag.Failed:
		a.note("%s: noted; it is %s, so an agent reads that only after: ralph task reset %s", noted.ID, noted.Status, noted.ID)
	case noted.Status == dag.InProgress:
		a.note("%s: noted; the agent that is at it does not see that, the next one does", noted.ID)
	default:
		a.note("%s: noted", noted.ID)
	}
	return nil
}
