package agents

import (
	"path"
	"slices"
	"strings"
)

// Definition is a user's own agent, or a user's changes to a built-in one.
type Definition struct {
	Name    string
	Command []string          // the argument vector; empty keeps that of the built-in agent
	Env     map[string]string // given to the agent in addition
	Allow   []string          // rules about the variables that reach the agent, after the usual ones
	Models  map[string]string // names of tiers; tiers it does not mention keep theirs

	Like     *Preset // the agent that it is, with another account; nil for that of its name or command
	Prestart *bool   // nil keeps that of the built-in agent, if the command is kept, too
	Proxy    *bool   // nil keeps that of the built-in agent
}

// Define returns the agent that a definition describes, starting from the built-in agent
// of that name, or else from the one whose program or package the command runs, or else
// from an unknown one. It reports false without a command and a built-in agent.
func Define(d Definition) (Preset, bool) {
	p, known := Lookup(d.Name)
	if p.Needs != Nothing && len(d.Command) > 0 {
		known = false // a program that a user calls "local" has nothing to do with ours
	}
	switch {
	case d.Like != nil:
		p = *d.Like
	case !known:
		p = ofCommand(d.Command)
	}
	if d.Name != "" {
		p.Name = d.Name
	}
	if len(d.Command) > 0 {
		p.Command = slices.Clone(d.Command)
		// What the user wrote is what runs: no package and no built-in agent
		// may take its place when it cannot be found.
		p.Package, p.Self, p.Needs = "", nil, Nothing
		p.Prestart = p.Prestart && !ofCommand(d.Command).Unknown // a wrapper may read its task in its environment
	}
	if d.Prestart != nil {
		p.Prestart = *d.Prestart
	}
	if d.Proxy != nil {
		p.Proxy = *d.Proxy
	}
	for _, name := range sorted(d.Env) {
		p.Set = append(p.Set, Variable{Name: name, Value: d.Env[name]})
	}
	if d.Like == nil { // that has them already
		p.Allow = append(p.Allow, d.Allow...)
	}
	if d.Like == nil || len(d.Models) > 0 {
		p.Models = d.Models
	}
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

// Identify returns what is known about an agent that was started as p and gives itself
// that name. If it is another known agent, behind a wrapper or a program of the same name,
// ralph talks to it as to that one; what the user configured stays.
func Identify(p Preset, says string) Preset {
	for _, known := range those(func(known Preset) bool { return known.Says != "" && known.Says == says && p.Says != says }) {
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
	for _, p := range Own() { // with flags of the user's
		if unknown.Name == "ralph" && len(argv) > len(p.Self) && slices.Equal(argv[1:1+len(p.Self)], p.Self) {
			return p
		}
	}
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
