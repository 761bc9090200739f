package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// permute puts arguments into the order that the library needs: global flags,
// command, its flags, then the rest. People may write them in any order; the
// library alone would take a late flag for an argument without a word. If help is
// asked for, or a group needs a command, it returns only the path to what it is about.
func permute(app *cli.App, args []string) (argv []string, help bool, err error) {
	p := &permuter{app: app, path: args[:1:1]}
	if err := p.walk(args[1:]); err != nil {
		return nil, false, err
	}
	if p.help {
		return p.path, true, nil
	}
	if len(p.rest) > 0 && (p.at == nil || len(p.at.Subcommands) > 0) {
		return nil, false, p.unknownCommand(p.rest[0])
	}
	if p.at == nil || p.at.Action == nil {
		return p.path, true, nil
	}
	argv = slices.Concat(p.path[:1], p.global, p.path[1:], p.local)
	if len(p.rest) > 0 {
		argv = append(append(argv, "--"), p.rest...)
	}
	return argv, false, nil
}

type permuter struct {
	app    *cli.App
	at     *cli.Command // nil at the top
	path   []string
	global []string
	local  []string
	rest   []string
	help   bool
}

func (p *permuter) walk(args []string) error {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			p.rest = append(p.rest, args[i+1:]...)
			return nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if err := p.word(arg); err != nil {
				return err
			}
		default:
			used, err := p.flag(arg, args[i+1:])
			if err != nil {
				return err
			}
			i += used
		}
	}
	return nil
}

// word is the next command, or an argument if the command takes any.
func (p *permuter) word(arg string) error {
	if len(p.rest) > 0 {
		p.rest = append(p.rest, arg)
		return nil
	}
	if (p.at == nil || len(p.at.Subcommands) > 0) && arg == "help" && !p.help {
		p.help = true
		return nil
	}
	for _, c := range p.commands() {
		if c.HasName(arg) {
			p.at = c
			p.path = append(p.path, c.Name)
			return nil
		}
	}
	if p.at == nil || len(p.at.Subcommands) > 0 {
		return p.unknownCommand(arg)
	}
	p.rest = append(p.rest, arg)
	return nil
}

// flag takes a flag, and its value if that is the next argument.
func (p *permuter) flag(arg string, following []string) (used int, err error) {
	name, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if name == "help" || name == "h" {
		p.help = true
		return 0, nil
	}
	if p.at == nil && name == "version" && !inline {
		return 0, p.word(name) // what other programs are asked by a flag
	}
	f, global := p.find(name)
	if letters := p.cluster(arg); f == nil && letters != nil {
		return p.flags(letters, following)
	}
	if f == nil {
		return 0, p.unknownFlag(arg, name)
	}
	long := "--" + f.Names()[0]
	out := long
	switch {
	case takesValue(f):
		if !inline {
			if len(following) == 0 {
				return 0, usagef("%s needs a value", long)
			}
			value, used = following[0], 1
		}
		if value == "" && namesSomething(f.Names()[0]) {
			return 0, usagef("%s is empty", long)
		}
		out = long + "=" + value
	case inline && long == "--continue" && strings.HasPrefix(value, "r-"):
		p.rest = append(p.rest, value) // the run that it names is an argument
	case inline:
		out = long + "=" + value
	}
	if global {
		p.global = append(p.global, out)
	} else {
		p.local = append(p.local, out)
	}
	return used, nil
}

// cluster takes -qv apart, if each letter is a flag and only the last one takes a value.
func (p *permuter) cluster(arg string) []string {
	letters := strings.TrimPrefix(arg, "-")
	if strings.HasPrefix(letters, "-") || len(letters) < 2 {
		return nil
	}
	var flags []string
	for i, letter := range letters {
		f, _ := p.find(string(letter))
		last := i == len(letters)-1
		if letter != 'h' && (f == nil || takesValue(f) && !last) {
			return nil
		}
		flags = append(flags, "-"+string(letter))
	}
	return flags
}

func (p *permuter) flags(args, following []string) (used int, err error) {
	for _, arg := range args {
		if used, err = p.flag(arg, following); err != nil {
			return 0, err
		}
	}
	return used, nil
}

// namesSomething says that a flag's value is a name, which an unset variable of a
// script must not turn into "everything" or "none".
func namesSomething(flag string) bool {
	return slices.Contains([]string{"feature", "parent", "task", "run", "project", "events", "after", "junit", "summary", "log-file", "metrics"}, flag)
}

func (p *permuter) find(name string) (f cli.Flag, global bool) {
	if p.at != nil {
		if f := named(p.at.Flags, name); f != nil {
			return f, false
		}
	}
	return named(p.app.Flags, name), true
}

// allFlags are those that the command takes, its own first.
func (p *permuter) allFlags() []cli.Flag {
	if p.at == nil {
		return p.app.Flags
	}
	return slices.Concat(p.at.Flags, p.app.Flags)
}

func (p *permuter) commands() []*cli.Command {
	if p.at == nil {
		return p.app.Commands
	}
	return p.at.Subcommands
}

// usualNames are what other programs call our commands.
var usualNames = map[string]string{
	"ls": "list", "rm": "delete", "remove": "delete", "new": "add", "edit": "update", "cat": "show",
	"ready": "list --ready", "next": "status", "retry": "reset",
}

// unknownCommand hints at what was probably meant: a command by its usual name, without its group, or mistyped.
func (p *permuter) unknownCommand(arg string) error {
	var names, inside []string
	for _, c := range p.commands() {
		if !c.Hidden {
			names = append(names, c.Name)
		}
		for _, sub := range c.Subcommands {
			inside = append(inside, sub.Name)
		}
	}
	where := strings.Join(p.path[1:], " ")
	err := usagef("unknown command %q", strings.TrimSpace(where+" "+arg))
	near := nearest(arg, slices.Concat(names, slices.Sorted(maps.Keys(usualNames)), inside))
	near = cmp.Or(find(p.commands(), usualNames[near]), find(p.commands(), near))
	switch {
	case near != "":
	case len(names) > 1 || p.at.ArgsUsage != "":
		return hint(err, "see: %s --help", strings.Join(p.path, " "))
	case p.commands()[0].ArgsUsage == "":
		near = names[0]
	default:
		near = names[0] + " " + arg
	}
	return hint(err, "did you mean: ralph %s", strings.TrimSpace(where+" "+near))
}

// find is how to type a command that may be in one of the groups; flags may follow its name.
func find(commands []*cli.Command, typed string) string {
	name, _, _ := strings.Cut(typed, " ")
	for _, c := range commands {
		if c.Name == name {
			return typed
		}
	}
	for _, c := range commands {
		if slices.ContainsFunc(c.Subcommands, func(sub *cli.Command) bool { return sub.Name == name }) {
			return c.Name + " " + typed
		}
	}
	return ""
}

func (p *permuter) unknownFlag(arg, name string) error {
	var names []string
	for _, f := range p.allFlags() {
		names = append(names, f.Names()...)
	}
	err := usagef("unknown flag %s", arg)
	if name == "version" {
		return hint(err, "did you mean: ralph version")
	}
	if near := nearest(name, names); len(near) > 1 {
		return hint(err, "did you mean: --%s", near)
	}
	return hint(err, "see: %s --help", strings.Join(p.path, " "))
}

func named(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return !ok || d.TakesValue()
}

// suggest hints at what was probably meant: what the usual name of other programs is called
// here, or the nearest name.
func suggest[T ~string](err error, format string, typed T, names []T, usual map[T]T) error {
	near := cmp.Or(usual[typed], nearest(T(strings.ToLower(string(typed))), names))
	if near == "" {
		return err
	}
	return hint(err, format, near)
}

// nearest returns the name that is at most a third of its length away, or "".
func nearest[T ~string](typed T, names []T) T {
	best, distance := T(""), 1000
	for _, name := range names {
		if d := editDistance(string(typed), string(name)); d < distance {
			best, distance = name, d
		}
	}
	if distance > max(1, len(best)/3) {
		return ""
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours, which are what fingers do.
func editDistance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
