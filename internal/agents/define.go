package agents

import (
	"path"
	"slices"
	"strings"
)

// Definition is a user's own agent, or a user's changes to a built-in one.
type Definition struct {
	Name string
	// Command is the argument vector; empty keeps that of the built-in agent.
	Command []string
	// Env is given to the agent, in addition to what it gets anyway.
	Env map[string]string
	// Allow is added to what is said about the variables that reach the agent.
	Allow []string
	// Models maps tiers to names; tiers it does not mention keep theirs.
	Models map[string]string
}

// Define returns the agent that a definition describes. It starts from the
// built-in agent of the same name; failing that from the one whose program or
// package the command runs, so that a wrapper path or a pinned version keeps
// the model channel, the login hint and the variables; failing that from an
// agent of which nothing is known. It reports false when neither a command nor
// a built-in agent is there.
func Define(d Definition) (Preset, bool) {
	p, known := Lookup(d.Name)
	if !known {
		p = ofCommand(d.Command)
	}
	if d.Name != "" {
		p.Name = d.Name
	}
	if len(d.Command) > 0 {
		p.Command = slices.Clone(d.Command)
		// What the user wrote is what runs: no package and no built-in agent
		// may take its place when it cannot be found.
		p.Package, p.Self = "", nil
	}
	for _, name := range sorted(d.Env) {
		p.Set = append(p.Set, Variable{Name: name, Value: d.Env[name]})
	}
	p.Allow = append(p.Allow, d.Allow...)
	p.Models = d.Models
	p.mapTiers()
	return p, len(p.Command) > 0 || len(p.Self) > 0
}

// mapTiers has the user's word on tiers win.
func (p *Preset) mapTiers() {
	for tier, model := range p.Models {
		if p.Tiers == nil {
			p.Tiers = map[string][]string{}
		}
		p.Tiers[strings.ToLower(tier)] = []string{model}
	}
}

// Identify returns what is known about an agent that has been started as p and says
// that it is called so. If that is another one than p describes, because a wrapper
// starts it, or because two agents are programs of the same name, how it is spoken to
// is that one's; what the user said, and what it was started with, stay.
func Identify(p Preset, says string) Preset {
	for _, known := range builtin() {
		if known.Says == "" || known.Says != says || p.Says == says {
			continue
		}
		p.Channel, p.Tiers = known.Channel, known.Tiers
		p.Login, p.Auth, p.Reports, p.Cumulative = known.Login, known.Auth, known.Reports, known.Cumulative
		p.Confined, p.MissingIsEmpty, p.TerminalShell = known.Confined, known.MissingIsEmpty, known.TerminalShell
		p.Says = says
		p.mapTiers()
		return p
	}
	return p
}

// ofCommand returns the built-in agent that a command starts, or an agent of
// which only the command is known. Of those that a command fits, the first by
// rank is meant.
func ofCommand(argv []string) Preset {
	_, families := readBuiltin()
	unknown := Preset{Title: strings.Join(argv, " "), Pass: families["any"].Pass, Credentials: families["any"].Credentials, ByModel: true, Unknown: true}
	if len(argv) == 0 {
		return unknown
	}
	unknown.Name = program(argv[0])
	for _, p := range programs() {
		// It is often one of them behind another name.
		unknown.Confined = append(unknown.Confined, p.Confined...)
		if program(argv[0]) == p.Command[0] || slices.ContainsFunc(argv[1:], p.isPackage) {
			return p
		}
	}
	return unknown
}

// isPackage reports whether an argument of a package runner names the agent's
// package, with or without a version.
func (p Preset) isPackage(arg string) bool {
	arg = strings.TrimPrefix(arg, "--package=")
	return p.Package != "" && (arg == p.Package || strings.HasPrefix(arg, p.Package+"@"))
}

// program returns the name of a program without its folder and without the
// endings that Windows gives it.
func program(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		if len(base) > len(ending) && strings.EqualFold(base[len(base)-len(ending):], ending) {
			return base[:len(base)-len(ending)]
		}
	}
	return base
}
