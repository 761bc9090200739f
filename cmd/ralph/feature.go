package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/draw"
	"ralph/internal/term"
)

func (a *app) featureCommand() command {
	return command{
		name: "feature", short: "group tasks under a name, with a folder for its documents",
		example: "ralph feature create login\nralph task add \"Form\" --feature login", exits: "1 refused, 3 not found",
		sub: []command{
			{
				name: "create", args: "NAME", short: "make a draft: a row and a folder",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph feature create login", exits: "1 refused (the name is taken, or could be a path or an ID)",
				run: a.runFeatureCreate,
			},
			{
				name: "list", short: "list features with their progress",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph feature list",
				run:     a.runFeatureList,
			},
			{
				name: "show", args: "NAME", short: "show a feature with its tasks",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph feature show login", exits: "3 not found",
				run: a.runFeatureShow,
			},
			a.featureGateCommand(),
			{
				name: "delete", args: "NAME", short: "delete a feature with its tasks and its folder",
				flags:   []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}},
				example: "ralph feature delete login --yes", exits: "1 refused, 3 not found",
				run: a.runFeatureDelete,
			},
		},
	}
}

func (a *app) runFeatureCreate(c *cli.Context) error {
	name, err := one(c, "NAME")
	if err != nil {
		return err
	}
	var made featureJSON
	err = a.update(c, func(s *session, g *dag.Graph) error {
		f, err := g.AddFeature(name)
		if err != nil {
			return fmt.Errorf("create feature: %w", err)
		}
		made = featureAsJSON(s, f)
		return os.MkdirAll(s.project.Feature(f.Name), 0o700)
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(made)
	}
	if _, err := fmt.Fprintln(a.stdout, made.ID); err != nil {
		return err
	}
	a.note(c, "feature %s created; add tasks with: ralph task add \"TITLE\" --feature %s", made.Name, made.Name)
	return nil
}

func (a *app) runFeatureList(c *cli.Context) error {
	if err := none(c); err != nil {
		return err
	}
	return a.view(c, func(s *session, g *dag.Graph) error {
		features, err := g.Features()
		if err != nil {
			return err
		}
		if c.Bool("json") {
			list := []featureJSON{}
			for _, f := range features {
				list = append(list, featureAsJSON(s, f))
			}
			return a.printJSON(list)
		}
		if len(features) == 0 {
			a.note(c, "no features yet; make one with: ralph feature create NAME")
			return nil
		}
		p := a.palette(c)
		t := &term.Table{Width: a.width}
		for _, f := range features {
			t.Add(term.Cell{Text: f.Name, Paint: p.Cyan}, term.Cell{Text: string(f.Status), Paint: featurePaint(p, f.Status)}, term.Cell{Text: progress(f)})
		}
		_, err = t.WriteTo(a.stdout)
		return err
	})
}

func (a *app) runFeatureShow(c *cli.Context) error {
	name, err := one(c, "NAME")
	if err != nil {
		return err
	}
	return a.view(c, func(s *session, g *dag.Graph) error {
		f, err := g.Feature(name)
		if err != nil {
			return hint(err, "see the names with: ralph feature list")
		}
		if c.Bool("json") {
			return a.printJSON(featureAsJSON(s, f))
		}
		p := a.palette(c)
		fmt.Fprintf(a.stdout, "%s  %s  %s\n", p.Bold(f.Name), featurePaint(p, f.Status)(string(f.Status)), p.Dim(f.ID))
		fmt.Fprintf(a.stdout, "  %s\n", progress(f))
		fmt.Fprintf(a.stdout, "  %s\n", p.Dim(s.project.Feature(f.Name)))
		tasks, err := g.List(dag.Filter{Feature: f.Name})
		if err != nil || len(tasks) == 0 {
			return err
		}
		fmt.Fprintln(a.stdout)
		return draw.Tree(a.stdout, a.nodes(tasks), a.treeStyle(c))
	})
}

func (a *app) runFeatureDelete(c *cli.Context) error {
	name, err := one(c, "NAME")
	if err != nil {
		return err
	}
	s, err := a.open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	var f dag.Feature
	err = s.store.View(c.Context, func(g *dag.Graph) (err error) { f, err = g.Feature(name); return err })
	if err != nil {
		return hint(err, "see the names with: ralph feature list")
	}
	if !c.Bool("yes") {
		if err := a.confirm("delete feature %s with %s and its folder?", f.Name, plural(f.Total(), "task")); err != nil {
			return err
		}
	}
	err = s.store.Update(c.Context, func(g *dag.Graph) error { return g.DeleteFeature(f.Name) })
	if err != nil {
		return fmt.Errorf("delete feature %s: %w", f.Name, err)
	}
	// The row goes first: a folder without a feature is only litter.
	if err := os.RemoveAll(s.project.Feature(f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a.note(c, "feature %s deleted, with %s", f.Name, plural(f.Total(), "task"))
	return nil
}

// confirm asks on a terminal; elsewhere nobody can answer.
func (a *app) confirm(format string, args ...any) error {
	question := term.Line(fmt.Sprintf(format, args...))
	if !a.asks {
		return hint(fmt.Errorf("%w: %s nobody can be asked here", dag.ErrRefused, question), "say so with --yes")
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(a.stdin, &answer)
	if answer := strings.ToLower(answer); answer != "y" && answer != "yes" {
		return fmt.Errorf("%w: nothing was changed", dag.ErrRefused)
	}
	return nil
}

func featurePaint(p term.Palette, s dag.FeatureStatus) func(string) string {
	switch s {
	case dag.FeatureDone:
		return p.Green
	case dag.FeatureFailed:
		return p.Red
	case dag.FeatureRunning, dag.FeatureReady:
		return p.Cyan
	default:
		return p.Dim
	}
}

// progress draws how much is done, and says it in words.
func progress(f dag.Feature) string {
	total, done := f.Total(), f.Tasks[dag.Done]
	if total == 0 {
		return "no tasks"
	}
	const width = 20
	filled := done * width / total
	text := fmt.Sprintf("%s%s %d of %d done", strings.Repeat("█", filled), strings.Repeat("░", width-filled), done, total)
	for _, s := range []dag.Status{dag.InProgress, dag.Failed, dag.Blocked} {
		if n := f.Tasks[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ReplaceAll(string(s), "in_progress", "running"))
		}
	}
	return text
}
