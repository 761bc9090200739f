package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/web"
)

// LineOf reads a command line for somebody outside. It refuses what names files of this machine, and another project.
func LineOf(root Command, args []string) (web.Line, error) {
	p := &permuter{root: root, at: root, path: []string{"ralph"}}
	if err := p.walk(args); err != nil {
		return web.Line{}, err
	}
	named := func(flag string) bool {
		return slices.ContainsFunc(p.global, func(typed string) bool { return strings.HasPrefix(typed, "--"+flag+"=") })
	}
	line := p.line()
	switch {
	case p.help || line.Name == "" || p.at.Run == nil:
		return line, Hint(Usagef("a command is missing"), "its help is where ralph is: ralph %s", strings.TrimSpace(line.Name+" --help"))
	case p.bad != nil:
		return line, p.bad
	case named("project"), named("server"), named("server-token-file"):
		return line, Usagef("a command from elsewhere is about the project of the server: --project and --server cannot be in it")
	case len(p.files) > 0:
		return line, Hint(Usagef("%s names a file of the server's machine, which a command from elsewhere cannot", p.files[0]), "leave it out, and keep what the command prints")
	}
	return line, nil
}

// ServedVariable marks a process that a server has started. The flags of a run that it continues, and those of a schedule that
// it is asked for, weaken it like typed ones.
const ServedVariable = "RALPH_SERVED"

// OutsideLine is LineOf for every command from outside. It also refuses what weakens a run.
func OutsideLine(a *App, args []string) (web.Line, error) {
	line, err := LineOf(a.Root, args)
	if err == nil {
		err = RefuseWeaker(a, line, a.Allow)
	}
	return line, err
}

// RefuseWeaker refuses a command from outside that weakens a run, unless the configuration allows it.
func RefuseWeaker(a *App, line web.Line, allow []string) error {
	return line.Weakens(allow, func(agent string) bool {
		p, err := a.FindProject()
		if err != nil {
			return false
		}
		config, err := a.LoadConfig(p.Config())
		return err == nil && slices.Contains(a.Finder(config).Names(), agent)
	})
}

// RefuseWeakerPlan does the same for the tasks of a plan that comes from outside.
func RefuseWeakerPlan(a *App, list []dag.Spec) error {
	if !a.Outside {
		return nil
	}
	for _, t := range list {
		line := web.Line{Name: "task import", Agent: t.Agent}
		if len(t.MayChange) > 0 {
			line.Flags = []string{"may-change"}
		}
		if err := RefuseWeaker(a, line, a.Allow); err != nil {
			return err
		}
	}
	return nil
}

// line is what was read. A group that was typed without a command is the one that it stands for.
func (p *permuter) line() web.Line {
	line := web.Line{Name: strings.Join(p.path[1:], " "), Args: p.rest}
	if i := slices.IndexFunc(p.at.Sub, func(c Command) bool { return c.Bare }); i >= 0 {
		line.Name += " " + p.at.Sub[i].Name
	}
	for _, typed := range p.local { // of one that is typed twice, the last counts
		name, value, set := strings.Cut(strings.TrimPrefix(typed, "--"), "=")
		line.Flags = slices.DeleteFunc(line.Flags, func(other string) bool { return other == name })
		f, _ := p.find(name)
		if on, err := strconv.ParseBool(value); f != nil && set && err == nil && !on && f.Value == false {
			line.Off = append(line.Off, name)
			continue // --dry-run=false is as if it were not there
		}
		line.Flags = append(line.Flags, name)
		if name == "agent" {
			line.Agent = value
		}
	}
	if line.Name == "agents test" {
		line.Agent = strings.Join(p.rest, " ")
	}
	return line
}

// Understand is LineOf for the server, which tells what is wrong by status and hint.
func Understand(a *App, args []string) (web.Line, error) {
	line, err := OutsideLine(a, args)
	if err != nil && !errors.As(err, new(*web.Refusal)) {
		err = &web.Refusal{Text: err.Error(), Hint: HintFor(err), Exit: ExitStatus(err), HTTP: 400}
	}
	return line, err
}
