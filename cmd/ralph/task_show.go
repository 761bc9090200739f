package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/term"
)

func (a *app) taskShow() command {
	return command{
		name: "show", args: "ID", short: "show everything about a task",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph task show t-1f0c9a3e", exits: "3 not found",
		run: a.runTaskShow,
	}
}

// detailJSON is a task with its history.
type detailJSON struct {
	taskJSON
	Dependents []string      `json:"dependents"`
	History    []attemptJSON `json:"history"`
	spentJSON
}

func (a *app) runTaskShow(c *cli.Context) error {
	return a.view(c.Context, func(s *session, g *dag.Graph) error {
		t, err := resolveOne(c, g)
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
		if c.Bool("json") {
			return a.printJSON(detail(s.project.State(), j, dependents, attempts))
		}
		blockers, err := g.Blockers(t)
		if err != nil {
			return err
		}
		children, err := g.ChildTasks(t)
		if err != nil {
			return err
		}
		return a.printTask(t, j, related{blockers, dependents, children}, s.project.State(), attempts)
	})
}

func detail(state string, j taskJSON, dependents []dag.Task, attempts []dag.Attempt) detailJSON {
	return detailJSON{taskJSON: j, Dependents: ids(dependents), History: attemptsJSON(state, attempts), spentJSON: spentOf(usageOf(attempts))}
}

// usageOf adds up what attempts used.
func usageOf(attempts []dag.Attempt) event.Usage {
	var sum event.Usage
	for _, at := range attempts {
		sum = sum.Add(at.Usage)
	}
	return sum
}

type related struct{ blockers, dependents, children []dag.Task }

func (a *app) printTask(t dag.Task, j taskJSON, r related, state string, attempts []dag.Attempt) error {
	p := a.palette()
	word, paint := a.state(p, t)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", p.Cyan(t.ID), paint(word), p.Bold(term.Line(t.Title)))
	field := func(name, value string) {
		if value != "" {
			for _, part := range term.Wrap(fmt.Sprintf("  %-10s %s", name, term.Line(a.redact.Text(value))), a.width, strings.Repeat(" ", 13)) {
				b.WriteString(part + "\n")
			}
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
	if awaitsVerdict(t) {
		field("unverified", "since "+t.Unverified+": "+unverifiedText)
	}
	field("claimed by", t.Owner)
	if !t.NotBefore.IsZero() {
		field("not before", t.NotBefore.Local().Format(time.DateTime)+" "+t.WaitReason)
	}
	field("created", t.CreatedAt.Local().Format(time.DateTime))
	if !t.FinishedAt.IsZero() {
		field("ended", t.FinishedAt.Local().Format(time.DateTime))
	}
	field("cost", spentOf(usageOf(attempts)).String())
	if j.LastFailure != nil {
		reason, output, _ := strings.Cut(*j.LastFailure, "\n")
		field("failure", reason)
		for _, l := range term.MarkedTail(output, term.GateLines) {
			fmt.Fprintf(&b, "  %-10s %s %s\n", "", p.Dim("|"), l)
		}
	}
	a.section(&b, p, "Waits for", r.blockers)
	a.section(&b, p, "Holds up", r.dependents)
	a.section(&b, p, "Subtasks", r.children)
	printAttempts(&b, p, state, attempts)
	text := term.WrapLines(a.redact.Text(b.String()), a.width)
	if t.Description != "" {
		text += "\n" + term.Block(t.Description) + "\n"
	}
	_, err := fmt.Fprint(a.stdout, text)
	return err
}

func (a *app) section(b *strings.Builder, p term.Palette, title string, tasks []dag.Task) {
	if len(tasks) == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	t := &term.Table{Width: max(a.width-2, 0)}
	for _, task := range tasks {
		word, paint := a.state(p, task)
		t.Add(term.Cell{Text: task.ID, Paint: p.Cyan}, term.Cell{Text: word, Paint: paint}, term.Cell{Text: task.Title})
	}
	var lines strings.Builder
	_, _ = t.WriteTo(&lines) // a builder never fails
	for _, l := range strings.Split(strings.TrimRight(lines.String(), "\n"), "\n") {
		b.WriteString("  " + l + "\n")
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
