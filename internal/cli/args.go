package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ralph/internal/plain"
	"ralph/internal/seq"
)

// Permute puts arguments into the order that the library needs: global flags,
// command, its flags, then the rest. People may write them in any order; the
// library alone would take a late flag for an argument without a word. If help is
// asked for, or a group needs a command, it returns only the path to what it is about, and --all if that was asked of the program.
func Permute(root Command, args []string) (argv []string, help bool, err error) {
	p := &permuter{root: root, at: root, path: []string{"ralph"}}
	if err := p.walk(args[1:]); err != nil {
		return nil, false, err
	}
	if p.help {
		return append(p.path, p.all...), true, nil
	}
	if p.bad != nil {
		return nil, false, p.bad
	}
	if len(p.rest) > 0 && len(p.at.Sub) > 0 {
		return nil, false, p.unknownCommand(p.rest[0])
	}
	if p.at.Run == nil {
		return p.path, true, nil
	}
	argv = slices.Concat(p.path[:1], p.global, p.path[1:], p.local)
	if len(p.rest) > 0 {
		argv = append(append(argv, "--"), p.rest...)
	}
	return argv, false, nil
}

type permuter struct {
	root   Command
	at     Command // as far as it was typed
	path   []string
	global []string
	local  []string
	rest   []string
	help   bool
	all    []string // that all of the help is asked for
	files  []string // flags that name a file
	bad    error    // the first value that does not fit its flag; help is shown all the same
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
	if len(p.at.Sub) > 0 && arg == "help" && !p.help {
		p.help = true
		return nil
	}
	for _, c := range p.at.Sub {
		if c.Name == arg {
			p.at, p.path = c, append(p.path, arg)
			return nil
		}
	}
	if len(p.at.Sub) > 0 {
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
	if len(p.path) == 1 && name == "version" && !inline {
		return 0, p.word(name) // what other programs are asked by a flag
	}
	if p.help && len(p.path) == 1 && arg == allOfIt {
		p.all = []string{arg}
		return 0, nil
	}
	f, global := p.find(name)
	if letters := p.cluster(arg); f == nil && letters != nil {
		for _, letter := range letters {
			if used, err = p.flag(letter, following); err != nil {
				return 0, err
			}
		}
		return used, nil
	}
	if f == nil {
		return 0, p.unknownFlag(arg, name)
	}
	long := "--" + f.Name
	switch {
	case f.Value == false && !inline:
		value = "true"
	case long == "--continue" && strings.HasPrefix(value, "r-"):
		p.rest, value = append(p.rest, value), "true" // the run that it names is an argument
	case f.Alone != "" && !inline: // what follows is an argument
		value = f.Alone
	case !inline && len(following) == 0:
		return 0, Usagef("%s needs a value", long)
	case !inline:
		value, used = following[0], 1
	}
	if value == "" && namesSomething(f.Name) {
		return 0, Usagef("%s is empty", long)
	}
	p.bad = cmp.Or(p.bad, f.check(value))
	if strings.Contains(f.Usage, "`FILE`") && value != "-" || strings.Contains(f.Usage, "`DIR`") {
		p.files = append(p.files, long)
	}
	if global {
		p.global = append(p.global, long+"="+value)
	} else {
		p.local = append(p.local, long+"="+value)
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
		if letter != 'h' && (f == nil || f.Value != false && !last) {
			return nil
		}
		flags = append(flags, "-"+string(letter))
	}
	return flags
}

// namesSomething says that a flag's value is a name, which an unset variable of a
// script must not turn into "everything" or "none".
func namesSomething(flag string) bool {
	return slices.Contains([]string{"feature", "parent", "task", "run", "project", "server", "server-token-file", "token-file", "events", "after", "from", "until", "junit", "summary", "log-file", "metrics"}, flag)
}

// allFlags are those that the command takes, its own first.
func (p *permuter) allFlags() []Flag {
	if len(p.path) == 1 {
		return p.root.Flags
	}
	return slices.Concat(p.at.Flags, p.root.Flags)
}

// find returns the flag that has a name, or a letter; nil if there is none.
func (p *permuter) find(name string) (f *Flag, global bool) {
	all := p.allFlags()
	i := slices.IndexFunc(all, func(f Flag) bool { return f.Name == name || f.Short == name && name != "" })
	if i < 0 {
		return nil, false
	}
	return &all[i], i >= len(all)-len(p.root.Flags)
}

// usualNames are what other programs call our commands.
var usualNames = map[string]string{
	"ls": "list", "rm": "delete", "remove": "delete", "new": "add", "edit": "update", "cat": "show",
	"ready": "list --ready", "next": "status", "retry": "reset",
}

// unknownCommand hints at what was probably meant: a command by its usual name, without its group, or mistyped.
func (p *permuter) unknownCommand(arg string) error {
	var names, inside []string
	for _, c := range p.at.Sub {
		if !c.Hidden {
			names = append(names, c.Name)
		}
		for _, sub := range c.Sub {
			inside = append(inside, sub.Name)
		}
	}
	where := strings.Join(p.path[1:], " ")
	err := Usagef("unknown command %q", strings.TrimSpace(where+" "+arg))
	near := plain.Nearest(arg, slices.Concat(names, slices.Sorted(maps.Keys(usualNames)), inside))
	near = cmp.Or(find(p.at.Sub, usualNames[near]), find(p.at.Sub, near), find(p.at.Sub, arg)) // the last: quoted as one word
	switch {
	case near != "":
	case len(names) > 1 || p.at.Args != "":
		return Hint(err, "see: %s", p.helpFor())
	case p.at.Sub[0].Args == "":
		near = names[0]
	default:
		near = names[0] + " " + arg
	}
	return Hint(err, "did you mean: ralph %s", strings.TrimSpace(where+" "+near))
}

// find is how to type a command that may be in one of the groups; flags may follow its name.
func find(commands []Command, typed string) string {
	name, _, _ := strings.Cut(typed, " ")
	isIt := func(c Command) bool { return c.Name == name }
	if slices.ContainsFunc(commands, isIt) {
		return typed
	}
	for _, c := range commands {
		if slices.ContainsFunc(c.Sub, isIt) {
			return c.Name + " " + typed
		}
	}
	return ""
}

// helpFor is how to ask for the help that lists what was looked for.
func (p *permuter) helpFor() string {
	if len(p.path) == 1 { // its help has only some of the commands, and no flags
		return "ralph help " + allOfIt
	}
	return strings.Join(p.path, " ") + " --help"
}

// renamedFlags maps the names that flags had in older versions to those that they have.
var renamedFlags = map[string]string{"dependents": "with-dependants"}

func (p *permuter) unknownFlag(arg, name string) error {
	names := seq.Map(p.allFlags(), func(f Flag) string { return f.Name })
	err := Usagef("unknown flag %s", arg)
	if name == "version" {
		return Hint(err, "did you mean: ralph version")
	}
	if now := renamedFlags[name]; slices.Contains(names, now) {
		return Hint(err, "it is called: --%s", now)
	}
	if near := plain.Nearest(name, names); near != "" {
		return Hint(err, "did you mean: --%s", near)
	}
	return Hint(err, "see: %s", p.helpFor())
}

// Suggest hints at what was probably meant: what the usual name of other programs is called
// here, or the nearest name.
func Suggest[T ~string](err error, format string, typed T, names []T, usual map[T]T) error {
	near := cmp.Or(usual[typed], plain.Nearest(T(strings.ToLower(string(typed))), names))
	if near == "" {
		return err
	}
	return Hint(err, format, near)
}
