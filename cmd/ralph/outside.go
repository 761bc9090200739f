package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/web"
)

// lineOf reads a command line for somebody outside. It refuses what names files of this machine, and another project.
func lineOf(root command, args []string) (web.Line, error) {
	p := &permuter{root: root, at: root, path: []string{"ralph"}}
	if err := p.walk(args); err != nil {
		return web.Line{}, err
	}
	named := func(flag string) bool {
		return slices.ContainsFunc(p.global, func(typed string) bool { return strings.HasPrefix(typed, "--"+flag+"=") })
	}
	line := p.line()
	switch {
	case p.help || line.Name == "" || p.at.run == nil:
		return line, hint(usagef("a command is missing"), "its help is where ralph is: ralph %s", strings.TrimSpace(line.Name+" --help"))
	case p.bad != nil:
		return line, p.bad
	case named("project"), named("server"), named("server-token-file"):
		return line, usagef("a command from elsewhere is about the project of the server: --project and --server cannot be in it")
	case len(p.files) > 0:
		return line, hint(usagef("%s names a file of the server's machine, which a command from elsewhere cannot", p.files[0]), "leave it out, and keep what the command prints")
	}
	return line, nil
}

// servedVariable marks a process that a server has started. The flags of a run that it continues, and those of a schedule that
// it is asked for, weaken it like typed ones.
const servedVariable = "RALPH_SERVED"

// outsideLine is lineOf for every command from outside. It also refuses what weakens a run.
func outsideLine(a *app, args []string) (web.Line, error) {
	line, err := lineOf(a.root, args)
	if err == nil {
		err = refuseWeaker(a, line, a.allow)
	}
	return line, err
}

func refuseWeaker(a *app, line web.Line, allow []string) error {
	return line.Weakens(allow, func(agent string) bool {
		p, err := a.findProject()
		if err != nil {
			return false
		}
		config, err := a.loadConfig(p.Config())
		return err == nil && slices.Contains(a.finder(config).Names(), agent)
	})
}

// refuseWeakerPlan does the same for the tasks of a plan that comes from outside.
func refuseWeakerPlan(a *app, list []dag.Spec) error {
	if !a.outside {
		return nil
	}
	for _, t := range list {
		line := web.Line{Name: "task import", Agent: t.Agent}
		if len(t.MayChange) > 0 {
			line.Flags = []string{"may-change"}
		}
		if err := refuseWeaker(a, line, a.allow); err != nil {
			return err
		}
	}
	return nil
}

// line is what was read. A group that was typed without a command is the one that it stands for.
func (p *permuter) line() web.Line {
	line := web.Line{Name: strings.Join(p.path[1:], " "), Args: p.rest}
	if i := slices.IndexFunc(p.at.sub, func(c command) bool { return c.bare }); i >= 0 {
		line.Name += " " + p.at.sub[i].name
	}
	for _, typed := range p.local { // of one that is typed twice, the last counts
		name, value, set := strings.Cut(strings.TrimPrefix(typed, "--"), "=")
		line.Flags = slices.DeleteFunc(line.Flags, func(other string) bool { return other == name })
		f, _ := p.find(name)
		if on, err := strconv.ParseBool(value); f != nil && set && err == nil && !on && f.value == false {
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

// understand is lineOf for the server, which tells what is wrong by status and hint.
func understand(a *app, args []string) (web.Line, error) {
	line, err := outsideLine(a, args)
	if err != nil && !errors.As(err, new(*web.Refusal)) {
		err = &web.Refusal{Text: err.Error(), Hint: hintFor(err), Exit: exitStatus(err), HTTP: 400}
	}
	return line, err
}
