package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/term"
)

var reportCommand = command{
	name: "report", args: "[RUN]", short: "report what a run did, what it cost, what failed and what to do next",
	long: `RUN is the ID of a run; without one, the last run is reported, even while it is running. The page
of --format html is one file and needs no network. It contains transcripts, logs and what each
attempt changed, up to 1 MiB each and 10 MiB in all.`,
	flags: []flagSpec{
		{name: "format", usage: "write `FORMAT`: text, markdown, html, json or junit", shown: "by the extension of -o, else text"},
		{name: "output", short: "o", usage: "write to `FILE` instead of stdout"},
		jsonFlag,
	},
	example: "ralph report\nralph report -o report.html\nralph report 31aa --format junit -o junit.xml",
	exits:   "1 FILE cannot be written, 3 no run yet, or no such run", run: inProject(runReport),
}

type reportOptions struct {
	Args   []string
	Format report.Format
	Output string // a file; empty is stdout
	JSON   bool
}

func (o *reportOptions) parse(c commandLine) (err error) {
	switch {
	case o.JSON && o.Format != "" && o.Format != "json":
		return usagef("--json is --format json: it does not go with --format %s", o.Format)
	case o.JSON:
		o.Format = "json"
	case o.Format != "":
		if o.Format, err = report.ParseFormat(string(o.Format)); err != nil {
			return usagef("--format is %v", err)
		}
	case c.IsSet("output") && o.Output == "":
		return usagef("-o needs the name of a file")
	default:
		o.Format = report.FormatOf(o.Output)
	}
	if o.Output == "-" {
		o.Output = ""
	}
	return nil
}

func runReport(ctx context.Context, a *app, s *session, o reportOptions) error {
	if why := reserved(a, absolute(a, o.Output)); o.Output != "" && why != "" {
		return usagef("-o: %s %s", o.Output, why)
	}
	r, err := loadRun(ctx, a, s, o.Args)
	if err != nil {
		return err
	}
	page := report.HTMLOptions{Hide: a.redact.Text, Diff: func(before, after string, limit int) (string, bool, error) {
		d, err := git.Trees{Dir: s.project.Root}.Compare(ctx, before, after, limit)
		return d.Patch, d.Cut, err
	}}
	if o.Output == "" {
		return report.Write(a.stdout, r, o.Format, report.TextOptions{Palette: a.palette(), Width: a.width}, page)
	}
	var b bytes.Buffer
	if err := report.Write(&b, r, o.Format, report.TextOptions{}, page); err != nil {
		return err
	}
	if err := atomicfile.Replace(o.Output, a.redact.Bytes(b.Bytes())); err != nil {
		return outputError{text: fmt.Sprintf("write the report: %v", err)}
	}
	a.note("written: %s", o.Output)
	return nil
}

// loadRun reads the run that was typed, or the last one.
func loadRun(ctx context.Context, a *app, s *session, typed []string) (report.Run, error) {
	run, err := look(ctx, s, func(g *dag.Graph) (dag.Run, error) { return g.History.RunOrLast(strings.Join(typed, "")) })
	if err != nil {
		return report.Run{}, err
	}
	r, err := report.Load(ctx, s.store, report.Options{
		Root: s.project.Root, Runs: s.project.Runs(), Run: run.ID, Life: life, Now: a.now, Zone: time.Local,
		Kept: keptWork(ctx, s.project.Root), Spec: func(name string) string { return specOf(s, name) },
	})
	return redact.Deep(a.redact, r), err // an older version may have stored secrets
}

var runsCommand = command{
	name: "runs", short: "list and show runs",
	example: "ralph runs list", exits: "3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list runs, the newest first",
			flags:   []flagSpec{{name: "limit", usage: "the newest `N`; 0 means all", value: 20}, jsonFlag},
			example: "ralph runs list\nralph runs list --limit 0 --json", run: onGraph(runRunsList),
		},
		{
			name: "show", args: "RUN", short: "show a run with every attempt, what failed and what waits",
			flags:   []flagSpec{jsonFlag},
			example: "ralph runs show r-31aa8faf", exits: "3 not found", run: inProject(runRunsShow),
		},
	},
}

type runsListOptions struct {
	Limit int
	JSON  bool
}

func (o *runsListOptions) parse(commandLine) error { return checkLimit(o.Limit) }

// checkLimit refuses a --limit that makes no sense.
func checkLimit(n int) error {
	if n < 0 {
		return usagef("--limit cannot be negative")
	}
	return nil
}

func runRunsList(a *app, _ *session, g *dag.Graph, o runsListOptions) error {
	lines, err := report.Lines(g, o.Limit, life, a.now())
	if err != nil {
		return err
	}
	p, same := a.palette(), func(l report.Line) report.Line { return l }
	header := []string{"RUN", "BEGAN", "TOOK", "ENDED AS", "DONE", "FAILED", "COST", "SCOPE"}
	return printList(a, lines, o.JSON, same, "no run yet; start one with: ralph run", header, func(l report.Line) []term.Cell {
		_, tone := render.Outcome(l.Outcome, l.Failed)
		return []term.Cell{
			{Text: l.ID, Paint: p.Cyan},
			{Text: l.StartedAt.Local().Format(time.DateTime), Paint: p.Dim},
			{Text: human.Span(l.Duration)},
			{Text: render.OutcomeWord(l.Outcome), Paint: func(s string) string { return tone.Paint(p, s) }},
			{Text: fmt.Sprint(l.Done)},
			{Text: fmt.Sprint(l.Failed)},
			{Text: l.Usage.CostWords()},
			{Text: l.Scope.String()},
		}
	})
}

func runRunsShow(ctx context.Context, a *app, s *session, o plainOptions) error {
	r, err := loadRun(ctx, a, s, o.Args)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.printJSON(r)
	}
	return report.Text(a.stdout, r, report.TextOptions{Palette: a.palette(), Width: a.width})
}
