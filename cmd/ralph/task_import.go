package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render/draw"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

func (a *app) taskImport() command {
	return command{
		name: "import", args: "FILE|-", short: "add many tasks at once, all or none",
		long: `FILE has one JSON object a line (jsonl), or the same objects as a YAML list:
  {"ref":"a","title":"Design"}
  {"ref":"b","title":"Build","after":["a"],"parent":null,"priority":0,"feature":"login",
   "description":"...","kind":"work","agent":null,"model":null,"gates":[],"max_retries":null}
(each object on one line). ref is any name to refer to within the file; parent and after take
refs or the IDs of tasks that exist. The order of the file is the order of creation.

Or it is a plan of another kind: a Markdown checklist, the prd.json of other loops, the
issues.jsonl of beads, or what "gh issue list --json number,title,body,state" prints. What
such a plan says and ralph has no place for is listed on stderr; docs/import.md has the rules.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`F`: " + formatNames() + "; told by the text if left out, or auto"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "check everything, show the tree, keep nothing"},
			jsonFlag(),
		},
		example: "ralph task import plan.jsonl --dry-run\nralph task import - < plan.yaml\n" +
			"gh issue list --state all --limit 500 --json number,title,body,state | ralph task import -",
		exits: "1 refused (the error names the line), 3 not found",
		run:   a.runTaskImport,
	}
}

func formatNames() string {
	var names []string
	for _, f := range taskfile.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

type importedJSON struct {
	DryRun   bool           `json:"dry_run"`
	Format   string         `json:"format"`
	Tasks    []string       `json:"tasks"`
	Unmapped []unmappedJSON `json:"unmapped"`
}

type unmappedJSON struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	Lines []int  `json:"lines"`
}

// errDryRun rolls a transaction back that otherwise went well.
var errDryRun = errors.New("dry run")

func (a *app) runTaskImport(c *cli.Context) error {
	name, err := oneArg(c, "FILE")
	if err != nil {
		return err
	}
	format, err := parseFormat(c.String("format"))
	if err != nil {
		return err
	}
	data, err := a.readInput(name)
	if err != nil {
		return err
	}
	plan, err := readPlan(name, data, format)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	var imported []string
	var tree []draw.Node
	err = a.update(c.Context, func(_ *session, g *dag.Graph) (err error) {
		if imported, err = g.Import(ofAgent(a, plan.Specs)); err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		if !dry {
			return nil
		}
		if tree, err = a.plannedNodes(g, imported, plan.Specs); err != nil {
			return err
		}
		return errDryRun
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return err
	}
	a.warnCopies(plan, imported)
	if c.Bool("json") {
		return a.printJSON(asImported(plan, imported, dry))
	}
	if dry {
		return a.printDryRun(plan, tree)
	}
	for _, id := range imported {
		if _, err := fmt.Fprintln(a.stdout, id); err != nil {
			return err
		}
	}
	a.noteUnmapped(plan)
	a.note("%s imported", human.Count(len(imported), "task"))
	return nil
}

// warnCopies tells of tasks that had IDs and were given others, because the graph has
// those already: most likely the same plan is imported twice, and would be paid for twice.
func (a *app) warnCopies(plan taskfile.Plan, imported []string) {
	copies := 0
	for i, s := range plan.Specs {
		if dag.IsTaskID(s.Ref) && s.Ref != imported[i] {
			copies++
		}
	}
	if copies > 0 {
		a.note("warning: the IDs of %s are taken here: they get new ones; a plan that was imported before is there twice now", human.Count(copies, "task"))
	}
}

func parseFormat(typed string) (taskfile.Format, error) {
	format := taskfile.Format(typed)
	if typed == "" || typed == "auto" {
		return taskfile.Auto, nil
	}
	if slices.Contains(taskfile.Formats(), format) {
		return format, nil
	}
	err := usagef("--format is auto, %s, not %q", formatNames(), typed)
	near, short := map[string]string{"md": "markdown", "gh": "github", "bd": "beads", "yml": "yaml", "json": "jsonl"}[typed]
	if !short {
		near = nearest(strings.ToLower(typed), strings.Split(strings.ReplaceAll(formatNames(), " or ", ", "), ", "))
	}
	if near != "" {
		return "", hint(err, "did you mean: --format %s", near)
	}
	return "", err
}

// readPlan reads a plan, and says what it was taken for if it is no good.
func readPlan(name string, data []byte, format taskfile.Format) (taskfile.Plan, error) {
	plan, err := taskfile.Read(data, format)
	empty := err == nil && len(plan.Specs) == 0
	if empty {
		err = fmt.Errorf("%w: there is no task in it", dag.ErrRefused)
	}
	if err == nil {
		return plan, nil
	}
	var ambiguous *taskfile.AmbiguousError
	if errors.As(err, &ambiguous) {
		return plan, hint(usagef("import %s: cannot tell its format: %v", name, err), "say which with: --format %s", ambiguous.Formats[0])
	}
	err = fmt.Errorf("import %s: %w", name, err)
	switch {
	case empty && plan.Format == taskfile.Markdown:
		return plan, hint(err, "a task is a list item with a box: - [ ] Title")
	case len(data) == 0 || plan.Format == "" || !empty && !errors.As(err, new(dag.PlanError)):
	case format == taskfile.Auto:
		return plan, hint(err, "it was read as %s; if it is something else, say so with --format", plan.Format)
	default:
		if other, unclear := taskfile.Detect(data); unclear == nil && other != plan.Format {
			return plan, hint(err, "it looks like %s; try --format %s", other, other)
		}
	}
	return plan, err
}

func asImported(plan taskfile.Plan, ids []string, dry bool) importedJSON {
	j := importedJSON{DryRun: dry, Format: string(plan.Format), Tasks: ids, Unmapped: []unmappedJSON{}}
	for _, u := range plan.Unmapped {
		j.Unmapped = append(j.Unmapped, unmappedJSON(u))
	}
	return j
}

// noteUnmapped lists what of a plan is not in the graph.
func (a *app) noteUnmapped(plan taskfile.Plan) {
	for _, u := range plan.Unmapped {
		lines := make([]string, len(u.Lines))
		for i, l := range u.Lines {
			lines[i] = fmt.Sprint(l)
		}
		where := "line " + strings.Join(lines, ", ")
		if u.Count > len(u.Lines) {
			where += fmt.Sprintf(", ...: %d in all", u.Count)
		}
		a.note("not imported: %s (%s)", u.What, where)
	}
}

// maxDrawn is how many tasks a dry run draws.
const maxDrawn = 2000

// plannedNodes draws tasks by their names in the file: their IDs are of no use,
// because they end with the transaction.
func (a *app) plannedNodes(g *dag.Graph, ids []string, specs []dag.Spec) ([]draw.Node, error) {
	tasks := make([]dag.Task, 0, min(len(ids), maxDrawn))
	for _, id := range ids[:min(len(ids), maxDrawn)] {
		t, err := g.Task(id)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	nodes, err := a.linkedNodes(g, tasks)
	for i := range nodes {
		nodes[i].Name = term.Cut(term.Line(specs[i].Ref), 60)
		if nodes[i].Name == "" {
			nodes[i].Name = fmt.Sprintf("line %d", specs[i].Line)
		}
	}
	return nodes, err
}

func (a *app) printDryRun(plan taskfile.Plan, nodes []draw.Node) error {
	style := a.treeStyle()
	style.After = true
	if err := draw.Tree(a.stdout, nodes, style); err != nil {
		return err
	}
	if more := len(plan.Specs) - len(nodes); more > 0 {
		a.note("and %d more", more)
	}
	a.noteUnmapped(plan)
	a.note("%s would be imported as %s; nothing was changed", human.Count(len(plan.Specs), "task"), plan.Format)
	return nil
}
