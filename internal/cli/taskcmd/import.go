package taskcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/plansync"
	"ralph/internal/refresh"
	"ralph/internal/render/draw"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

var taskImportCommand = cli.Command{
	Name: "import", Args: "FILE|-", Short: "add many tasks at once, all or none",
	Long: `FILE has one JSON object a line (jsonl), or the same objects as a YAML list:
  {"ref":"a","title":"Design"}
  {"ref":"b","title":"Build","after":["a"],"parent":null,"priority":0,"feature":"login",
   "description":"...","kind":"work","agent":null,"model":null,"effort":null,"gates":[],
   "max_retries":null}
(each object on one line). ref is any name to refer to within the file; parent and after take
refs or the IDs of tasks that exist. The order of the file is the order of creation.

Or it is a plan of another kind: a Markdown checklist, the tasks.md of spec-kit, the prd.json of
other loops, the tasks.json of Task Master, the issues.jsonl of beads, or the output of
"gh issue list --json number,title,body,state". Parts of such a plan that ralph has no place for
are listed on stderr; docs/import.md has the rules.

--update imports such a file again: tasks are found by what they are called there, a number, an ID or the headings
above them. What changed in the file since the last import changes here, except where you changed the same.`,
	Flags: []cli.Flag{
		{Name: "feature", Usage: "make the tasks part of `FEATURE`, which is made if it does not exist"},
		{Name: "parent", Usage: "make the tasks subtasks of `ID`"},
		cli.Bool("update", "change tasks that were imported before instead of adding them again"),
		{Name: "format", Usage: "`FORMAT`: " + human.Series(taskfile.Formats(), "or"), Shown: "auto, from the text"},
		cli.Bool("dry-run", "check everything, show the tree, keep nothing"),
		cli.JSONFlag,
	},
	Example: "ralph task import plan.jsonl --dry-run\nralph task import - < plan.yaml\n" +
		"gh issue list --state all --limit 500 --json number,title,body,state,url | ralph task import - --feature tracker --update",
	Exits: "1 refused (the error names the line), 3 not found", Run: cli.Action(runTaskImport),
}

type taskImportOptions struct {
	cli.PlainOptions
	refresh.Place // its parent as it was typed
	Format        taskfile.Format
}

func (o *taskImportOptions) Parse(cli.CommandLine) (err error) {
	if o.Feature != "" {
		if err := dag.CheckFeatureName(o.Feature); err != nil {
			return cli.Usagef("--feature: %v", err)
		}
	}
	o.Format, err = parseFormat(o.Format)
	return err
}

// errDryRun rolls a transaction back that otherwise went well.
var errDryRun = errors.New("dry run")

func runTaskImport(ctx context.Context, a *cli.App, o taskImportOptions) error {
	file := o.Args[0]
	data, err := a.ReadInput(file)
	if err != nil {
		return err
	}
	plan, err := readPlan(file, data, o.Format)
	if err == nil {
		err = cli.RefuseWeakerPlan(a, plan.Specs)
	}
	if err != nil {
		return err
	}
	var done refresh.Imported
	var tree []draw.Node
	var in *cli.Session
	var tasks []dag.Task
	err = a.Update(ctx, func(s *cli.Session, g *dag.Graph) (err error) {
		at := o.Place
		if at.Parent != "" {
			p, err := g.Tasks.Resolve(at.Parent)
			if err != nil {
				return fmt.Errorf("parent: %w", err)
			}
			at.Parent = p.ID
		}
		if f, ferr := g.Plan.Feature(at.Feature); at.Feature != "" && ferr == nil {
			at.Feature = f.Name
		}
		at.File, at.Exists = importedFrom(a, s, file)
		done, err = refresh.Import(g, cli.OfAgent(a, plan.Specs), at)
		for i := 0; i < len(done.IDs) && err == nil; i++ {
			if plan.Specs[i].ExpectRed != "" {
				t, terr := g.Tasks.Get(done.IDs[i])
				err = errors.Join(terr, checkExpected(s, g, t))
			}
		}
		if err == nil {
			err = discover(a, g, done.Added...)
		}
		if err != nil {
			return fmt.Errorf("import %s: %w", file, err)
		}
		if !o.DryRun {
			in = s
			tasks, err = wiring.Observed(s, g, done.Added)
			return err
		}
		if tree, err = plannedNodes(g, done.IDs, plan.Specs, a.Now()); err != nil {
			return err
		}
		return errDryRun
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return err
	}
	if in != nil {
		wiring.ObserveCommand(ctx, a, in, "import", tasks...)
	}
	switch n := plan.Copies(done.IDs); {
	case o.Update:
	case done.Known > 0:
		a.Note("warning: an earlier import has %s of this file, so there are two of each now; to change the first ones instead, import with --update", human.Count(done.Known, "task"))
	case n > 0:
		a.Note("warning: the IDs of %s are in use here: they get new ones; if this plan was imported before, it is there twice now", human.Count(n, "task"))
	}
	if len(done.Unknown) > 0 {
		a.Note("warning: this database does not know what an earlier import said of %s, so they stay as they are; the next import changes what changes from now on", human.Count(len(done.Unknown), "task"))
	}
	if len(done.Postponed) > 0 {
		a.Note("warning: an agent works on %s, so nothing changed there; import the file again when it is done", human.List(done.Postponed, 5))
	}
	if o.JSON {
		return a.PrintJSON(ImportedJSON(o.DryRun, plan, done))
	}
	if o.DryRun {
		err = show.DrawLinked(a, tree)
	} else {
		_, err = fmt.Fprintln(a.Stdout, strings.Join(done.IDs, "\n"))
	}
	if err != nil {
		return err
	}
	if more := len(plan.Specs) - len(tree); o.DryRun && more > 0 {
		a.Note("and %d more", more)
	}
	for _, u := range plan.Unmapped {
		a.Note("not imported: %s", u)
	}
	added, changed := len(done.Added), len(done.Changed)
	same := len(done.IDs) - added - changed
	switch {
	case o.Update && o.DryRun:
		a.Note("read as %s: %s would be added, %d changed, %d left as they are; nothing was changed", plan.Format, human.Count(added, "task"), changed, same)
	case o.Update:
		a.Note("%s added, %d changed, %d left as they are", human.Count(added, "task"), changed, same)
	case o.DryRun:
		a.Note("%s would be imported as %s; nothing was changed", human.Count(len(plan.Specs), "task"), plan.Format)
	default:
		a.Note("%s imported", human.Count(added, "task"))
	}
	return nil
}

// importedFrom names a file as the database does, below the project if it is there, and says which such files there are.
func importedFrom(a *cli.App, s *cli.Session, file string) (name string, exists func(string) bool) {
	exists = func(name string) bool {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Project.Root, filepath.FromSlash(name))
		}
		_, err := os.Lstat(name)
		return err == nil
	}
	wd, err := a.Getwd()
	if file == "-" || err != nil && !filepath.IsAbs(file) {
		return "", exists
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(wd, file)
	}
	if rel, err := filepath.Rel(s.Project.Root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	return filepath.ToSlash(file), exists
}

// ImportedJSON is what an import did.
func ImportedJSON(dry bool, plan taskfile.Plan, done refresh.Imported) jsonval.Object {
	return jsonval.Object{
		"dry_run", dry, "format", plan.Format, "tasks", done.IDs, "added", done.Added, "changed", done.Changed, "postponed", done.Postponed, "unmapped", plan.Unmapped,
	}
}

func parseFormat(typed taskfile.Format) (taskfile.Format, error) {
	if typed == "" || typed == "auto" {
		return taskfile.Auto, nil
	}
	err := cli.CheckChoice("format", typed, append([]taskfile.Format{"auto"}, taskfile.Formats()...)...)
	return typed, cli.Suggest(err, "did you mean: --format %s", typed, taskfile.Formats(), map[taskfile.Format]taskfile.Format{
		"md": taskfile.Markdown, "spec-kit": taskfile.SpecKit, "task-master": taskfile.TaskMaster, "gh": taskfile.GitHub, "bd": taskfile.Beads, "yml": taskfile.YAML, "json": taskfile.JSONL,
	})
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
		return plan, cli.Hint(cli.Usagef("import %s: cannot tell its format: %v", name, err), "say which with: --format %s", ambiguous.Formats[0])
	}
	err = fmt.Errorf("import %s: %w", name, err)
	switch {
	case empty && plan.Format == taskfile.Markdown:
		return plan, cli.Hint(err, "a task is a list item with a box: - [ ] Title")
	case len(data) == 0 || plan.Format == "" || !empty && !errors.As(err, new(dag.PlanError)):
	case format == taskfile.Auto:
		return plan, cli.Hint(err, "it was read as %s; if it is something else, say so with --format", plan.Format)
	default:
		if other, unclear := taskfile.Detect(data); unclear == nil && other != plan.Format {
			return plan, cli.Hint(err, "it looks like %s; try --format %s", other, other)
		}
	}
	return plan, err
}

// maxDrawn is how many tasks a dry run draws.
const maxDrawn = 2000

// plannedNodes draws tasks by their names in the file: their IDs are of no use,
// because they end with the transaction.
func plannedNodes(g *dag.Graph, ids []string, specs []dag.Spec, now time.Time) ([]draw.Node, error) {
	nodes, err := draw.Linked(g, now, func(add func(dag.Task) error) error {
		for _, id := range ids[:min(len(ids), maxDrawn)] {
			t, err := g.Tasks.Get(id)
			if err == nil {
				err = add(t)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for i := range nodes {
		nodes[i].Name = cmp.Or(term.Cut(term.Line(specs[i].Ref), 60), fmt.Sprintf("line %d", specs[i].Line))
	}
	return nodes, err
}

var taskExportCommand = cli.Command{
	Name: "export", Short: "write the plan as JSON lines, or as a checklist; the same plan gives the same bytes",
	Flags: []cli.Flag{
		{Name: "format", Usage: "`FORMAT`: jsonl or markdown", Value: string(taskfile.JSONL)},
		{Name: "feature", Usage: "only tasks of `FEATURE`"},
		cli.Bool("with-status", "also whether tasks are done, failed or blocked; a checklist always says it"),
		cli.Bool("save", "write the tasks.jsonl of FEATURE, or without one of every feature and of tasks of none, with statuses, instead of stdout"),
	},
	Example: "ralph task export > plan.jsonl\nralph task export --save\nralph task export --format markdown > plan.md", Exits: "3 no such feature",
	Stray: "write it to a file with: ralph task export > ARG",
	Run:   cli.InProject(runTaskExport),
}

type taskExportOptions struct {
	Feature          string
	Format           taskfile.Format
	WithStatus, Save bool
}

func (o *taskExportOptions) Parse(cli.CommandLine) error {
	if o.Save && o.Format != taskfile.JSONL {
		return cli.Usagef("--save writes %s, which is JSON lines; leave --format out", features.TasksFile)
	}
	return cli.CheckChoice("format", o.Format, taskfile.JSONL, taskfile.Markdown)
}

func runTaskExport(ctx context.Context, a *cli.App, s *cli.Session, o taskExportOptions) error {
	var name string
	outside := map[string][]string{}
	err := s.Store.View(ctx, func(g *dag.Graph) (err error) {
		if name, err = cli.FeatureByName(g, o.Feature); err != nil || o.Save {
			return err
		}
		out := bufio.NewWriter(a.Exact)
		if o.Format == taskfile.Markdown {
			items, _, err := plansync.Items(g, dag.Filter{Feature: name})
			if err == nil {
				err = taskfile.WriteMarkdown(out, items)
			}
			return cmp.Or(err, out.Flush())
		}
		encode := taskfile.Encoder(out, o.WithStatus)
		err = plansync.EachItem(g, dag.Filter{Feature: name}, func(item taskfile.Item, others []string) error {
			if len(others) > 0 {
				outside[item.ID] = others
			}
			return encode(item)
		})
		return cmp.Or(err, out.Flush())
	})
	if err != nil {
		return err
	}
	if o.Save {
		return savePlan(ctx, a, s, o.Feature, name)
	}
	for _, id := range slices.Sorted(maps.Keys(outside)) {
		for _, blocker := range outside[id] {
			a.Note("warning: %s waits for %s, which is not exported: it must exist where this is imported", id, blocker)
		}
	}
	return nil
}

// savePlan writes the files by which a plan travels in git: of one feature, or all.
func savePlan(ctx context.Context, a *cli.App, s *cli.Session, typed, feature string) error {
	if err := s.RefuseUnsynced(); err != nil {
		return err
	}
	names := []string{feature}
	if typed == "" {
		err := s.Store.View(ctx, func(g *dag.Graph) error {
			list, err := g.Plan.Features()
			for _, f := range list {
				if f.Total() > 0 {
					names = append(names, f.Name)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	var saved []string
	for _, name := range names {
		outside, err := s.Plans.Save(ctx, name)
		if err != nil {
			return fmt.Errorf("export %s: %w", cmp.Or(name, "tasks of no feature"), err)
		}
		for _, id := range slices.Sorted(maps.Keys(outside)) {
			for _, blocker := range outside[id] {
				if typed != "" {
					a.Note("warning: %s waits for %s, which is not exported: it must exist where this is imported", id, blocker)
				}
			}
		}
		path := plansync.Path(s.Project, name)
		if _, err := os.Lstat(path); err != nil {
			continue // there is no such task
		}
		saved = append(saved, path)
		if _, err := fmt.Fprintln(a.Stdout, path); err != nil {
			return cli.Unwritten(err)
		}
	}
	if ignored := git.Ignored(ctx, s.Project.Root, saved...); len(ignored) > 0 {
		a.Note("warning: git ignores %s, so no clone gets what was written", human.List(seq.Map(ignored, func(path string) string { return human.Path(path, s.Project.Root) }), 3))
		if len(s.Project.Unadmitted()) > 0 {
			a.Note("hint: let git carry it: ralph init")
		} else {
			a.Note("hint: see which rule that is: git check-ignore -v %s", human.Path(ignored[0], s.Project.Root))
		}
	}
	return nil
}
