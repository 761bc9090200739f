package reportcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/term"
	"ralph/loop/land"
)

// Status is the command "ralph status".
var Status = cli.Command{
	Name: "status", Short: "show what runs, what is next, what waits and why, and what was spent", Flags: []cli.Flag{cli.JSONFlag},
	Example: "ralph status\nralph status --json | jq .counts", Run: cli.InProject(runStatus),
}

// statusView is what ralph status shows.
type statusView struct {
	report.Overview
	Lost    []land.LostWork      `json:"lost"`             // done work that is not on its branch
	Waiting []land.WaitingBranch `json:"waiting_branches"` // that do not have all that landed yet
}

func runStatus(ctx context.Context, a *cli.App, s *cli.Session, opts cli.PlainOptions) error {
	o := statusView{Lost: append([]land.LostWork{}, wiring.LostWork(ctx, s)...), Waiting: []land.WaitingBranch{}}
	if repo, err := git.OpenRepo(ctx, s.Project.Root); err == nil {
		o.Waiting, _ = land.WaitingBranches(ctx, repo) // where git fails, ralph doctor reports it
	}
	err := s.Store.View(ctx, func(g *dag.Graph) (err error) {
		o.Overview, err = report.LoadOverview(g, report.OverviewOptions{
			Life: cli.Life, Now: a.Now(), MaxRetries: s.Config.Run.MaxRetries, Folder: s.Project.Feature,
			Day: wiring.SharedLimits(s.Config.Budget.Day), Feature: wiring.SharedLimits(s.Config.Budget.Feature),
		})
		return err
	})
	switch {
	case err != nil:
		return err
	case opts.JSON:
		return a.PrintJSON(o)
	}
	text := a.Redact.Text(statusText(a, o))
	if o.Total == 0 {
		var runs strings.Builder
		writeRuns(&runs, a, a.Palette(), o.Runs) // one that follows waits for the first task
		text = show.NoPlan(a, s) + "\n" + runs.String()
	}
	return cli.Written(fmt.Fprint(a.Stdout, term.WrapLines(text, a.Width)))
}

func statusText(a *cli.App, o statusView) string {
	p := a.Palette()
	var b strings.Builder
	what := human.Count(o.Total, "task")
	if o.Groups > 0 {
		what += " and " + human.Count(o.Groups, "group")
	}
	fmt.Fprintf(&b, "%s: %s\n", p.Bold(what), show.Summary(o.Tally))
	if text := o.String(); text != "" {
		fmt.Fprintf(&b, "cost so far: %s\n", text)
	}
	note := func(format string, args ...any) { fmt.Fprintln(&b, p.Yellow(term.Line(fmt.Sprintf(format, args...)))) }
	if !o.Paused.IsZero() {
		note("paused since %s; continue with: ralph resume", o.Paused.Local().Format(time.DateTime))
	}
	if n := len(o.Asked); n > 0 {
		note("%s open; answer with: ralph inbox", human.Count(n, "question"))
	}
	for _, l := range o.Limits {
		note("%s is rate-limited until %s: %s; try it earlier with: ralph resume", l.Agent, l.Until.Local().Format(time.DateTime), l.Reason)
	}
	for _, text := range o.UsedUp {
		note("a budget is used up: %s", text)
	}
	for _, l := range o.Lost {
		note("%s", l)
	}
	for _, w := range o.Waiting {
		note("%s", w)
	}
	writeRuns(&b, a, p, o.Runs)
	b.WriteString(show.TaskSection(a, "Running", show.TasksOf(o.Running)))
	writeQueue(&b, a, p, o.Queue)
	for _, id := range o.Stale {
		fmt.Fprintf(&b, "  %s: %s\n", id, p.Yellow(dag.DiedText))
	}
	b.WriteString(show.TaskSection(a, "Next", show.TasksOf(o.Next)))
	for _, t := range o.Next {
		if t.AwaitsVerdict() {
			fmt.Fprintf(&b, "  %s: %s\n", t.ID, show.UnverifiedText(t.Task))
		}
	}
	if more := o.Ready - len(o.Next); more > 0 {
		fmt.Fprintf(&b, "  and %d more: ralph task list --ready\n", more)
	}
	writeHeld(&b, a, p, o.Overview)
	if len(o.Failed) > 0 {
		b.WriteString(show.TaskSection(a, "Failed", o.Failed))
		fmt.Fprintf(&b, "  what helps: ralph task show %s; to have all of them done again: ralph task reset --failed\n", o.Failed[0].ID)
	}
	if len(o.Features) > 0 {
		b.WriteString("\nFeatures\n")
		for _, f := range o.Features {
			fmt.Fprintf(&b, "  %s  %s  %s\n", p.Cyan(f.Name), show.StatePaint(p, string(f.Status))(string(f.Status)), show.Progress(f.Feature))
		}
	}
	return b.String()
}

// writeRuns lists the runs that have not ended, and how far each has come.
func writeRuns(b *strings.Builder, a *cli.App, p term.Palette, runs []report.OpenRun) {
	if len(runs) == 0 {
		return
	}
	b.WriteString("\nRuns\n")
	for _, r := range runs {
		state, next := r.State, ""
		switch state {
		case report.StateDied:
			state, next = p.Yellow("has died"), "; continue it: "+render.Continue(r.ID)+"; or only free its tasks: ralph recover"
		case report.StateWaiting:
			state = "waiting for tasks"
		}
		fmt.Fprintf(b, "  %s  %s, %s, %s%s\n", p.Cyan(r.ID), state, term.Line(r.Scope.String()), human.Count(r.Iterations, "iteration"), next)
		for _, at := range r.Attempts {
			fmt.Fprintf(b, "      %s\n", p.Dim(checkpointText(at, a.Now())))
		}
	}
}

// writeQueue lists the work that is to land, in the order in which it does.
func writeQueue(b *strings.Builder, a *cli.App, p term.Palette, queue []report.QueueView) {
	if len(queue) == 0 {
		return
	}
	b.WriteString("\nTo land\n")
	t := &term.Table{Width: a.Width}
	for _, q := range queue {
		t.Add(term.Cell{Text: q.Task, Paint: p.Cyan}, term.Cell{Text: q.String()}, term.Cell{Text: render.Branch(q.Target), Paint: p.Dim}, term.Cell{Text: q.Title})
	}
	b.WriteString(t.Indented())
	for _, q := range queue {
		if q.Reason != "" {
			fmt.Fprintf(b, "  %s: %s\n", q.Task, p.Yellow(term.Line(q.Reason)))
		}
	}
}

func checkpointText(at dag.Attempt, now time.Time) string {
	since := func(t time.Time) string { return human.Span(now.Sub(t).Round(time.Second)) }
	slot, heartbeat := "", ""
	if at.Slot > 0 {
		slot = fmt.Sprintf("slot %d", at.Slot)
	}
	if !at.Heartbeat.IsZero() {
		heartbeat = "heartbeat " + since(at.Heartbeat) + " ago"
	}
	return strings.Join(human.Parts(at.Task+" "+string(at.Phase)+" for "+since(at.StartedAt), fmt.Sprintf("iteration %d", at.Iteration), slot,
		human.InOut(at.TokensIn, 0, at.TokensOut), render.Cost(at.Usage), heartbeat), ", ")
}

// shownReasons is how many reasons the status lists for a task.
const shownReasons = 3

func writeHeld(b *strings.Builder, a *cli.App, p term.Palette, o report.Overview) {
	if len(o.Held) == 0 {
		return
	}
	b.WriteString("\nWaiting\n")
	for _, t := range o.Held {
		fmt.Fprintf(b, "  %s  %s\n", p.Cyan(t.ID), term.Cut(term.Line(t.Title), 60))
		if t.AwaitsVerdict() {
			fmt.Fprintf(b, "      %s\n", p.Dim(show.UnverifiedText(t.Task)))
		}
		for _, r := range t.Reasons[:min(len(t.Reasons), shownReasons)] {
			fmt.Fprintf(b, "      %s\n", p.Dim(term.Line(show.ReasonText(r, a.Now()))))
		}
		if more := len(t.Reasons) - shownReasons; more > 0 {
			fmt.Fprintf(b, "      and %d more: ralph task why %s\n", more, t.ID)
		}
	}
	if o.MoreHeld {
		b.WriteString("  and more: ralph task list\n")
	}
}
