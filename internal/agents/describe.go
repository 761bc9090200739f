package agents

import (
	"cmp"
	"os/exec"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/jsonval"
)

// Description is everything that is known about an agent. Of variables it has only names.
type Description struct {
	Name        string              `json:"name"`
	Title       string              `json:"title"`
	Chosen      bool                `json:"chosen"`
	Installed   bool                `json:"installed"`
	Start       []string            `json:"start"` // null if it cannot be started here
	Package     *string             `json:"package"`
	ModelBy     string              `json:"model_by"`
	Tiers       map[string][]string `json:"tiers"`
	Reports     string              `json:"tells"`
	Login       *string             `json:"login"`
	Credentials []string            `json:"credentials"`
	Set         []string            `json:"credentials_set"`
	Env         []string            `json:"env"`
	State       []string            `json:"state"`
	Tools       bool                `json:"tools"` // it calls ralph's own
	Proxy       bool                `json:"proxy"` // it was seen to obey HTTPS_PROXY

	Source string `json:"-"` // how it is here, or what is missing
}

// List describes the built-in agents and the user's own, by name. An agent that is
// configured in a way that makes no sense is left out: a run says what is wrong with it.
func (f Finder) List() []Description {
	presets := map[string]Preset{}
	for _, name := range f.Names() {
		if p, err := f.Preset(name); err == nil {
			presets[name] = p
		}
	}
	chosen, err := f.Choose("")
	if err == nil { // a command has no name of its own to be listed by
		presets[chosen.Name] = chosen.Preset
	}
	list := []Description{}
	for _, name := range sorted(presets) {
		d := f.describe(presets[name])
		d.Chosen = err == nil && chosen.Name == name
		list = append(list, d)
	}
	return list
}

func (f Finder) describe(p Preset) Description {
	env, _ := f.environment(p)
	d := Description{
		Name: p.Name, Title: p.Title, Package: jsonval.Text(p.Package), ModelBy: p.ModelBy(), Tiers: p.Tiers, Reports: cmp.Or(p.Reports, "not known"),
		Login: jsonval.Text(p.Login), Credentials: jsonval.List(p.Credentials), Set: jsonval.List(Credentials(p, env)),
		Env: jsonval.List(slices.Concat(p.Pass, p.Allow)), State: jsonval.List(p.StateFolders(env)), Source: "no",
		Tools: !p.NoTools, Proxy: p.Proxy,
	}
	if d.Tiers == nil {
		d.Tiers = map[string][]string{}
	}
	argv, err := Argv(p, f.Self, exec.LookPath)
	if err != nil {
		return d
	}
	d.Start = argv
	switch {
	case p.Needs != Nothing:
		d.Installed = f.Has(p)
		d.Source = map[bool]string{true: "", false: "no "}[d.Installed] + string(p.Needs)
	case len(p.Self) > 0:
		d.Installed, d.Source = true, "built in"
	case IsInstalled(p, exec.LookPath):
		d.Installed, d.Source = true, "installed"
	default:
		d.Source = "by npx"
	}
	return d
}

// Credential says what pays for the agent.
func (d Description) Credential() string {
	switch {
	case len(d.Credentials) == 0:
		return "none needed"
	case len(d.Set) > 0:
		return strings.Join(d.Set, ", ")
	case d.Source == "no "+string(Key):
		return "none"
	}
	return "its own login"
}

// ModelBy says how the agent takes its model.
func (p Preset) ModelBy() string {
	ways := map[acp.ModelChannel]string{ConfigOption: "option model", SetModel: "session/set_model", NoModel: "none"}
	return cmp.Or(ways[p.Channel], "what it offers")
}
