package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/draw"
	"ralph/internal/human"
	"ralph/internal/term"
)

func (a *app) featureCommand() command {
	return command{
		name: "feature", short: "plan a feature with an agent, from an idea to tasks; or group tasks under a name",
		example: "ralph feature create login --from idea.md\nralph task add \"Form\" --feature login", exits: "1 refused, 3 not found, 5 no usable agent",
		sub: []command{
			a.featureCreate(), a.featureSpec(), a.featurePlan(), a.featureBuild(), a.featureApprove(),
			{
				name: "list", bare: true, short: "list features with their progress",
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
				flags:   []cli.Flag{yesFlag("do not ask")},
				example: "ralph feature delete login --yes", exits: "1 refused, 3 not found",
				run: a.runFeatureDelete,
			},
		},
	}
}

func (a *app) runFeatureList(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	return a.view(c.Context, func(s *session, g *dag.Graph) error {
		known, err := g.Features()
		if err != nil {
			return err
		}
		if c.Bool("json") {
			list := []featureJSON{}
			for _, f := range known {
				list = append(list, featureAsJSON(s, f))
			}
			return a.printJSON(list)
		}
		a.noteUnknown(c, s, known)
		if len(known) == 0 {
			a.note("no features yet; make one with: ralph feature create NAME")
			return nil
		}
		p := a.palette()
		t := &term.Table{Width: a.width}
		for _, f := range known {
			t.Add(term.Cell{Text: f.Name, Paint: p.Cyan}, term.Cell{Text: string(f.Status), Paint: featurePaint(p, f.Status)}, term.Cell{Text: progress(f)})
		}
		_, err = t.WriteTo(a.stdout)
		return err
	})
}

func (a *app) runFeatureShow(c *cli.Context) error {
	name, err := oneArg(c, "NAME")
	if err != nil {
		return err
	}
	return a.view(c.Context, func(s *session, g *dag.Graph) error {
		f, err := g.Feature(name)
		if err != nil {
			return a.featureHint(c, s, g, name, err)
		}
		used, err := g.UsageOfFeature(f.Name, "")
		if err != nil {
			return err
		}
		tasks, err := g.List(dag.Filter{Feature: f.Name})
		if err != nil {
			return err
		}
		d := a.planner(c, s, f.Name)
		if c.Bool("json") {
			return a.printJSON(featureShownJSON{featureAsJSON(s, f), spentOf(used), d.Documents(), d.Waits()})
		}
		return a.printFeature(f, d, spentOf(used), tasks)
	})
}

type featureShownJSON struct {
	featureJSON
	spentJSON
	Documents []string `json:"documents"`
	Proposed  bool     `json:"proposed"`
}

func (a *app) printFeature(f dag.Feature, d *features.Planner, cost spentJSON, tasks []dag.Task) error {
	p := a.palette()
	fmt.Fprintf(a.stdout, "%s  %s  %s\n", p.Bold(f.Name), featurePaint(p, f.Status)(string(f.Status)), p.Dim(f.ID))
	fmt.Fprintf(a.stdout, "  %s\n", progress(f))
	if line := byState(a.nodes(tasks)); line != "" {
		fmt.Fprintf(a.stdout, "  %s\n", line)
	}
	if words := cost.String(); words != "" {
		fmt.Fprintf(a.stdout, "  cost %s\n", words)
	}
	documents := "no documents"
	if list := d.Documents(); len(list) > 0 {
		documents = strings.Join(list, ", ")
	}
	fmt.Fprintf(a.stdout, "  %s\n", p.Dim(documents+" in "+d.Folder))
	if d.Waits() {
		fmt.Fprintf(a.stdout, "  %s\n", p.Yellow("tasks are proposed and wait for: ralph feature approve "+f.Name))
	}
	if len(tasks) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return draw.Tree(a.stdout, a.nodes(tasks), a.treeStyle())
}

// byState counts tasks by the words that the tree uses for them; groups are left out.
func byState(nodes []draw.Node) string {
	groups, count := map[string]bool{}, map[string]int{}
	for _, n := range nodes {
		groups[n.Parent] = true
	}
	for _, n := range nodes {
		if !groups[n.ID] {
			count[n.State]++
		}
	}
	var parts []string
	for _, state := range []string{"done", "running", "unverified", "ready", "waiting", "blocked", "failed"} {
		if count[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
		}
		delete(count, state)
	}
	for _, state := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
	}
	return strings.Join(parts, ", ")
}

// featureHint says where a feature may be that the database does not know.
func (a *app) featureHint(c *cli.Context, s *session, g *dag.Graph, name string, err error) error {
	if !errors.Is(err, dag.ErrNotFound) || dag.CheckFeatureName(name) != nil {
		return hint(err, "see the names with: ralph feature list")
	}
	switch d := a.planner(c, s, name); {
	case d.Travels():
		return hint(err, "its tasks are in %s; take them in with: ralph run --feature %s", d.Path(features.TasksFile), name)
	case d.Documented():
		return hint(err, "its documents are in %s; go on with: ralph feature create %s", d.Folder, name)
	}
	return suggestFeature(g, name, hint(err, "see the names with: ralph feature list"))
}

// suggestIn is suggestFeature for whoever has no snapshot of the graph at hand.
func (a *app) suggestIn(ctx context.Context, s *session, typed string, err error) error {
	_ = s.store.View(ctx, func(g *dag.Graph) error { err = suggestFeature(g, typed, err); return nil })
	return err
}

// noteUnknown names features that have a folder and no row, as they do after a clone.
func (a *app) noteUnknown(c *cli.Context, s *session, known []dag.Feature) {
	entries, _ := os.ReadDir(filepath.Dir(s.project.Feature("x")))
	for _, e := range entries {
		is := func(f dag.Feature) bool { return strings.EqualFold(f.Name, e.Name()) }
		if e.IsDir() && dag.CheckFeatureName(e.Name()) == nil && !slices.ContainsFunc(known, is) && a.planner(c, s, e.Name()).Documented() {
			a.note("%s has documents and is not in the database yet; take it in with: ralph run --feature %s, or go on with: ralph feature create %s", e.Name(), e.Name(), e.Name())
		}
	}
}

func (a *app) runFeatureDelete(c *cli.Context) error {
	name, err := oneArg(c, "NAME")
	if err != nil {
		return err
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	var f dag.Feature
	err = s.store.View(c.Context, func(g *dag.Graph) (err error) { f, err = g.Feature(name); return err })
	if err != nil {
		return a.suggestIn(c.Context, s, name, hint(err, "see the names with: ralph feature list"))
	}
	if !c.Bool("yes") {
		if err := a.confirm(c.Context, "delete feature %s with %s and its folder?", f.Name, human.Count(f.Total(), "task")); err != nil {
			return err
		}
	}
	// The row goes first: a folder without a feature is only litter.
	err = a.planner(c, s, f.Name).Drop(func() error {
		return s.store.Update(c.Context, func(g *dag.Graph) error { return g.DeleteFeature(f.Name) })
	})
	if err != nil {
		return fmt.Errorf("delete feature %s: %w", f.Name, err)
	}
	if err := os.RemoveAll(s.project.Feature(f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a.note("feature %s deleted, with %s", f.Name, human.Count(f.Total(), "task"))
	return nil
}

// confirm asks on a terminal; elsewhere nobody can answer.
func (a *app) confirm(ctx context.Context, format string, args ...any) error {
	question := term.Line(fmt.Sprintf(format, args...))
	if !a.asks {
		return hint(fmt.Errorf("%w: %s nobody can be asked here", dag.ErrRefused, question), "say so with --yes")
	}
	if yes, _ := a.yes(ctx, question); !yes {
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
