// Package reportcmd has the commands that print what was done and what it cost.
package reportcmd

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/term"
)

// Report is the command "ralph report".
var Report = cli.Command{
	Name: "report", Args: "[RUN]", Short: "report what a run did, what it cost, what failed and what to do next",
	Long: `RUN is the ID of a run; without one, the last run is reported, even while it is running. The page
of --format html is one file and needs no network. It contains transcripts, logs and what each
attempt changed, up to 1 MiB each and 10 MiB in all.`,
	Flags: []cli.Flag{
		{Name: "format", Usage: "write `FORMAT`: text, markdown, html, json or junit", Shown: "by the extension of -o, else text"},
		{Name: "output", Short: "o", Usage: "write to `FILE` instead of stdout"},
		cli.JSONFlag,
	},
	Example: "ralph report\nralph report -o report.html\nralph report 31aa --format junit -o junit.xml",
	Exits:   "1 FILE cannot be written, 3 no run yet, or no such run", Run: cli.InProject(runReport),
}

type reportOptions struct {
	Args   []string
	Format report.Format
	Output string // a file; empty is stdout
	JSON   bool
}

func (o *reportOptions) Parse(c cli.CommandLine) (err error) {
	switch {
	case o.JSON && o.Format != "" && o.Format != "json":
		return cli.Usagef("--json is --format json: it does not go with --format %s", o.Format)
	case o.JSON:
		o.Format = "json"
	case o.Format != "":
		if o.Format, err = report.ParseFormat(string(o.Format)); err != nil {
			return cli.Usagef("--format is %v", err)
		}
	case c.IsSet("output") && o.Output == "":
		return cli.Usagef("-o needs the name of a file")
	default:
		o.Format = report.FormatOf(o.Output)
	}
	if o.Output == "-" {
		o.Output = ""
	}
	return nil
}

func runReport(ctx context.Context, a *cli.App, s *cli.Session, o reportOptions) error {
	if why := wiring.Reserved(a, cli.Absolute(a, o.Output)); o.Output != "" && why != "" {
		return cli.Usagef("-o: %s %s", o.Output, why)
	}
	r, err := loadRun(ctx, a, s, o.Args)
	if err != nil {
		return err
	}
	page := report.HTMLOptions{Hide: a.Redact.Text, Diff: func(before, after string, limit int) (string, bool, error) {
		d, err := git.Trees{Dir: s.Project.Root}.Compare(ctx, before, after, limit)
		return d.Patch, d.Cut, err
	}}
	if o.Output == "" {
		return report.Write(a.Stdout, r, o.Format, report.TextOptions{Palette: a.Palette(), Width: a.Width}, page)
	}
	var b bytes.Buffer
	if err := report.Write(&b, r, o.Format, report.TextOptions{}, page); err != nil {
		return err
	}
	if err := atomicfile.Replace(o.Output, a.Redact.Bytes(b.Bytes())); err != nil {
		return cli.OutputError{Text: fmt.Sprintf("write the report: %v", err)}
	}
	a.Note("written: %s", o.Output)
	return nil
}

// loadRun reads the run that was typed, or the last one.
func loadRun(ctx context.Context, a *cli.App, s *cli.Session, typed []string) (report.Run, error) {
	run, err := cli.Read(ctx, s, func(g *dag.Graph) (dag.Run, error) { return g.History.RunOrLast(strings.Join(typed, "")) })
	if err != nil {
		return report.Run{}, err
	}
	r, err := report.Load(ctx, s.Store, report.Options{
		Root: s.Project.Root, Runs: s.Project.Runs(), Run: run.ID, Life: cli.Life, Now: a.Now, Zone: time.Local,
		Kept: wiring.KeptWork(ctx, s.Project.Root), Spec: func(name string) string { return wiring.SpecOf(s, name) },
	})
	return redact.Deep(a.Redact, r), err // an older version may have stored secrets
}

// Runs is the command "ralph runs".
var Runs = cli.Command{
	Name: "runs", Short: "list and show runs",
	Example: "ralph runs list", Exits: "3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list runs, the newest first",
			Flags:   []cli.Flag{{Name: "limit", Usage: "the newest `N`; 0 means all", Value: 20}, cli.JSONFlag},
			Example: "ralph runs list\nralph runs list --limit 0 --json", Run: cli.OnGraph(runRunsList),
		},
		{
			Name: "show", Args: "RUN", Short: "show a run with every attempt, what failed and what waits",
			Flags:   []cli.Flag{cli.JSONFlag},
			Example: "ralph runs show r-31aa8faf", Exits: "3 not found", Run: cli.InProject(runRunsShow),
		},
	},
}

type runsListOptions struct {
	Limit int
	JSON  bool
}

func (o *runsListOptions) Parse(cli.CommandLine) error { return cli.CheckLimit(o.Limit) }

func runRunsList(a *cli.App, _ *cli.Session, g *dag.Graph, o runsListOptions) error {
	lines, err := report.Lines(g, o.Limit, cli.Life, a.Now())
	if err != nil {
		return err
	}
	p, same := a.Palette(), func(l report.Line) report.Line { return l }
	header := []string{"RUN", "BEGAN", "TOOK", "ENDED AS", "DONE", "FAILED", "COST", "SCOPE"}
	return cli.PrintList(a, lines, o.JSON, same, "no run yet; start one with: ralph run", header, func(l report.Line) []term.Cell {
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

func runRunsShow(ctx context.Context, a *cli.App, s *cli.Session, o cli.PlainOptions) error {
	r, err := loadRun(ctx, a, s, o.Args)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.PrintJSON(r)
	}
	return report.Text(a.Stdout, r, report.TextOptions{Palette: a.Palette(), Width: a.Width})
}
