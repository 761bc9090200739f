package reportcmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/term"
	"ralph/journal"
)

// Journal is the command "ralph journal".
var Journal = cli.Command{
	Name: "journal", Short: "show what each iteration did",
	Example: "ralph journal search schema", Exits: "3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list iterations, the newest last",
			Flags: []cli.Flag{
				{Name: "run", Usage: "only those of `RUN`"},
				{Name: "task", Usage: "only those of `TASK`"},
				{Name: "feature", Usage: "only those of `FEATURE`"},
				{Name: "outcome", Usage: "only those with `OUTCOME`: done, failed, retried, released, ..."},
				{Name: "limit", Usage: "the newest `N`", Value: 20},
				cli.JSONFlag,
			},
			Example: "ralph journal list --outcome failed", Exits: "3 not found", Run: cli.OnGraph(runJournalList),
		},
		{
			Name: "search", Args: "WORD...", Short: "find iterations by words of their notes, titles and reasons",
			Flags:   []cli.Flag{{Name: "limit", Usage: "at most `N`", Value: 20}, cli.JSONFlag},
			Example: "ralph journal search order schema", Run: cli.OnGraph(runJournalList),
		},
		{
			Name: "show", Args: "N", Short: "show one iteration with its notes", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph journal show 12", Exits: "3 not found", Run: cli.OnGraph(runJournalShow),
		},
	},
}

// JournalAsJSON is an entry of the journal.
func JournalAsJSON(e journal.Entry) jsonval.Object {
	o := jsonval.Object{
		"n", e.N, "at", e.At, "run", e.Run, "attempt", cli.Null(e.Attempt), "iteration", e.Iteration, "task", e.Task, "feature", cli.Null(e.Feature),
		"title", e.Title, "outcome", e.Outcome, "reason", cli.Null(e.Reason), "notes", cli.Null(e.Notes), "agent", cli.Null(e.Agent), "model", cli.Null(e.Model),
		"model_effective", cli.Null(e.ModelEffective), "stop_reason", cli.Null(e.StopReason), "duration_ms", e.Duration,
	}
	return append(append(o, report.Used(e.Usage)...), "files", e.Files)
}

type journalListOptions struct {
	journal.Filter          // its task and feature as they were typed
	Args           []string // words to search for instead
	JSON           bool
}

func (o *journalListOptions) Parse(cli.CommandLine) error {
	if o.Outcome != "" && !slices.Contains(event.AttemptOutcomes(), o.Outcome) {
		return cli.Usagef("--outcome: unknown outcome %q", o.Outcome)
	}
	return cli.CheckLimit(o.Limit)
}

func runJournalList(a *cli.App, _ *cli.Session, g *dag.Graph, o journalListOptions) (err error) {
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
	p := a.Palette()
	return cli.PrintList(a, entries, o.JSON, JournalAsJSON, none, nil, func(e journal.Entry) []term.Cell {
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
	if f.Feature, err = cli.FeatureByName(g, f.Feature); err != nil || f.Task == "" {
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

func runJournalShow(a *cli.App, _ *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
	n, err := strconv.ParseInt(o.Args[0], 10, 64)
	if err != nil {
		return cli.Hint(cli.Usagef("%q is not the number of an entry", o.Args[0]), "see the numbers with: ralph journal list")
	}
	e, err := journal.Get(g.Tx(), n)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.PrintJSON(JournalAsJSON(e))
	}
	p := a.Palette()
	effective := e.ModelEffective
	if effective == e.Model {
		effective = ""
	}
	text := fmt.Sprintf("%d  %s  %s  %s\n", e.N, p.Cyan(e.Task), outcomePaint(p, e.Outcome)(string(e.Outcome)), p.Bold(term.Line(e.Title)))
	text += a.FieldLines("at", cli.Stamp(e.At), "run", fmt.Sprintf("%s, iteration %d", e.Run, e.Iteration),
		"feature", e.Feature, "agent", e.Agent, "model", e.Model, "used", effective, "duration", human.Span(e.Duration),
		"cost", report.CostOf(e.Usage).String(), "stopped by", e.StopReason, "files", strings.Join(e.Files, ", "))
	for _, block := range []string{e.Reason, e.Notes} {
		if block != "" {
			text += "\n" + term.Block(block) + "\n"
		}
	}
	return cli.Written(fmt.Fprint(a.Stdout, text))
}
