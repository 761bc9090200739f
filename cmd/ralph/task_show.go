package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/term"
	"ralph/report"
)

func taskShowCommand(a *app) command {
	return command{
		name: "show", args: "ID", short: "show everything about a task",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph task show t-1f0c9a3e", exits: "3 not found",
		run: action(a, parsePlain, runTaskShow),
	}
}

// detailJSON is a task with its history.
type detailJSON struct {
	report.TaskView
	Dependents []string             `json:"dependents"`
	History    []report.AttemptView `json:"history"`
	report.Cost
}

func runTaskShow(ctx context.Context, a *app, o plainOptions) error {
	return a.view(ctx, func(s *session, g *dag.Graph) error {
		t, err := resolveTask(g, o.args[0])
		if err != nil {
			return err
		}
		j, err := asJSON(s, g, t, a.now())
		if err != nil {
			return err
		}
		dependents, err := g.Dependents(t)
		if err != nil {
			return err
		}
		attempts, err := g.Attempts(t)
		if err != nil {
			return err
		}
		if o.json {
			return a.printJSON(detailJSON{
				TaskView: j, Dependents: report.IDs(dependents), History: report.ViewAttempts(s.project.Runs(), attempts), Cost: report.CostOf(usageOf(attempts)),
			})
		}
		blockers, err := g.Blockers(t)
		if err != nil {
			return err
		}
		children, err := g.ChildTasks(t)
		if err != nil {
			return err
		}
		text := taskText(a, t, j, report.CostOf(usageOf(attempts))) + taskSection(a, "Waits for", blockers) + taskSection(a, "Holds up", dependents) +
			taskSection(a, "Subtasks", children) + attemptsText(a.palette(), s.project.Runs(), attempts)
		text = term.WrapLines(a.redact.Text(text), a.width)
		if t.Description != "" {
			text += "\n" + term.Block(t.Description) + "\n"
		}
		_, err = fmt.Fprint(a.stdout, text)
		return err
	})
}

// usageOf adds up what attempts used.
func usageOf(attempts []dag.Attempt) event.Usage {
	var sum event.Usage
	for _, at := range attempts {
		sum = sum.Add(at.Usage)
	}
	return sum
}

// taskText is what the row of a task says.
func taskText(a *app, t dag.Task, j report.TaskView, cost report.Cost) string {
	p := a.palette()
	state := stateCell(a, p, t)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", p.Cyan(t.ID), state.Paint(state.Text), p.Bold(term.Line(t.Title)))
	field := func(name, value string) {
		if value != "" {
			for _, part := range term.Wrap(fmt.Sprintf("  %-10s %s", name, term.Line(a.redact.Text(value))), a.width, strings.Repeat(" ", 13)) {
				b.WriteString(part + "\n")
			}
		}
	}
	at := func(name string, when time.Time, more string) {
		if !when.IsZero() {
			field(name, when.Local().Format(time.DateTime)+more)
		}
	}
	field("parent", t.Parent)
	field("feature", t.Feature)
	field("priority", fmt.Sprint(t.Priority))
	if t.AllowTampering {
		field("tampering", "allowed")
	}
	if t.Kind != dag.Work {
		field("kind", string(t.Kind))
	}
	field("agent", t.Agent)
	field("model", t.Model)
	for _, gate := range t.Gates {
		field("gate", gate)
	}
	field("retries", fmt.Sprintf("%d of %d", t.Retries, j.MaxRetries))
	field("attempts", fmt.Sprint(t.Attempts))
	field("verified", t.Verification)
	if t.AwaitsVerdict() {
		field("unverified", "since "+t.Unverified+": "+unverifiedText)
	}
	field("claimed by", t.Owner)
	at("not before", t.NotBefore, " "+t.WaitReason)
	at("created", t.CreatedAt, "")
	at("ended", t.FinishedAt, "")
	field("cost", cost.String())
	if j.LastFailure != "" {
		reason, output, _ := strings.Cut(string(j.LastFailure), "\n")
		field("failure", reason)
		for _, l := range term.MarkedTail(output, term.GateLines) {
			fmt.Fprintf(&b, "  %-10s %s %s\n", "", p.Dim("|"), l)
		}
	}
	return b.String()
}
