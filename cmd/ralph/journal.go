package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/term"
	"ralph/journal"
	"ralph/report"
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

type journalJSON struct {
	N              int64                `json:"n"`
	At             string               `json:"at"`
	Run            string               `json:"run"`
	Attempt        *string              `json:"attempt"`
	Iteration      int                  `json:"iteration"`
	Task           string               `json:"task"`
	Feature        *string              `json:"feature"`
	Title          string               `json:"title"`
	Outcome        event.AttemptOutcome `json:"outcome"`
	Reason         *string              `json:"reason"`
	Notes          *string              `json:"notes"`
	Agent          *string              `json:"agent"`
	Model          *string              `json:"model"`
	ModelEffective *string              `json:"model_effective"`
	StopReason     *string              `json:"stop_reason"`
	DurationMS     int64                `json:"duration_ms"`
	TokensIn       *int64               `json:"tokens_in"`
	TokensCached   *int64               `json:"tokens_cached"`
	TokensOut      *int64               `json:"tokens_out"`
	report.Cost
	Files []string `json:"files"`
}

func journalAsJSON(e journal.Entry) journalJSON {
	in, cached, out := e.Counts()
	return journalJSON{
		N: e.N, At: e.At.Format(time.RFC3339), Run: e.Run, Attempt: jsonval.Text(e.Attempt), Iteration: e.Iteration, Task: e.Task,
		Feature: jsonval.Text(e.Feature), Title: e.Title, Outcome: e.Outcome, Reason: jsonval.Text(e.Reason), Notes: jsonval.Text(e.Notes),
		Agent: jsonval.Text(e.Agent), Model: jsonval.Text(e.Model), ModelEffective: jsonval.Text(e.ModelEffective), StopReason: jsonval.Text(e.StopReason),
		DurationMS: e.Duration.Milliseconds(), TokensIn: in, TokensCached: cached, TokensOut: out,
		Cost: report.CostOf(e.Usage), Files: jsonval.List(e.Files),
	}
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
		run, err := g.ResolveRun(f.Run)
		if err != nil {
			return err
		}
		f.Run = run.ID
	}
	if f.Feature, err = featureByName(g, f.Feature); err != nil || f.Task == "" {
		return err
	}
	t, err := g.Resolve(f.Task)
	f.Task = t.ID
	return err
}

func outcomePaint(p term.Palette, outcome event.AttemptOutcome) func(string) string {
	_, tone := render.Attempt(outcome, "")
	return func(s string) string { return tone.Paint(p, s) }
}

type journalShowOptions struct {
	plainOptions
	n int64
}

func (o *journalShowOptions) parse(commandLine) (err error) {
	if o.n, err = strconv.ParseInt(o.Args[0], 10, 64); err != nil {
		return hint(usagef("%q is not the number of an entry", o.Args[0]), "see the numbers with: ralph journal list")
	}
	return nil
}

func runJournalShow(a *app, _ *session, g *dag.Graph, o journalShowOptions) error {
	e, err := journal.Get(g.Tx(), o.n)
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
	text += fieldLines("at", e.At.Local().Format(time.DateTime), "run", fmt.Sprintf("%s, iteration %d", e.Run, e.Iteration),
		"feature", e.Feature, "agent", e.Agent, "model", e.Model, "used", effective, "duration", human.Span(e.Duration),
		"cost", report.CostOf(e.Usage).String(), "stopped by", e.StopReason, "files", strings.Join(e.Files, ", "))
	for _, block := range []string{e.Reason, e.Notes} {
		if block != "" {
			text += "\n" + term.Block(block) + "\n"
		}
	}
	return written(fmt.Fprint(a.stdout, text))
}
