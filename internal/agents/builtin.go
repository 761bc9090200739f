package agents

import (
	"bytes"
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed agents.toml
var builtinFile []byte

// builtin lists every agent that ralph knows, the one to prefer first.
func builtin() []Preset { return those(func(Preset) bool { return true }) }

// those lists some of the agents that ralph knows, told by what they have of their own. The list and what callers change of a preset are
// new each time, so that none changes what another sees.
func those(match func(Preset) bool) (list []Preset) {
	known, families := readBuiltin()
	for _, p := range known {
		if !match(p) {
			continue
		}
		p = p.of(families[p.Family])
		if p.Package != "" { // where npx keeps what it fetched
			p.State = slices.Insert(p.State, 0, "${NPM_CONFIG_CACHE:-~/.npm}")
		}
		list = append(list, p)
	}
	return list
}

// readBuiltin reads the file once: every attempt asks for it.
var readBuiltin = sync.OnceValues(func() (list []Preset, families map[string]Preset) {
	var file struct {
		Family map[string]Preset
		Agent  []Preset
	}
	if err := toml.NewDecoder(bytes.NewReader(builtinFile)).DisallowUnknownFields().Decode(&file); err != nil {
		panic(err) // no test passes with such a file
	}
	return file.Agent, file.Family
})

// of is a copy with what the agent shares with its family filled in.
func (p Preset) of(family Preset) Preset {
	if p.Tiers == nil {
		p.Tiers = family.Tiers
	}
	p.Tiers, p.Command, p.Self, p.Auth = maps.Clone(p.Tiers), slices.Clone(p.Command), slices.Clone(p.Self), slices.Clone(p.Auth)
	for tier, names := range p.Tiers {
		p.Tiers[tier] = slices.Clone(names)
	}
	p.Login, p.ByModel, p.Proxy = cmp.Or(p.Login, family.Login), p.ByModel || family.ByModel, p.Proxy || family.Proxy
	p.Channel, p.Reports, p.Asking.Before = cmp.Or(p.Channel, family.Channel), cmp.Or(p.Reports, family.Reports), cmp.Or(p.Asking.Before, family.Asking.Before)
	p.Asking.Args = slices.Concat(family.Asking.Args, p.Asking.Args)
	p.State, p.Pass = slices.Concat(family.stateOf(p.Name), p.State), slices.Concat(family.Pass, p.Pass)
	p.Credentials, p.Set = slices.Concat(p.Credentials, family.Credentials), slices.Concat(p.Set, family.Set)
	p.Confined = slices.Concat(p.Confined, family.Confined)
	return p
}

// stateOf lists the state folders of the family's agent of that name.
func (p Preset) stateOf(name string) []string {
	out := slices.Clone(p.State)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "NAME", name)
	}
	return out
}

// programs returns the agents that are programs of their own, the one to prefer first.
func programs() []Preset {
	return those(func(p Preset) bool { return len(p.Self) == 0 })
}
