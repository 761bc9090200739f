package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/project"
	"ralph/internal/render/draw"
	"ralph/internal/seq"
	"ralph/internal/template"
	"ralph/internal/term"
)

var templateCommand = command{
	name: "template", short: "make tasks from templates: plans that repeat",
	long: `A template is a YAML file that becomes tasks: its steps, in order, with what varies filled in.
Those of the project are in .ralph/templates, the user's in ~/.config/ralph/templates, and some
are built in; of two with the same name the project's counts, then the user's. The tasks are like
any others: ralph run works on them. docs/templates.md has all that a template can say.`,
	example: "ralph template list\nralph template apply go-feature --feature login --var parts=form,session --dry-run",
	exits:   "1 refused (the error names file and line), 3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list the templates, and where each comes from", flags: []flagSpec{jsonFlag},
			example: "ralph template list", run: withTemplates(runTemplateList),
		},
		{
			name: "show", args: "NAME", short: "print a template as it is written", flags: []flagSpec{jsonFlag},
			long:    "What it prints can be saved in .ralph/templates and changed there.",
			example: "ralph template show go-feature", exits: "1 refused (it cannot be read), 3 not found", run: withTemplates(runTemplateShow),
		},
		{
			name: "check", args: "[NAME]", short: "check a template, or all of them", flags: []flagSpec{jsonFlag},
			example: "ralph template check\nralph template check release", exits: "1 something is wrong (the error names file and line), 3 not found",
			run: withTemplates(runTemplateCheck),
		},
		{
			name: "new", args: "NAME", short: "write a template to start from into .ralph/templates",
			example: "ralph template new release", exits: "1 refused (it exists)", run: withTemplates(runTemplateNew),
		},
		templateApplyCommand,
	},
}

// withTemplates makes a command of a function that needs the project's templates, and not its graph.
func withTemplates(run func(*app, template.Library, plainOptions) error) runner {
	return action(func(_ context.Context, a *app, o plainOptions) error {
		p, err := a.findProject()
		if err != nil {
			return err
		}
		return run(a, templateLibrary(a, p), o)
	})
}

func templateLibrary(a *app, p project.Project) template.Library {
	l := template.Library{Root: p.Root}
	if config := a.userConfig(); config != "" {
		l.User = filepath.Join(filepath.Dir(config), "templates")
	}
	return l
}

func runTemplateList(a *app, l template.Library, o plainOptions) error {
	list, err := l.List()
	if err != nil {
		return err
	}
	p := a.palette()
	return printList(a, list, o.JSON, templateJSON, "", nil, func(f template.File) []term.Cell {
		about := term.Cell{Text: f.Template.Description}
		if f.Err != nil {
			about = term.Cell{Text: strings.ReplaceAll(f.Err.Error(), dag.ErrRefused.Error()+": ", ""), Paint: p.Red}
		}
		return []term.Cell{{Text: f.Name, Paint: p.Cyan}, {Text: string(f.Source), Paint: p.Dim}, about}
	})
}

func templateJSON(f template.File) jsonval.Object {
	inputs := []jsonval.Object{}
	for _, in := range f.Template.Inputs {
		inputs = append(inputs, jsonval.Object{
			"name", in.Name, "description", null(in.Description), "required", in.Required, "list", in.List, "default", null(in.Default),
		})
	}
	problem := ""
	if f.Err != nil {
		problem = f.Err.Error()
	}
	return jsonval.Object{
		"name", f.Name, "source", f.Source, "path", null(f.Path), "description", null(f.Template.Description), "inputs", inputs, "error", null(problem),
	}
}

func runTemplateShow(a *app, l template.Library, o plainOptions) error {
	f, err := findTemplate(l, o.Args[0])
	switch {
	case err != nil && f.Text == nil:
		return err
	case o.JSON:
		return a.printJSON(append(templateJSON(f), "text", string(f.Text)))
	}
	if _, err := fmt.Fprint(a.stdout, term.Block(string(f.Text))); err != nil {
		return err
	}
	a.note("%s, %s", f.Name, strings.TrimSpace(string(f.Source)+" "+f.Path))
	return err
}

// findTemplate is by name; one that is a path is a mistake of who typed it.
func findTemplate(l template.Library, name string) (template.File, error) {
	f, err := l.Find(name)
	var wrong *template.NameError
	if errors.As(err, &wrong) {
		return f, hint(usagef("%v", err), "a template is named without folder and ending; see them with: ralph template list")
	}
	return f, err
}

func runTemplateCheck(a *app, l template.Library, o plainOptions) error {
	var list []template.File
	var err error
	if len(o.Args) == 0 {
		list, err = l.List()
	} else {
		var f template.File
		if f, err = findTemplate(l, o.Args[0]); f.Name != "" {
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
		err = printList(a, list, true, templateJSON, "", nil, nil)
	} else {
		err = printProblems(a, list)
	}
	switch {
	case err != nil:
		return err
	case bad > 0:
		return fmt.Errorf("%w: %s of %s cannot be used", dag.ErrRefused, human.Count(bad, "template"), fmt.Sprint(len(list)))
	}
	a.note("%s, nothing wrong", human.Count(len(list), "template"))
	return nil
}

// printProblems prints each fault of each template on a line, as compilers do.
func printProblems(a *app, list []template.File) error {
	for _, f := range list {
		if f.Err == nil {
			continue
		}
		var faults dag.PlanError
		if !errors.As(f.Err, &faults) {
			if _, err := fmt.Fprintln(a.stdout, term.Line(strings.ReplaceAll(f.Err.Error(), dag.ErrRefused.Error()+": ", ""))); err != nil {
				return err
			}
		}
		for _, fault := range faults {
			if _, err := fmt.Fprintln(a.stdout, term.Line(fmt.Sprintf("%s:%d: %v", cmp.Or(f.Path, f.Name), fault.Line, fault.Err))); err != nil {
				return err
			}
		}
	}
	return nil
}

func runTemplateNew(a *app, l template.Library, o plainOptions) error {
	path, err := l.Create(o.Args[0])
	var wrong *template.NameError
	switch {
	case errors.As(err, &wrong):
		return usagef("%v", err)
	case err != nil:
		return err
	}
	a.note("change it, and look what it makes with: ralph template apply %s --var title=... --dry-run", o.Args[0])
	return written(fmt.Fprintln(a.stdout, path))
}

// varFlag gives values to the inputs of a template.
func varFlag() flagSpec {
	return flagSpec{name: "var", usage: "`NAME=VALUE` of an input; a list is a,b,c (repeatable)", value: []string{}}
}

// templateVars are what --var says, or --text.
func templateVars(flag string, typed []string) (vars []template.Var, err error) {
	for _, v := range typed {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, hint(usagef("--%s %q has no value", flag, v), "write it as --%s NAME=VALUE", flag)
		}
		vars = append(vars, template.Var{Name: name, Value: value})
	}
	return vars, nil
}

var templateApplyCommand = command{
	name: "apply", args: "NAME", short: "add the tasks of a template, all or none",
	long: `Steps become tasks that wait for each other in their order, and a step with foreach a group with a
task for each item. A task that an earlier application made is left alone, so that applying twice
makes nothing twice, and one more item makes one more task. The feature is made if there is none.`,
	flags: []flagSpec{
		{name: "feature", usage: "the tasks belong to `FEATURE`, which also fills the input feature in"},
		varFlag(),
		{name: "text", usage: "`NAME=VALUE` like --var, for text that others wrote: refused where it would be more of a command than one quoted word", value: []string{}},
		boolFlag("dry-run", "check everything, show the tree, keep nothing"),
		jsonFlag,
	},
	example: "ralph template apply go-feature --feature login --var parts=form,session --dry-run\n" +
		"ralph template apply bug-fix --var bug=\"The total is wrong\" --var test=\"go test ./...\"",
	exits: "1 refused (the error names file and line), 3 not found", run: action(runTemplateApply),
}

type templateApplyOptions struct {
	plainOptions
	Feature string
	Var     []string
	Text    []string

	vars, texts []template.Var
}

func (o *templateApplyOptions) parse(commandLine) (err error) {
	if o.vars, err = templateVars("var", o.Var); err != nil {
		return err
	}
	if o.texts, err = templateVars("text", o.Text); err != nil {
		return err
	}
	for _, v := range o.vars {
		if v.Name == "feature" && o.Feature != "" && v.Value != o.Feature {
			return usagef("--feature is %s and --var feature is %s; leave one of them out", o.Feature, v.Value)
		}
		if v.Name == "feature" {
			o.Feature = v.Value
		}
	}
	return nil
}

// templateTasks fills a template in.
func templateTasks(a *app, p project.Project, name, feature string, vars []template.Var, texts ...template.Var) ([]dag.Spec, error) {
	if err := confirmed(a, p); err != nil { // its commands run as gates
		return nil, err
	}
	f, err := findTemplate(templateLibrary(a, p), name)
	if err != nil {
		return nil, err
	}
	if feature != "" {
		if err := dag.CheckFeatureName(feature); err != nil {
			return nil, err
		}
	}
	specs, err := f.Template.Expand(feature, vars, texts...)
	var wrong *template.VarError
	switch {
	case errors.As(err, &wrong) && wrong.Hint == "":
		return nil, hint(usagef("template %s: %v", f.Name, err), "see its inputs with: ralph template show %s", f.Name)
	case errors.As(err, &wrong):
		return nil, hint(usagef("template %s: %v", f.Name, err), "%s", wrong.Hint)
	case err != nil:
		return nil, fmt.Errorf("template %s: %w", cmp.Or(f.Path, f.Name), err)
	case len(specs) == 0:
		return nil, fmt.Errorf("template %s: %w: with these values it makes no task", f.Name, dag.ErrRefused)
	}
	return specs, nil
}

func runTemplateApply(ctx context.Context, a *app, o templateApplyOptions) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	name := o.Args[0]
	specs, err := templateTasks(a, p, name, o.Feature, o.vars, o.texts...)
	if err != nil {
		return err
	}
	var made template.Applied
	var tree []draw.Node
	var in *session
	var tasks []dag.Task
	err = a.update(ctx, func(s *session, g *dag.Graph) error {
		if made, err = template.Apply(g, specs); err != nil {
			return fmt.Errorf("template %s: %w", name, err)
		}
		if !o.DryRun {
			in = s
			tasks, err = observed(s, g, made.IDs)
			return cmp.Or(err, g.History.Audit("", "", fmt.Sprintf("%s, %s", name, human.Count(len(made.IDs), "task"))))
		}
		if tree, err = plannedNodes(g, made.IDs, made.Specs, a.now()); err != nil {
			return err
		}
		return errDryRun
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return err
	}
	if in != nil && len(tasks) > 0 {
		observeCommand(ctx, a, in, "import", tasks...)
	}
	return printApplied(a, o, made, tree)
}

// maxFound is how many tasks of an earlier application are named.
const maxFound = 10

func printApplied(a *app, o templateApplyOptions, made template.Applied, tree []draw.Node) (err error) {
	if o.JSON {
		return a.printJSON(appliedJSON(o.Args[0], o.Feature, o.DryRun, made))
	}
	if o.DryRun {
		err = drawLinked(a, tree)
	} else if len(made.IDs) > 0 {
		_, err = fmt.Fprintln(a.stdout, strings.Join(made.IDs, "\n"))
	}
	for _, f := range made.Found[:min(len(made.Found), maxFound)] {
		a.note("%s is there already, as %s", f.Ref, f.ID)
	}
	if more := len(made.Found) - maxFound; more > 0 {
		a.note("and %d more are there already", more)
	}
	if n := human.Count(len(made.IDs), "task"); o.DryRun {
		a.note("%s would be added; nothing was changed", n)
	} else {
		a.note("%s added", n)
	}
	return err
}

func appliedJSON(name, feature string, dry bool, made template.Applied) jsonval.Object {
	tasks, found := []jsonval.Object{}, []jsonval.Object{}
	for i, s := range made.Specs {
		tasks = append(tasks, jsonval.Object{"id", made.IDs[i], "step", s.Ref, "title", s.Title})
	}
	for _, f := range made.Found {
		found = append(found, jsonval.Object{"id", f.ID, "step", f.Ref})
	}
	return jsonval.Object{"template", name, "feature", null(feature), "dry_run", dry, "tasks", tasks, "existing", found}
}

// featureTasks are those of a template that a feature is built from. Where those that it has are kept, only what is missing.
func featureTasks(ctx context.Context, a *app, s *session, feature string, t features.Template, keep bool) ([]dag.Spec, error) {
	vars, err := templateVars("var", t.Vars)
	if err != nil {
		return nil, err
	}
	specs, err := templateTasks(a, s.project, t.Name, feature, vars)
	if err != nil || !keep {
		return specs, err
	}
	made, err := look(ctx, s, func(g *dag.Graph) (template.Applied, error) { return template.Missing(g, specs) })
	return made.Specs, err
}

// templateLines tell a planner which templates there are.
func templateLines(l template.Library) (lines []string) {
	list, _ := l.List() // what cannot be read cannot be named
	for _, f := range list {
		if f.Err != nil {
			continue
		}
		inputs := seq.Map(f.Template.Inputs, func(in template.Input) string { return in.Name })
		lines = append(lines, fmt.Sprintf("%s: %s (inputs: %s)", f.Name, term.Line(f.Template.Description), cmp.Or(strings.Join(inputs, ", "), "none")))
	}
	return lines
}
