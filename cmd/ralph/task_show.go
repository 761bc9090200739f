package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
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

var taskShowCommand = command{
	name: "show", args: "ID", short: "show everything about a task", flags: []flagSpec{jsonFlag},
	example: "ralph task show t-1f0c9a3e", exits: "3 not found", run: onTask(runTaskShow),
}

func runTaskShow(ctx context.Context, a *app, s *session, g *dag.Graph, t dag.Task, o plainOptions) error {
	views, err := viewTasks(a, s, g, t)
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
		return a.printJSON(slices.Concat(views[0].Object(), jsonval.Object{
			"dependents", report.IDs(dependents), "command", null(remedy(t, attempts).Command), "questions", seq.Map(asked, report.ViewRequest), "history", report.ViewAttempts(s.project.Runs(), attempts),
			"cost_usd", used.CostUSD, "cost_estimated", used.Estimated, "cost_unknown", used.Unknown,
		}, where))
	}
	blockers, _ := g.Tasks.Blockers(t)
	children, err := g.Tasks.Children(t)
	if err != nil {
		return err
	}
	text := taskText(a, t, views[0], report.CostOf(usageOf(attempts))) + questionsText(a, asked) + remedyText(a, remedy(t, attempts)) + work + taskSection(a, "Waits for", blockers) + taskSection(a, "Holds up", dependents) +
		taskSection(a, "Subtasks", children) + attemptsText(a.palette(), s.project.Runs(), attempts)
	text = term.WrapLines(a.redact.Text(text), a.width)
	if t.Description != "" {
		text += "\n" + term.Block(t.Description) + "\n"
	}
	return written(fmt.Fprint(a.stdout, text))
}

// questionsText names what a task asks, and how it is answered.
func questionsText(a *app, asked []inbox.Request) (text string) {
	for _, r := range asked {
		first, _, _ := strings.Cut(r.Text, "\n")
		text += a.fieldLines("asks", first+" (ralph inbox answer "+r.ID+")")
	}
	return text
}

// workOf says where the work of a task is that was done in slots: on a branch, or in a ref.
func workOf(ctx context.Context, a *app, s *session, g *dag.Graph, t dag.Task, attempts []dag.Attempt) (text string, object jsonval.Object, err error) {
	var landed any
	kept, typed := "", git.Typed(s.project.Root)
	m, err := g.Queue.LandedWork(t)
	if m.N > 0 && m.Candidate != m.Onto { // there was something to land
		landed = jsonval.Object{"target", m.Target, "commit", m.Candidate, "at", m.EndedAt}
		text = a.fieldLines("landed", fmt.Sprintf("%s; see it: %s show %s", render.On(m.Target), typed, render.Commit(m.Candidate)))
	}
	if held, _ := g.Queue.ToReview(); m.N == 0 {
		if i := slices.IndexFunc(held, func(h dag.Merge) bool { return h.Task == t.ID }); i >= 0 {
			m = held[i]
		}
	}
	text += a.fieldLines("refs", m.RefsText())
	if slices.ContainsFunc(attempts, func(at dag.Attempt) bool { return at.Slot > 0 }) {
		refs := keptWork(ctx, s.project.Root)
		for _, at := range attempts {
			kept = cmp.Or(refs[at.ID], kept)
		}
		text += a.fieldLines("kept", human.Lead("not landed; see it: "+typed+" show ", kept))
	}
	return text, jsonval.Object{"landed", landed, "kept", null(kept), "refs", refsJSON(m.Refs)}, err
}

// remedy is what a person may do about work that was rejected last.
func remedy(t dag.Task, attempts []dag.Attempt) render.Step {
	n := len(attempts)
	if n == 0 || t.StartedAt.IsZero() || t.Unverified != "" || t.Status == dag.InProgress || attempts[n-1].StartedAt.Before(t.StartedAt) {
		return render.Step{}
	}
	return render.Remedy(attempts[n-1].Rejected, t.ID, t.Status)
}

func remedyText(a *app, r render.Step) string {
	if r.Command == "" {
		return ""
	}
	return a.fieldLines("next", r.Command+": "+r.Why)
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
	field := func(fields ...string) { b.WriteString(a.fieldLines(fields...)) }
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
		field("unverified", "since "+t.Unverified+": "+unverifiedText(t))
	}
	if t.StandsOn != "" {
		field("stands on", "held "+t.StandsOn+": it lands after that; what waits for you: ralph review")
	}
	field("claimed by", t.Owner)
	if !t.NotBefore.IsZero() {
		field("not before", stamp(t.NotBefore)+" "+t.WaitReason)
	}
	reason, output, _ := strings.Cut(j.LastFailure, "\n")
	field("created", stamp(t.CreatedAt), "ended", stamp(t.FinishedAt), "cost", cost.String(), "failure", reason)
	for _, l := range term.MarkedTail(output, term.GateLines) {
		fmt.Fprintf(&b, "  %-10s %s %s\n", "", p.Dim("|"), l)
	}
	return b.String()
}

var taskWhyCommand = command{
	name: "why", args: "ID", short: "say why a task is not running", flags: []flagSpec{jsonFlag},
	example: "ralph task why 1f0c", exits: "3 not found", run: onTask(runTaskWhy),
}

func runTaskWhy(_ context.Context, a *app, s *session, g *dag.Graph, t dag.Task, o plainOptions) error {
	reasons, err := g.Tasks.Explain(t, life, dag.ClaimOptions{
		KeepGoing: s.config.Run.KeepGoing, Skip: dag.Skip{Agent: s.config.Agent.Use}, Locks: s.config.Locks, Agents: agentGates(a.finder(s.config), s.config),
	})
	if err != nil {
		return err
	}
	why := report.WhyView{Task: t, Ready: t.Ready(a.now()), Reasons: reasons}
	if o.JSON {
		return a.printJSON(why)
	}
	p := a.palette()
	state := stateCell(a, p, t)
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
		text += "  " + unverifiedText(t) + "\n"
	}
	if i < 0 && len(reasons) == 0 {
		text += "  " + render.NothingHolds + "\n"
	}
	for _, r := range why.Reasons {
		text += "  " + term.Line(reasonText(r, a.now())) + "\n"
	}
	return written(fmt.Fprint(a.stdout, text))
}

// prunedText says when files were removed.
func prunedText(at time.Time) string {
	return "removed by ralph gc on " + at.Local().Format(time.DateOnly)
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
			more("gate", gateText(g))
		}
		more("verdict", at.Verdict)
		more("sandbox", at.Sandbox)
		for _, path := range report.EvidenceOf(runs, at) {
			more("evidence", path)
		}
		if !at.PrunedAt.IsZero() {
			more("evidence", prunedText(at.PrunedAt))
		}
	}
	return b.String()
}

// gateText is what a gate said.
func gateText(g dag.GateRecord) string {
	verdict := string(g.Verdict)
	if g.Verdict == event.GateFirstChecks {
		verdict = "fails with the checks that the feature began with"
	}
	text := fmt.Sprintf("%s: %s (%s)", verdict, g.Command, g.Exit)
	if g.Baseline != "" {
		text += ", " + string(g.Baseline) + " before the work"
	}
	return text + human.Lead("; ", human.Tests(g.Tests, g.TestsBefore))
}

// taskSection lists tasks below a title, after an empty line; no tasks give no text.
func taskSection(a *app, title string, tasks []dag.Task) string {
	if len(tasks) == 0 {
		return ""
	}
	p := a.palette()
	t := &term.Table{Width: a.width}
	for _, task := range tasks {
		t.Add(term.Cell{Text: task.ID, Paint: p.Cyan}, stateCell(a, p, task), term.Cell{Text: task.Title})
	}
	return "\n" + title + "\n" + t.Indented()
}

func stateCell(a *app, p term.Palette, t dag.Task) term.Cell {
	word := t.State(a.now())
	return term.Cell{Text: word, Paint: statePaint(p, word)}
}

// statePaint is the colour of a word of dag.Task.State, and of the status of a feature.
func statePaint(p term.Palette, state string) func(string) string {
	paint, ok := map[string]func(string) string{
		"done": p.Green, "failed": p.Red, "blocked": p.Yellow, "paused": p.Yellow, "asks": p.Yellow, "to review": p.Yellow, dag.Standing: p.Yellow,
		"running": p.Cyan, "ready": p.Bold, "unverified": p.Bold, dag.Landing: p.Cyan,
	}[state]
	if !ok {
		return p.Dim
	}
	return paint
}

// unverifiedText says what becomes of finished work.
func unverifiedText(t dag.Task) string {
	if t.Lands {
		return "a person accepted its work; " + landsText
	}
	return "its work is finished and waits for verification; no agent works on it before that"
}

// landsText says when accepted work lands.
const landsText = "it lands with: ralph merge, or at once if a run on its branch is active and has a slot free"

// reasonText is a reason with the time at which it ends, if it does so by itself.
func reasonText(r dag.Reason, now time.Time) string {
	if r.Until.IsZero() {
		return r.Text
	}
	left := r.Until.Sub(now).Round(time.Second)
	if left <= 0 {
		return fmt.Sprintf("%s (its lease expired %s ago; see: ralph recover)", r.Text, -left)
	}
	return fmt.Sprintf("%s (until %s, %s from now)", r.Text, r.Until.Local().Format(time.DateTime), left)
}
