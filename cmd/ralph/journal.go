package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/term"
	"ralph/journal"
)

var journalCommand = command{
	name: "journal", short: "show what each iteration did",
	example: "ralph journal search schema", exits: "3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list iterations, the newest last",
			flags: []flagSpec{
				{name: "run", usage: "only those of `RUN`"},
				{name: "task", usage: "only those of `TASK`"},
				{name: "feature", usage: "only those of `FEATURE`"},
				{name: "outcome", usage: "only those with `OUTCOME`: done, failed, retried, released, ..."},
				{name: "limit", usage: "the newest `N`", value: 20},
				jsonFlag,
			},
			example: "ralph journal list --outcome failed", exits: "3 not found", run: onGraph(runJournalList),
		},
		{
			name: "search", args: "WORD...", short: "find iterations by words of their notes, titles and reasons",
			flags:   []flagSpec{{name: "limit", usage: "at most `N`", value: 20}, jsonFlag},
			example: "ralph journal search order schema", run: onGraph(runJournalList),
		},
		{
			name: "show", args: "N", short: "show one iteration with its notes", flags: []flagSpec{jsonFlag},
			example: "ralph journal show 12", exits: "3 not found", run: onGraph(runJournalShow),
		},
	},
}

func journalAsJSON(e journal.Entry) jsonval.Object {
	o := jsonval.Object{
		"n", e.N, "at", e.At, "run", e.Run, "attempt", null(e.Attempt), "iteration", e.Iteration, "task", e.Task, "feature", null(e.Feature),
		"title", e.Title, "outcome", e.Outcome, "reason", null(e.Reason), "notes", null(e.Notes), "agent", null(e.Agent), "model", null(e.Model),
		"model_effective", null(e.ModelEffective), "stop_reason", null(e.StopReason), "duration_ms", e.Duration,
	}
	return append(append(o, report.Used(e.Usage)...), "files", e.Files)
}

type journalListOptions struct {
	journal.Filter          // its task and feature as they were typed
	Args           []string // words to search for instead
	JSON           bool
}

func (o *journalListOptions) parse(commandLine) error {
	if o.Outcome != "" && !slices.Contains(event.AttemptOutcomes(), o.Outcome) {
		return usagef("--outcome: unknown outcome %q", o.Outcome)
	}
	return checkLimit(o.Limit)
}

func runJournalList(a *app, _ *session, g *dag.Graph, o journalListOptions) (err error) {
	var entries []journal.Entry
	none := "no such iteration yet"
	if len(o.Args) > 0 {
		none = "no iteration matches"
		entries, err = journal.Search(g.Tx(), strings.Join(o.Args, " "), o.Limit)
	} else if err = resolveFilter(g, &o.Filter); err == nil {
		entries, err = journal.List(g.Tx(), o.Filter)
	}
	if err != nil {
		return err
	}
	p := a.palette()
	return printList(a, entries, o.JSON, journalAsJSON, none, nil, func(e journal.Entry) []term.Cell {
		text := e.Title
		if more := strings.TrimSpace(e.Reason + " " + e.Notes); more != "" {
			text += ": " + more
		}
		return []term.Cell{
			{Text: strconv.FormatInt(e.N, 10)},
			{Text: e.At.Local().Format(time.DateTime), Paint: p.Dim},
			{Text: e.Task, Paint: p.Cyan},
			{Text: string(e.Outcome), Paint: outcomePaint(p, e.Outcome)},
			{Text: text},
		}
	})
}

// resolveFilter replaces what was typed by the ID of the run, the name of the feature and the ID of the task.
func resolveFilter(g *dag.Graph, f *journal.Filter) (err error) {
	if f.Run != "" {
		run, err := g.History.ResolveRun(f.Run)
		if err != nil {
			return err
		}
		f.Run = run.ID
	}
	if f.Feature, err = featureByName(g, f.Feature); err != nil || f.Task == "" {
		return err
	}
	t, err := g.Tasks.Resolve(f.Task)
	f.Task = t.ID
	return err
}

func outcomePaint(p term.Palette, outcome event.AttemptOutcome) func(string) string {
	_, tone := render.Attempt(outcome, "")
	return func(s string) string { return tone.Paint(p, s) }
}

func runJournalShow(a *app, _ *session, g *dag.Graph, o plainOptions) error {
	n, err := strconv.ParseInt(o.Args[0], 10, 64)
	if err != nil {
		return hint(usagef("%q is not the number of an entry", o.Args[0]), "see the numbers with: ralph journal list")
	}
	e, err := journal.Get(g.Tx(), n)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.printJSON(journalAsJSON(e))
	}
	p := a.palette()
	effective := e.ModelEffective
	if effective == e.Model {
		effective = ""
	}
	text := fmt.Sprintf("%d  %s  %s  %s\n", e.N, p.Cyan(e.Task), outcomePaint(p, e.Outcome)(string(e.Outcome)), p.Bold(term.Line(e.Title)))
	text += a.fieldLines("at", stamp(e.At), "run", fmt.Sprintf("%s, iteration %d", e.Run, e.Iteration),
		"feature", e.Feature, "agent", e.Agent, "model", e.Model, "used", effective, "duration", human.Span(e.Duration),
		"cost", report.CostOf(e.Usage).String(), "stopped by", e.StopReason, "files", strings.Join(e.Files, ", "))
	for _, block := range []string{e.Reason, e.Notes} {
		if block != "" {
			text += "\n" + term.Block(block) + "\n"
		}
	}
	return written(fmt.Fprint(a.stdout, text))
}
