package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/planning"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render/draw"
	"ralph/internal/template"
	"ralph/internal/term"
)

// Template is the command "ralph template".
var Template = cli.Command{
	Name: "template", Short: "make tasks from templates: plans that repeat",
	Long: `A template is a YAML file that becomes tasks: its steps, in order, with what varies filled in.
Those of the project are in .ralph/templates, the user's in ~/.config/ralph/templates, and some
are built in; of two with the same name the project's counts, then the user's. The tasks are like
any others: ralph run works on them. docs/templates.md has all that a template can say.`,
	Example: "ralph template list\nralph template apply go-feature --feature login --var parts=form,session --dry-run",
	Exits:   "1 refused (the error names file and line), 3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list the templates, and where each comes from", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph template list", Run: withTemplates(runTemplateList),
		},
		{
			Name: "show", Args: "NAME", Short: "print a template as it is written", Flags: []cli.Flag{cli.JSONFlag},
			Long:    "What it prints can be saved in .ralph/templates and changed there.",
			Example: "ralph template show go-feature", Exits: "1 refused (it cannot be read), 3 not found", Run: withTemplates(runTemplateShow),
		},
		{
			Name: "check", Args: "[NAME]", Short: "check a template, or all of them", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph template check\nralph template check release", Exits: "1 something is wrong (the error names file and line), 3 not found",
			Run: withTemplates(runTemplateCheck),
		},
		{
			Name: "new", Args: "NAME", Short: "write a template to start from into .ralph/templates",
			Example: "ralph template new release", Exits: "1 refused (it exists)", Run: withTemplates(runTemplateNew),
		},
		templateApplyCommand,
	},
}

// withTemplates makes a command of a function that needs the project's templates, and not its graph.
func withTemplates(run func(*cli.App, template.Library, cli.PlainOptions) error) cli.Runner {
	return cli.Action(func(_ context.Context, a *cli.App, o cli.PlainOptions) error {
		p, err := a.FindProject()
		if err != nil {
			return err
		}
		return run(a, planning.TemplateLibrary(a, p), o)
	})
}

func runTemplateList(a *cli.App, l template.Library, o cli.PlainOptions) error {
	list, err := l.List()
	if err != nil {
		return err
	}
	p := a.Palette()
	return cli.PrintList(a, list, o.JSON, TemplateJSON, "", nil, func(f template.File) []term.Cell {
		about := term.Cell{Text: f.Template.Description}
		if f.Err != nil {
			about = term.Cell{Text: strings.ReplaceAll(f.Err.Error(), dag.ErrRefused.Error()+": ", ""), Paint: p.Red}
		}
		return []term.Cell{{Text: f.Name, Paint: p.Cyan}, {Text: string(f.Source), Paint: p.Dim}, about}
	})
}

// TemplateJSON is a template in a list.
func TemplateJSON(f template.File) jsonval.Object {
	inputs := []jsonval.Object{}
	for _, in := range f.Template.Inputs {
		inputs = append(inputs, jsonval.Object{
			"name", in.Name, "description", cli.Null(in.Description), "required", in.Required, "list", in.List, "default", cli.Null(in.Default),
		})
	}
	problem := ""
	if f.Err != nil {
		problem = f.Err.Error()
	}
	return jsonval.Object{
		"name", f.Name, "source", f.Source, "path", cli.Null(f.Path), "description", cli.Null(f.Template.Description), "inputs", inputs, "error", cli.Null(problem),
	}
}

func runTemplateShow(a *cli.App, l template.Library, o cli.PlainOptions) error {
	f, err := planning.FindTemplate(l, o.Args[0])
	switch {
	case err != nil && f.Text == nil:
		return err
	case o.JSON:
		return a.PrintJSON(append(TemplateJSON(f), "text", string(f.Text)))
	}
	if _, err := fmt.Fprint(a.Stdout, term.Block(string(f.Text))); err != nil {
		return err
	}
	a.Note("%s, %s", f.Name, strings.TrimSpace(string(f.Source)+" "+f.Path))
	return err
}

func runTemplateCheck(a *cli.App, l template.Library, o cli.PlainOptions) error {
	var list []template.File
	var err error
	if len(o.Args) == 0 {
		list, err = l.List()
	} else {
		var f template.File
		if f, err = planning.FindTemplate(l, o.Args[0]); f.Name != "" {
			list, err = append(list, f), nil // what is wrong with it is in there
		}
	}
	if err != nil {
		return err
	}
	bad := 0
	for _, f := range list {
		if f.Err != nil {
			bad++
		}
	}
	if o.JSON {
		err = cli.PrintList(a, list, true, TemplateJSON, "", nil, nil)
	} else {
		err = printProblems(a, list)
	}
	switch {
	case err != nil:
		return err
	case bad > 0:
		return fmt.Errorf("%w: %s of %s cannot be used", dag.ErrRefused, human.Count(bad, "template"), fmt.Sprint(len(list)))
	}
	a.Note("%s, nothing wrong", human.Count(len(list), "template"))
	return nil
}

// printProblems prints each fault of each template on a line, as compilers do.
func printProblems(a *cli.App, list []template.File) error {
	for _, f := range list {
		if f.Err == nil {
			continue
		}
		var faults dag.PlanError
		if !errors.As(f.Err, &faults) {
			if _, err := fmt.Fprintln(a.Stdout, term.Line(strings.ReplaceAll(f.Err.Error(), dag.ErrRefused.Error()+": ", ""))); err != nil {
				return err
			}
		}
		for _, fault := range faults {
			if _, err := fmt.Fprintln(a.Stdout, term.Line(fmt.Sprintf("%s:%d: %v", cmp.Or(f.Path, f.Name), fault.Line, fault.Err))); err != nil {
				return err
			}
		}
	}
	return nil
}

func runTemplateNew(a *cli.App, l template.Library, o cli.PlainOptions) error {
	path, err := l.Create(o.Args[0])
	var wrong *template.NameError
	switch {
	case errors.As(err, &wrong):
		return cli.Usagef("%v", err)
	case err != nil:
		return err
	}
	a.Note("change it, and look what it makes with: ralph template apply %s --var title=... --dry-run", o.Args[0])
	return cli.Written(fmt.Fprintln(a.Stdout, path))
}

var templateApplyCommand = cli.Command{
	Name: "apply", Args: "NAME", Short: "add the tasks of a template, all or none",
	Long: `Steps become tasks that wait for each other in their order, and a step with foreach a group with a
task for each item. A task that an earlier application made is left alone, so that applying twice
makes nothing twice, and one more item makes one more task. The feature is made if there is none.`,
	Flags: []cli.Flag{
		{Name: "feature", Usage: "the tasks belong to `FEATURE`, which also fills the input feature in"},
		planning.VarFlag(),
		{Name: "text", Usage: "`NAME=VALUE` like --var, for text that others wrote: refused where it would be more of a command than one quoted word", Value: []string{}},
		cli.Bool("dry-run", "check everything, show the tree, keep nothing"),
		cli.JSONFlag,
	},
	Example: "ralph template apply go-feature --feature login --var parts=form,session --dry-run\n" +
		"ralph template apply bug-fix --var bug=\"The total is wrong\" --var test=\"go test ./...\"",
	Exits: "1 refused (the error names file and line), 3 not found", Run: cli.Action(runTemplateApply),
}

type templateApplyOptions struct {
	cli.PlainOptions
	Feature string
	Var     []string
	Text    []string

	vars, texts []template.Var
}

func (o *templateApplyOptions) Parse(cli.CommandLine) (err error) {
	if o.vars, err = planning.TemplateVars("var", o.Var); err != nil {
		return err
	}
	if o.texts, err = planning.TemplateVars("text", o.Text); err != nil {
		return err
	}
	for _, v := range o.vars {
		if v.Name == "feature" && o.Feature != "" && v.Value != o.Feature {
			return cli.Usagef("--feature is %s and --var feature is %s; leave one of them out", o.Feature, v.Value)
		}
		if v.Name == "feature" {
			o.Feature = v.Value
		}
	}
	return nil
}

func runTemplateApply(ctx context.Context, a *cli.App, o templateApplyOptions) error {
	p, err := a.FindProject()
	if err != nil {
		return err
	}
	name := o.Args[0]
	specs, err := planning.TemplateTasks(a, p, name, o.Feature, o.vars, o.texts...)
	if err != nil {
		return err
	}
	var made template.Applied
	var tree []draw.Node
	var in *cli.Session
	var tasks []dag.Task
	err = a.Update(ctx, func(s *cli.Session, g *dag.Graph) error {
		if made, err = template.Apply(g, specs); err != nil {
			return fmt.Errorf("template %s: %w", name, err)
		}
		if !o.DryRun {
			in = s
			tasks, err = wiring.Observed(s, g, made.IDs)
			return cmp.Or(err, g.History.Audit("", "", fmt.Sprintf("%s, %s", name, human.Count(len(made.IDs), "task"))))
		}
		if tree, err = plannedNodes(g, made.IDs, made.Specs, a.Now()); err != nil {
			return err
		}
		return errDryRun
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return err
	}
	if in != nil && len(tasks) > 0 {
		wiring.ObserveCommand(ctx, a, in, "import", tasks...)
	}
	return printApplied(a, o, made, tree)
}

// maxFound is how many tasks of an earlier application are named.
const maxFound = 10

func printApplied(a *cli.App, o templateApplyOptions, made template.Applied, tree []draw.Node) (err error) {
	if o.JSON {
		return a.PrintJSON(AppliedJSON(o.Args[0], o.Feature, o.DryRun, made))
	}
	if o.DryRun {
		err = show.DrawLinked(a, tree)
	} else if len(made.IDs) > 0 {
		_, err = fmt.Fprintln(a.Stdout, strings.Join(made.IDs, "\n"))
	}
	for _, f := range made.Found[:min(len(made.Found), maxFound)] {
		a.Note("%s is there already, as %s", f.Ref, f.ID)
	}
	if more := len(made.Found) - maxFound; more > 0 {
		a.Note("and %d more are there already", more)
	}
	if n := human.Count(len(made.IDs), "task"); o.DryRun {
		a.Note("%s would be added; nothing was changed", n)
	} else {
		a.Note("%s added", n)
	}
	return err
}

// AppliedJSON is what a template became.
func AppliedJSON(name, feature string, dry bool, made template.Applied) jsonval.Object {
	tasks, found := []jsonval.Object{}, []jsonval.Object{}
	for i, s := range made.Specs {
		tasks = append(tasks, jsonval.Object{"id", made.IDs[i], "step", s.Ref, "title", s.Title})
	}
	for _, f := range made.Found {
		found = append(found, jsonval.Object{"id", f.ID, "step", f.Ref})
	}
	return jsonval.Object{"template", name, "feature", cli.Null(feature), "dry_run", dry, "tasks", tasks, "existing", found}
}
