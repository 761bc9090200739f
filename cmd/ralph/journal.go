package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/journal"
)

func (a *app) journalCommand() command {
	return command{
		name: "journal", short: "look at what each iteration did",
		example: "ralph journal search schema", exits: "3 not found",
		sub: []command{
			{
				name: "list", bare: true, short: "list iterations, the newest last",
				flags: []cli.Flag{
					&cli.StringFlag{Name: "run", Usage: "only those of run `ID`"},
					&cli.StringFlag{Name: "task", Usage: "only those of task `ID`"},
					&cli.StringFlag{Name: "feature", Usage: "only those of feature `F`"},
					&cli.StringFlag{Name: "outcome", Usage: "only those that ended as `O`: done, failed, retried, released, ..."},
					&cli.IntFlag{Name: "limit", Usage: "the newest `N`", Value: 20},
					jsonFlag(),
				},
				example: "ralph journal list --outcome failed", exits: "3 not found",
				run: a.runJournalList,
			},
			{
				name: "search", args: "WORD...", short: "find iterations by words of their notes, titles and reasons",
				flags:   []cli.Flag{&cli.IntFlag{Name: "limit", Usage: "at most `N`", Value: 20}, jsonFlag()},
				example: "ralph journal search order schema",
				run:     a.runJournalSearch,
			},
			{
				name: "show", args: "N", short: "show one iteration with its notes",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph journal show 12", exits: "3 not found",
				run: a.runJournalShow,
			},
		},
	}
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
	spentJSON
	Files []string `json:"files"`
}

func journalAsJSON(e journal.Entry) journalJSON {
	in, cached, out := e.Counts()
	return journalJSON{
		N: e.N, At: e.At.Format(time.RFC3339), Run: e.Run, Attempt: orNil(e.Attempt), Iteration: e.Iteration, Task: e.Task,
		Feature: orNil(e.Feature), Title: e.Title, Outcome: e.Outcome, Reason: orNil(e.Reason), Notes: orNil(e.Notes),
		Agent: orNil(e.Agent), Model: orNil(e.Model), ModelEffective: orNil(e.ModelEffective), StopReason: orNil(e.StopReason),
		DurationMS: e.Duration.Milliseconds(), TokensIn: in, TokensCached: cached, TokensOut: out,
		spentJSON: spentOf(e.Usage), Files: orEmpty(e.Files),
	}
}

func (a *app) runJournalList(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	f := journal.Filter{Run: c.String("run"), Outcome: event.AttemptOutcome(c.String("outcome")), Limit: c.Int("limit")}
	if f.Limit < 0 {
		return usagef("--limit cannot be negative")
	}
	if f.Outcome != "" && !slices.Contains(event.AttemptOutcomes(), f.Outcome) {
		return usagef("--outcome: unknown outcome %q", f.Outcome)
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) (err error) {
		if f.Feature, err = featureByName(g, c.String("feature")); err != nil {
			return err
		}
		if typed := c.String("task"); typed != "" {
			t, err := g.Resolve(typed)
			if err != nil {
				return lookUpHint(err)
			}
			f.Task = t.ID
		}
		entries, err := journal.List(g.Tx(), f)
		if err != nil {
			return err
		}
		return a.printEntries(c, entries, "no iteration like that yet")
	})
}

func (a *app) runJournalSearch(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("WORD is missing")
	}
	if c.Int("limit") < 0 {
		return usagef("--limit cannot be negative")
	}
	words := strings.Join(c.Args().Slice(), " ")
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		entries, err := journal.Search(g.Tx(), words, c.Int("limit"))
		if err != nil {
			return err
		}
		return a.printEntries(c, entries, "no iteration speaks of that")
	})
}

func (a *app) printEntries(c *cli.Context, entries []journal.Entry, none string) error {
	if c.Bool("json") {
		list := []journalJSON{}
		for _, e := range entries {
			list = append(list, journalAsJSON(e))
		}
		return a.printJSON(list)
	}
	if len(entries) == 0 {
		a.note("%s", none)
		return nil
	}
	p := a.palette()
	t := &term.Table{Width: a.width}
	for _, e := range entries {
		text := e.Title
		if said := strings.TrimSpace(e.Reason + " " + e.Notes); said != "" {
			text += ": " + said
		}
		t.Add(term.Cell{Text: strconv.FormatInt(e.N, 10)}, term.Cell{Text: e.At.Local().Format(time.DateTime), Paint: p.Dim},
			term.Cell{Text: e.Task, Paint: p.Cyan}, term.Cell{Text: string(e.Outcome), Paint: outcomePaint(p, e.Outcome)}, term.Cell{Text: text})
	}
	_, err := t.WriteTo(a.stdout)
	return err
}

func outcomePaint(p term.Palette, outcome event.AttemptOutcome) func(string) string {
	switch outcome {
	case event.AttemptDone:
		return p.Green
	case event.AttemptFailed, event.AttemptRefused, event.AttemptError:
		return p.Red
	default:
		return p.Yellow
	}
}

func (a *app) runJournalShow(c *cli.Context) error {
	typed, err := oneArg(c, "N")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(typed, 10, 64)
	if err != nil {
		return hint(usagef("%q is no number of an entry", typed), "see the numbers with: ralph journal list")
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		e, err := journal.Get(g.Tx(), n)
		if errors.Is(err, journal.ErrNotFound) {
			err = fmt.Errorf("journal entry %d: %w", n, dag.ErrNotFound)
			return hint(err, "see the numbers with: ralph journal list")
		}
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return a.printJSON(journalAsJSON(e))
		}
		return a.printEntry(e)
	})
}

func (a *app) printEntry(e journal.Entry) error {
	p := a.palette()
	var b strings.Builder
	fmt.Fprintf(&b, "%d  %s  %s  %s\n", e.N, p.Cyan(e.Task), outcomePaint(p, e.Outcome)(string(e.Outcome)), p.Bold(term.Line(e.Title)))
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", name, term.Line(value))
		}
	}
	field("at", e.At.Local().Format(time.DateTime))
	field("run", fmt.Sprintf("%s, iteration %d", e.Run, e.Iteration))
	field("feature", e.Feature)
	field("agent", e.Agent)
	field("model", e.Model)
	if e.ModelEffective != e.Model {
		field("took", e.ModelEffective)
	}
	field("took time", human.Span(e.Duration))
	field("cost", spentOf(e.Usage).String())
	field("stopped by", e.StopReason)
	field("files", strings.Join(e.Files, ", "))
	if e.Reason != "" {
		b.WriteString("\n" + term.Block(e.Reason) + "\n")
	}
	if e.Notes != "" {
		b.WriteString("\n" + term.Block(e.Notes) + "\n")
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}
