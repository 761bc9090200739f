package inboxcmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/internal/wake"
)

// queryWait is how long an answer is waited for unless it is said.
const queryWait = 5 * time.Minute

// Query is the command "ralph query".
var Query = cli.Command{
	Name: "query", Args: "TASK [QUESTION]", Short: "say how the work on a task stands, or ask its agent",
	Long: `Without QUESTION, what ralph knows is printed at once: the phase, tool calls, files, and what the agent said last.
Files are those that the agent named and those that are uncommitted where it works.

With QUESTION, the agent at work is asked when its turn ends, and its answer is printed. If it does not come in
time, the question stays: ralph inbox show Q has the answer later. QUESTION may be @FILE, or - for stdin.`,
	Flags: []cli.Flag{
		{Name: "wait", Usage: "wait at most `DURATION` for the answer; 0s prints the ID of the question", Shown: human.Duration(queryWait)},
		cli.JSONFlag,
	},
	Example: "ralph query 1f0c\nralph query 1f0c \"how far are you?\" --wait 1h",
	Exits:   "1 refused (no agent is at work on it) or no answer in time, 3 not found, " + cli.Interrupted, Run: cli.InProject(runQuery),
}

type queryOptions struct {
	Args []string // the task, and the question
	Wait *project.Duration
	JSON bool
}

func (o *queryOptions) Parse(cli.CommandLine) error {
	if o.Wait != nil && len(o.Args) < 2 {
		return cli.Usagef("--wait needs a QUESTION: without one nothing is waited for")
	}
	return nil
}

func runQuery(ctx context.Context, a *cli.App, s *cli.Session, o queryOptions) error {
	if len(o.Args) < 2 {
		p, err := progressOf(ctx, a, s, o.Args[0])
		if err != nil {
			return err
		}
		if o.JSON {
			return a.PrintJSON(p.Object(s.Project.Runs()))
		}
		return cli.Written(fmt.Fprint(a.Stdout, progressText(a, p)))
	}
	text, err := cli.ReadText(a, o.Args[1])
	if err != nil {
		return err
	}
	var q inbox.Request
	var at dag.Attempt
	err = cli.RecordIn(ctx, a, s, func(g *dag.Graph) error {
		t, err := cli.ResolveTask(g, o.Args[0])
		if err == nil {
			q, err = inbox.Inquire(g, t.ID, g.Actor().Who, text)
			err = hintSend(err, "the next one", t)
		}
		if err == nil {
			at, err = lastAttempt(g, t)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	wait := queryWait
	if o.Wait != nil {
		wait = o.Wait.Std()
	}
	if wait == 0 {
		return cli.Written(fmt.Fprintln(a.Stdout, q.ID))
	}
	if q, err = awaitAnswer(ctx, a, s, q, at.ID, wait); err != nil {
		return err
	}
	if o.JSON {
		return a.PrintJSON(report.ViewRequest(q))
	}
	return cli.Written(fmt.Fprintln(a.Stdout, term.Block(q.Answer)))
}

// awaitAnswer waits until an agent has answered, or cannot any more.
func awaitAnswer(ctx context.Context, a *cli.App, s *cli.Session, q inbox.Request, attemptID string, wait time.Duration) (inbox.Request, error) {
	later := func(text string, args ...any) error {
		return cli.Hint(fmt.Errorf("query: %w: "+text, append([]any{dag.ErrRefused}, args...)...), "see whether it was answered with: ralph inbox show %s", q.ID)
	}
	for until := a.Now().Add(wait); ; wake.Pause(ctx, nil, a.Now().Add(time.Second/2), a.Now, 0) {
		var at dag.Attempt
		var run dag.Run
		err := s.Store.View(ctx, func(g *dag.Graph) (err error) {
			at, _ = g.History.Attempt(attemptID) // the first error of the database is that of all that follow
			run, _ = g.History.ResolveRun(at.Run)
			q, err = inbox.Get(g, q.ID)
			return err
		})
		switch {
		case err != nil:
			return q, interruptedOr(ctx, err)
		case q.State == inbox.Answered:
			return q, nil
		case q.State != inbox.Open:
			return q, &inbox.OverError{Request: q}
		case !at.EndedAt.IsZero() || cli.Life(run.Process) == dag.Dead:
			return q, later("the attempt ended before its agent could be asked; the next one is asked %s", q.ID)
		case !a.Now().Before(until):
			return q, later("no answer to %s within %s: its agent is asked when its turn ends", q.ID, human.Duration(wait))
		}
	}
}

func lastAttempt(g *dag.Graph, t dag.Task) (at dag.Attempt, err error) {
	attempts, err := g.History.Attempts(t)
	if len(attempts) > 0 {
		at = attempts[len(attempts)-1]
	}
	return at, err
}

// progressOf is how a task stands, with what git says about the folder in which its agent works.
func progressOf(ctx context.Context, a *cli.App, s *cli.Session, typed string) (report.Progress, error) {
	dir := s.Project.Root
	p, err := cli.Read(ctx, s, func(g *dag.Graph) (p report.Progress, err error) {
		t, err := cli.ResolveTask(g, typed)
		if err == nil {
			p, err = report.ProgressOf(g, s.Project.Runs(), t, cli.Life)
		}
		if err == nil && p.Attempt.Slot > 0 {
			var slots []wiring.UsedSlot
			_, slots, err = wiring.ListSlots(a, s, g)
			for _, u := range slots {
				if u.By.ID == p.Attempt.ID {
					dir = u.Path
				}
			}
		}
		return p, err
	})
	if err != nil || p.Attempt.ID == "" {
		return p, err
	}
	p.Files = seq.Map(p.Files, func(name string) string {
		if in, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(in) {
			return filepath.ToSlash(in)
		}
		return name
	})
	more := p.Attempt.Files // after its end nothing in the folder is its work alone
	if p.Attempt.EndedAt.IsZero() {
		more = git.Look(ctx, dir).Uncommitted
	}
	p.Files = append(p.Files, more...)
	slices.Sort(p.Files)
	p.Files = slices.Compact(p.Files)
	return p, nil
}

// phases says how far an attempt is.
var phases = map[dag.Phase]string{
	dag.Claimed: "being prepared", dag.Starting: "its agent is starting", dag.Prompted: "its agent is at work", dag.Answered: "its agent says that it is done",
	dag.Verifying: "being verified", dag.Settled: "over",
}

func progressText(a *cli.App, p report.Progress) string {
	paint, at := a.Palette(), p.Attempt
	state := show.StateCell(a, paint, p.Task)
	text := fmt.Sprintf("%s  %s  %s\n", paint.Cyan(p.Task.ID), state.Paint(state.Text), paint.Bold(term.Line(p.Task.Title)))
	if at.ID == "" {
		return text + a.FieldLines("phase", "no agent has worked on it; see why with: ralph task why "+p.Task.ID)
	}
	phase := cmp.Or(phases[at.Phase], string(at.Phase))
	switch {
	case p.Died:
		phase = dag.DiedText
	case !at.EndedAt.IsZero():
		word, _ := render.Attempt(at.Outcome, p.Task.Status)
		first, _ := render.First(at.Reason)
		phase = strings.Join(human.Parts("no agent is at work on it; the last attempt: "+word, first), ", ")
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(p.Kinds)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", p.Kinds[kind], cmp.Or(kind, "other")))
	}
	used := at.Usage
	used.Context = p.Context
	text += a.FieldLines("phase", phase, "attempt", strings.Join(human.Parts(at.ID, at.Agent, cmp.Or(at.ModelEffective, at.Model), "since "+cli.Stamp(at.StartedAt)), ", "),
		"prompts", fmt.Sprint(p.Prompts), "tools", human.Count(p.Calls, "call")+human.Lead(": ", strings.Join(kinds, ", "))+human.Lead("; the last: ", p.Doing),
		"files", human.List(p.Files, 20), "used", strings.Join(render.Used(&used), ", "))
	for i, line := range term.MarkedTail(a.Redact.Text(p.Said), term.GateLines) {
		label := ""
		if i == 0 {
			label = "said"
		}
		text += fmt.Sprintf("  %-10s %s %s\n", label, paint.Dim("|"), line)
	}
	return text
}
