package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
)

var taskShowCommand = cli.Command{
	Name: "show", Args: "ID", Short: "show everything about a task", Flags: []cli.Flag{cli.JSONFlag},
	Example: "ralph task show t-1f0c9a3e", Exits: "3 not found", Run: cli.OnTask(runTaskShow),
}

func runTaskShow(ctx context.Context, a *cli.App, s *cli.Session, g *dag.Graph, t dag.Task, o cli.PlainOptions) error {
	views, err := show.ViewTasks(a, s, g, t)
	if err != nil {
		return err
	}
	dependents, _ := g.Tasks.Dependents(t) // the first error of the database is that of all that follow
	attempts, _ := g.History.Attempts(t)
	asked, err := inbox.Waiting(g)
	if err != nil {
		return err
	}
	asked = slices.DeleteFunc(asked, func(r inbox.Request) bool { return r.Task != t.ID })
	work, where, err := workOf(ctx, a, s, g, t, attempts)
	if err != nil {
		return err
	}
	if o.JSON {
		used := usageOf(attempts)
		return a.PrintJSON(slices.Concat(views[0].Object(), jsonval.Object{
			"dependents", report.IDs(dependents), "command", cli.Null(show.Remedy(t, attempts).Command), "questions", seq.Map(asked, report.ViewRequest), "history", report.ViewAttempts(s.Project.Runs(), attempts),
			"cost_usd", used.CostUSD, "cost_estimated", used.Estimated, "cost_unknown", used.Unknown,
		}, where))
	}
	blockers, _ := g.Tasks.Blockers(t)
	children, _ := g.Tasks.Children(t)
	left, err := g.Tasks.WhyLeft(t)
	if err != nil {
		return err
	}
	text := taskText(a, t, views[0], report.CostOf(usageOf(attempts))) + a.FieldLines("why", left) + questionsText(a, asked) + show.RemedyText(a, show.Remedy(t, attempts)) + work + show.TaskSection(a, "Waits for", blockers) + show.TaskSection(a, "Holds up", dependents) +
		show.TaskSection(a, "Subtasks", children) + attemptsText(a.Palette(), s.Project.Runs(), attempts)
	text = term.WrapLines(a.Redact.Text(text), a.Width)
	if t.Description != "" {
		text += "\n" + term.Block(t.Description) + "\n"
	}
	return cli.Written(fmt.Fprint(a.Stdout, text))
}

// questionsText names what a task asks, and how it is answered.
func questionsText(a *cli.App, asked []inbox.Request) (text string) {
	for _, r := range asked {
		first, _, _ := strings.Cut(r.Text, "\n")
		text += a.FieldLines("asks", first+" (ralph inbox answer "+r.ID+")")
	}
	return text
}

// workOf says where the work of a task is that was done in slots: on a branch, or in a ref.
func workOf(ctx context.Context, a *cli.App, s *cli.Session, g *dag.Graph, t dag.Task, attempts []dag.Attempt) (text string, object jsonval.Object, err error) {
	var landed any
	kept, typed := "", git.Typed(s.Project.Root)
	m, err := g.Queue.LandedWork(t)
	if m.N > 0 && m.Candidate != m.Onto { // there was something to land
		landed = jsonval.Object{"target", m.Target, "commit", m.Candidate, "at", m.EndedAt}
		text = a.FieldLines("landed", fmt.Sprintf("%s; see it: %s show %s", render.On(m.Target), typed, render.Commit(m.Candidate)))
	}
	if held, _ := g.Queue.ToReview(); m.N == 0 {
		if i := slices.IndexFunc(held, func(h dag.Merge) bool { return h.Task == t.ID }); i >= 0 {
			m = held[i]
		}
	}
	text += a.FieldLines("refs", m.RefsText())
	if slices.ContainsFunc(attempts, func(at dag.Attempt) bool { return at.Slot > 0 }) {
		refs := wiring.KeptWork(ctx, s.Project.Root)
		for _, at := range attempts {
			kept = cmp.Or(refs[at.ID], kept)
		}
		text += a.FieldLines("kept", human.Lead("not landed; see it: "+typed+" show ", kept))
	}
	return text, jsonval.Object{"landed", landed, "kept", cli.Null(kept), "refs", show.RefsJSON(m.Refs)}, err
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
func taskText(a *cli.App, t dag.Task, j report.TaskView, cost report.Cost) string {
	p := a.Palette()
	state := show.StateCell(a, p, t)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", p.Cyan(t.ID), state.Paint(state.Text), p.Bold(term.Line(t.Title)))
	field := func(fields ...string) { b.WriteString(a.FieldLines(fields...)) }
	field("parent", t.Parent, "feature", t.Feature)
	for _, f := range dag.Fields {
		if slices.Contains([]string{"title", "description", "max_retries"}, f.Name) {
			continue // they have places of their own
		}
		for _, line := range f.Lines(t.Detail) {
			if line != f.Default {
				field(f.Label(), line)
			}
		}
	}
	field("related", strings.Join(j.Related, ", "), "found by", t.DiscoveredFrom, "origin", t.Origin)
	if t.Satisfied {
		field("satisfied", "tasks that wait for it go on")
	}
	field("retries", fmt.Sprintf("%d of %d", t.Retries, j.MaxRetries), "attempts", fmt.Sprint(t.Attempts), "verified", t.Verification)
	if t.AwaitsVerdict() {
		field("unverified", "since "+t.Unverified+": "+show.UnverifiedText(t))
	}
	if t.StandsOn != "" {
		field("stands on", "held "+t.StandsOn+": it lands after that; what waits for you: ralph review")
	}
	field("claimed by", t.Owner)
	if !t.NotBefore.IsZero() {
		field("not before", cli.Stamp(t.NotBefore)+" "+t.WaitReason)
	}
	reason, output, _ := strings.Cut(j.LastFailure, "\n")
	field("created", cli.Stamp(t.CreatedAt), "ended", cli.Stamp(t.FinishedAt), "cost", cost.String(), "failure", reason)
	for _, l := range term.MarkedTail(output, term.GateLines) {
		fmt.Fprintf(&b, "  %-10s %s %s\n", "", p.Dim("|"), l)
	}
	return b.String()
}

var taskWhyCommand = cli.Command{
	Name: "why", Args: "ID", Short: "say why a task is not running", Flags: []cli.Flag{cli.JSONFlag},
	Example: "ralph task why 1f0c", Exits: "3 not found", Run: cli.OnTask(runTaskWhy),
}

func runTaskWhy(_ context.Context, a *cli.App, s *cli.Session, g *dag.Graph, t dag.Task, o cli.PlainOptions) error {
	reasons, err := g.Tasks.Explain(t, cli.Life, dag.ClaimOptions{
		KeepGoing: s.Config.Run.KeepGoing, Skip: dag.Skip{Agent: s.Config.Agent.Use}, Locks: s.Config.Locks, Agents: wiring.AgentGates(a.Finder(s.Config), s.Config),
	})
	if err != nil {
		return err
	}
	why := report.WhyView{Task: t, Ready: t.Ready(a.Now()), Reasons: reasons}
	if o.JSON {
		return a.PrintJSON(why)
	}
	p := a.Palette()
	state := show.StateCell(a, p, t)
	text := fmt.Sprintf("%s  %s  %s\n", p.Cyan(t.ID), state.Paint(state.Text), term.Line(t.Title))
	finished, err := g.Queue.Finished()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(finished, func(m dag.Merge) bool { return m.Task == t.ID })
	switch {
	case i >= 0:
		text += fmt.Sprintf("  its work is finished, and lands %s with: %s\n", render.On(finished[i].Target), render.Line(human.MergeCommand(finished[i].Target)))
	case t.AwaitsVerdict():
		text += "  " + show.UnverifiedText(t) + "\n"
	}
	if i < 0 && len(reasons) == 0 {
		text += "  " + render.NothingHolds + "\n"
	}
	for _, r := range why.Reasons {
		text += "  " + term.Line(show.ReasonText(r, a.Now())) + "\n"
	}
	return cli.Written(fmt.Fprint(a.Stdout, text))
}

func attemptsText(p term.Palette, runs string, attempts []dag.Attempt) string {
	if len(attempts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nAttempts\n")
	for _, at := range attempts {
		reason, _, _ := strings.Cut(at.Reason, "\n") // what its gate printed is in the evidence
		fmt.Fprintf(&b, "  %s  %s  %s\n", at.ID, at.StartedAt.Local().Format(time.DateTime), term.Line(cmp.Or(render.OutcomeWord(at.Outcome), "-")+" "+reason))
		more := func(name, text string) {
			if text != "" {
				fmt.Fprintf(&b, "    %s %s\n", p.Dim(fmt.Sprintf("%-8s", name)), term.Line(text))
			}
		}
		for _, g := range at.Gates {
			more("gate", show.GateText(g))
		}
		more("verdict", at.Verdict)
		more("sandbox", at.Sandbox)
		for _, path := range report.EvidenceOf(runs, at) {
			more("evidence", path)
		}
		if !at.PrunedAt.IsZero() {
			more("evidence", show.PrunedText(at.PrunedAt))
		}
	}
	return b.String()
}
