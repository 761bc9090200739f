package agents_test

import (
	"slices"
	"testing"

	"ralph/internal/agents"
	"ralph/internal/testing/check"
)

func preset(t *testing.T, name string) agents.Preset {
	t.Helper()
	p, ok := agents.Lookup(name)
	if !ok {
		t.Fatalf("no agent %s", name)
	}
	return p
}

func TestDefineMergesADefinitionWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	type definition = agents.Definition
	// named is the effect of a command of one's own, under a name of one's own.
	named := func(name string, command ...string) (definition, func(*agents.Preset)) {
		return definition{Name: name, Command: command}, func(p *agents.Preset) { p.Name, p.Command, p.Package = name, command, "" }
	}
	wrapped, asWrapped := named("claude", "/opt/wrapper", "-x")
	qwen, asQwen := named("mine", "/opt/bin/qwen", "--acp", "--x")
	windows, asWindows := named("mine", `C:\npm\opencode.CMD`, "acp")
	pinned, asPinned := named("mine", "npx", "-y", "@agentclientprotocol/codex-acp@2.6.0")
	for name, tt := range map[string]struct {
		in   definition
		base string // the preset it must equal after edit
		edit func(*agents.Preset)
	}{
		"a built-in name alone is the built-in agent":         {definition{Name: "gemini"}, "gemini", func(*agents.Preset) {}},
		"a built-in name with another command keeps the rest": {wrapped, "claude", asWrapped},
		"variables come after those of the preset, by name": {definition{Name: "claude", Env: map[string]string{"B": "2", "A": "1"}}, "claude", func(p *agents.Preset) {
			p.Set = append(p.Set, agents.Variable{Name: "A", Value: "1"}, agents.Variable{Name: "B", Value: "2"})
		}},
		"a model replaces the names of its tier only": {definition{Name: "codex", Models: map[string]string{"Opus": "gpt-9"}}, "codex", func(p *agents.Preset) {
			p.Tiers["opus"], p.Models = []string{"gpt-9"}, map[string]string{"Opus": "gpt-9"}
		}},
		"a new name with a known program is that agent":     {qwen, "qwen", asQwen},
		"a known program of Windows is that agent":          {windows, "opencode", asWindows},
		"a pinned package is that agent":                    {pinned, "codex-acp", asPinned},
		"a command without a name is named after its agent": {definition{Command: []string{"gemini", "--acp"}}, "gemini", func(p *agents.Preset) { p.Package = "" }},
		"the built-in agent may be given variables": {definition{Name: "shell", Env: map[string]string{"A": "1"}}, "shell", func(p *agents.Preset) {
			p.Set = []agents.Variable{{Name: "A", Value: "1"}}
		}},
	} {
		want := preset(t, tt.base)
		tt.edit(&want)
		got, ok := agents.Define(tt.in)
		check.That(t, ok, "%s: got no agent", name)
		check.Equal(t, name, want, got)
	}
}

func TestDefineOfAnUnknownCommandKnowsOnlyTheCommand(t *testing.T) {
	t.Parallel()
	got, ok := agents.Define(agents.Definition{
		Command: []string{"/opt/my-agent", "--acp"},
		Models:  map[string]string{"opus": "big", "sonnet": "mid", "haiku": "small"},
	})
	if !ok || got.Name != "my-agent" || got.Channel != agents.Any || len(got.Pass) == 0 {
		t.Errorf("got %+v, %v, want my-agent, any channel and the providers' variables", got, ok)
	}
	check.Equal(t, "model", "mid", agents.Resolve(got, "sonnet", nil))
	if _, ok := agents.Define(agents.Definition{Name: "nobody"}); ok {
		t.Error("got an agent out of a name that nobody has, without a command")
	}
}

// TestAnAgentBehindAnotherNameLeavesConfiningToUs: a wrapper may be any of the
// known ones, so that what they call the mode for it is tried with it, too.
func TestAnAgentBehindAnotherNameLeavesConfiningToUs(t *testing.T) {
	t.Parallel()
	wrapped, _ := agents.Define(agents.Definition{Command: []string{"/opt/wrapper"}})
	for _, p := range agents.All() {
		for _, mode := range p.Confined {
			check.That(t, slices.Contains(wrapped.Confined, mode), "got %v, want %s of %s among them", wrapped.Confined, mode, p.Name)
		}
	}
	check.That(t, len(wrapped.Confined) != 0, "got no mode at all")
}

// An agent is what it says it is, whatever program started it.
func TestIdentifyGoesByWhatTheAgentSays(t *testing.T) {
	t.Parallel()
	wrapped, _ := agents.Define(agents.Definition{Name: "mine", Command: []string{"./wrap.sh"}, Models: map[string]string{"opus": "big"}})
	got := agents.Identify(wrapped, "gemini-cli")
	want := preset(t, "gemini")
	if got.MissingIsEmpty != want.MissingIsEmpty || got.Channel != want.Channel || !slices.Equal(got.Tiers["haiku"], want.Tiers["haiku"]) || got.Login != want.Login {
		t.Errorf("got %+v, want it to be spoken to as gemini", got)
	}
	if got.Name != "mine" || got.Command[0] != "./wrap.sh" || !slices.Equal(got.Tiers["opus"], []string{"big"}) {
		t.Errorf("got %+v, want what the user said", got)
	}
	newer := agents.Identify(preset(t, "codex"), "@agentclientprotocol/codex-acp")
	if want := preset(t, "codex-acp"); newer.Reports != want.Reports || !slices.Equal(newer.Auth, want.Auth) || newer.Name != "codex" {
		t.Errorf("got %+v, want the newer adapter", newer)
	}
	for _, p := range agents.All() {
		check.Equal(t, p.Name+" as itself", p, agents.Identify(p, p.Says))
		check.Equal(t, p.Name+" as something else", p, agents.Identify(p, "something else"))
	}
}
