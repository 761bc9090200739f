package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/redact"
	"ralph/report"
)

// reportFormats are what --format takes, in the order that the help names them.
var reportFormats = []string{"text", "markdown", "html", "json", "junit"}

func (a *app) reportCommand() command {
	return command{
		name: "report", args: "[RUN]", short: "tell what a run did, what it cost, what failed and what to do next",
		long: `RUN is the ID of a run; none means the last one. A run that still goes on is told as it stands.
The page of --format html is one file and needs no network. Transcripts, logs and what each attempt
changed are in it, up to 1 MiB each and 10 MiB in all.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`F`: text, markdown, html, json or junit", DefaultText: "by the name of -o, else text"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE` instead of stdout"},
			jsonFlag(),
		},
		example: "ralph report\nralph report -o report.html\nralph report 31aa --format junit -o junit.xml",
		exits:   "1 FILE cannot be written, 3 no run yet, or no such run",
		run:     a.runReport,
	}
}

func (a *app) runReport(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("at most one RUN")
	}
	format, err := reportFormat(c)
	if err != nil {
		return err
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := a.loadRun(c.Context, s, c.Args().First())
	if err != nil {
		return err
	}
	output := c.String("output")
	if output == "" {
		return a.render(c, a.stdout, s, r, format)
	}
	var b bytes.Buffer
	if err := a.render(c, &b, s, r, format); err != nil {
		return err
	}
	if err := replaceFile(output, a.redact.Bytes(b.Bytes())); err != nil {
		return outputError{text: fmt.Sprintf("write the report: %v", err)}
	}
	a.note("written: %s", output)
	return nil
}

// reportFormat is what was asked for, or what the name of the file says.
func reportFormat(c *cli.Context) (string, error) {
	format := c.String("format")
	switch {
	case c.Bool("json") && format != "" && format != "json":
		return "", usagef("--json is --format json: it does not go with --format %s", format)
	case c.Bool("json"):
		return "json", nil
	case format == "md":
		return "markdown", nil
	case format != "":
		if !slices.Contains(reportFormats, format) {
			return "", usagef("--format is text, markdown, html, json or junit, not %q", format)
		}
		return format, nil
	case c.IsSet("output") && c.String("output") == "":
		return "", usagef("-o needs the name of a file")
	}
	switch strings.ToLower(filepath.Ext(c.String("output"))) {
	case ".html", ".htm":
		return "html", nil
	case ".md", ".markdown":
		return "markdown", nil
	case ".json":
		return "json", nil
	case ".xml":
		return "junit", nil
	default:
		return "text", nil
	}
}

func (a *app) render(c *cli.Context, w io.Writer, s *session, r report.Run, format string) error {
	switch format {
	case "markdown":
		return report.Markdown(w, r)
	case "html":
		return report.HTML(w, r, report.HTMLOptions{Hide: a.redact.Text, Diff: func(before, after string, limit int) (string, bool, error) {
			return git.Patch(c.Context, s.project.Root, s.project.Objects(), before, after, limit)
		}})
	case "json":
		return report.JSON(w, r)
	case "junit":
		return report.JUnit(w, r)
	}
	o := report.TextOptions{Palette: a.palette(), Width: a.width}
	if c.IsSet("output") {
		o = report.TextOptions{}
	}
	return report.Text(w, r, o)
}

// loadRun reads the run that was named, or the last one.
func (a *app) loadRun(ctx context.Context, s *session, typed string) (report.Run, error) {
	var id string
	err := s.store.View(ctx, func(g *dag.Graph) error {
		run, err := findRun(g, typed)
		id = run.ID
		return err
	})
	if err != nil {
		return report.Run{}, err
	}
	r, err := report.Load(ctx, s.store, a.reportOptions(s, id))
	return redact.Deep(a.redact, r), err // an older version may have stored secrets
}

func (a *app) reportOptions(s *session, run string) report.Options {
	return report.Options{Root: s.project.Root, Runs: s.project.Runs(), Run: run, Life: life, Now: a.now, Zone: time.Local}
}

// findRun returns the run that was typed, or the last one.
func findRun(g *dag.Graph, typed string) (dag.Run, error) {
	if typed != "" {
		run, err := g.ResolveRun(typed)
		if err != nil && exitStatus(err) == exitNotFound {
			return run, hint(err, "see the IDs with: ralph runs list")
		}
		return run, err
	}
	runs, err := g.Runs(1)
	if err != nil {
		return dag.Run{}, err
	}
	if len(runs) == 0 {
		return dag.Run{}, hint(fmt.Errorf("%w: there was no run yet", dag.ErrNotFound), "start one with: ralph run")
	}
	return runs[0], nil
}
