package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/template"
	"ralph/internal/term"
)

// TemplateLibrary has the templates of a project, of the user and of ralph.
func TemplateLibrary(a *cli.App, p project.Project) template.Library {
	l := template.Library{Root: p.Root}
	if config := a.UserConfig(); config != "" {
		l.User = filepath.Join(filepath.Dir(config), "templates")
	}
	return l
}

// FindTemplate is by name; one that is a path is a mistake of who typed it.
func FindTemplate(l template.Library, name string) (template.File, error) {
	f, err := l.Find(name)
	var wrong *template.NameError
	if errors.As(err, &wrong) {
		return f, cli.Hint(cli.Usagef("%v", err), "a template is named without folder and ending; see them with: ralph template list")
	}
	return f, err
}

// VarFlag gives values to the inputs of a template.
func VarFlag() cli.Flag {
	return cli.Flag{Name: "var", Usage: "`NAME=VALUE` of an input; a list is a,b,c (repeatable)", Value: []string{}}
}

// TemplateVars are what --var says, or --text.
func TemplateVars(flag string, typed []string) (vars []template.Var, err error) {
	for _, v := range typed {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, cli.Hint(cli.Usagef("--%s %q has no value", flag, v), "write it as --%s NAME=VALUE", flag)
		}
		vars = append(vars, template.Var{Name: name, Value: value})
	}
	return vars, nil
}

// TemplateTasks fills a template in.
func TemplateTasks(a *cli.App, p project.Project, name, feature string, vars []template.Var, texts ...template.Var) ([]dag.Spec, error) {
	if err := wiring.Confirmed(a, p); err != nil { // its commands run as gates
		return nil, err
	}
	f, err := FindTemplate(TemplateLibrary(a, p), name)
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
		return nil, cli.Hint(cli.Usagef("template %s: %v", f.Name, err), "see its inputs with: ralph template show %s", f.Name)
	case errors.As(err, &wrong):
		return nil, cli.Hint(cli.Usagef("template %s: %v", f.Name, err), "%s", wrong.Hint)
	case err != nil:
		return nil, fmt.Errorf("template %s: %w", cmp.Or(f.Path, f.Name), err)
	case len(specs) == 0:
		return nil, fmt.Errorf("template %s: %w: with these values it makes no task", f.Name, dag.ErrRefused)
	}
	return specs, nil
}

// featureTasks are those of a template that a feature is built from. Where those that it has are kept, only what is missing.
func featureTasks(ctx context.Context, a *cli.App, s *cli.Session, feature string, t features.Template, keep bool) ([]dag.Spec, error) {
	vars, err := TemplateVars("var", t.Vars)
	if err != nil {
		return nil, err
	}
	specs, err := TemplateTasks(a, s.Project, t.Name, feature, vars)
	if err != nil || !keep {
		return specs, err
	}
	made, err := cli.Read(ctx, s, func(g *dag.Graph) (template.Applied, error) { return template.Missing(g, specs) })
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
