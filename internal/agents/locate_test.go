package agents_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/testing/check"
)

// path is a PATH that holds these programs in /bin.
func path(programs ...string) agents.LookPath {
	return func(name string) (string, error) {
		if slices.Contains(programs, name) {
			return "/bin/" + name, nil
		}
		return "", fmt.Errorf("%s: not found", name)
	}
}

func names(presets []agents.Preset) []string {
	var out []string
	for _, p := range presets {
		out = append(out, p.Name)
	}
	return out
}

// TestEachAgentIsStartedAndGivenItsModelAsMeasured is the table of what was
// measured with the real agents.
func TestEachAgentIsStartedAndGivenItsModelAsMeasured(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command []string
		pkg     string
		channel acp.ModelChannel
		missing bool
	}{
		"claude":      {[]string{"claude-agent-acp"}, "@agentclientprotocol/claude-agent-acp", agents.ConfigOption, false},
		"claude-code": {[]string{"claude-code-acp"}, "@zed-industries/claude-code-acp", agents.SetModel, false},
		"codex":       {[]string{"codex-acp"}, "@zed-industries/codex-acp", agents.ConfigOption, false},
		"codex-acp":   {[]string{"codex-acp"}, "@agentclientprotocol/codex-acp", agents.ConfigOption, false},
		"copilot":     {[]string{"copilot", "--acp"}, "@github/copilot", agents.SetModel, false},
		"gemini":      {[]string{"gemini", "--acp"}, "@google/gemini-cli", agents.SetModel, true},
		"kilo":        {[]string{"kilo", "acp"}, "@kilocode/cli", agents.ConfigOption, false},
		"kimi":        {[]string{"kimi", "acp"}, "@moonshot-ai/kimi-code", agents.ConfigOption, false},
		"nanocoder":   {[]string{"nanocoder", "--acp"}, "@nanocollective/nanocoder", agents.ConfigOption, false},
		"opencode":    {[]string{"opencode", "acp"}, "opencode-ai", agents.ConfigOption, false},
		"qwen":        {[]string{"qwen", "--acp"}, "@qwen-code/qwen-code", agents.ConfigOption, false},
		"shell":       {nil, "", agents.NoModel, false},
		"anthropic":   {nil, "", agents.ConfigOption, false},
		"openai":      {nil, "", agents.ConfigOption, false},
		"local":       {nil, "", agents.ConfigOption, false},
	}
	for name, tt := range tests {
		p := preset(t, name)
		got := []any{p.Command, p.Package, p.Channel, p.MissingIsEmpty}
		check.Equal(t, name, []any{tt.command, tt.pkg, tt.channel, tt.missing}, got)
		check.Equal(t, name+": TerminalShell", name == "claude-code", p.TerminalShell)
		check.That(t, p.Title != "" && p.Login != "" && p.Reports != "", "got %+v, want a title, a login hint and what it reports", p)
		known := len(p.Credentials) > 0 && len(p.State) > 0 && len(p.Pass) > 0 && p.Says != ""
		check.That(t, known || len(p.Self) > 0, "got %+v, want state folders, variables and the name that it gives itself", p)
	}
	check.Equal(t, "agents", slices.Sorted(maps.Keys(tests)), names(agents.All()))
	_, ok := agents.Lookup("Claude")
	check.That(t, !ok, "an agent for a name that nobody has")
}

func TestPresetsShareNoMemory(t *testing.T) {
	t.Parallel()
	want := agents.All()
	for _, p := range agents.All() {
		for _, list := range append(slices.Collect(maps.Values(p.Tiers)), p.Command, p.Pass, p.Credentials, p.Confined, p.Self) {
			for i := range list {
				list[i] = "changed"
			}
		}
		clear(p.State)
		clear(p.Set)
		clear(p.Auth)
		clear(p.Tiers)
	}
	check.Equal(t, "agents after a caller changed them", want, agents.All())
}

func TestInstalledAgentsAreInTheOrderOfTheirRank(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		programs  []string
		installed []string
	}{
		"nothing is installed":                        {[]string{"sh", "npx"}, nil},
		"one is installed":                            {[]string{"qwen"}, []string{"qwen"}},
		"the preferred one comes first":               {[]string{"qwen", "opencode", "claude-agent-acp"}, []string{"claude", "opencode", "qwen"}},
		"a shared program is named once":              {[]string{"codex-acp"}, []string{"codex"}},
		"the newer adapter comes before the older":    {[]string{"claude-code-acp", "claude-agent-acp"}, []string{"claude", "claude-code"}},
		"an agent's own program is not its adapter":   {[]string{"claude", "codex"}, nil},
		"the built-in agent is never chosen unasked":  {[]string{"shell", "shell-agent", "ralph"}, nil},
		"agents that start with an argument are seen": {[]string{"kilo", "copilot", "gemini"}, []string{"gemini", "copilot", "kilo"}},
	}
	for name, tt := range tests {
		check.Equal(t, name, tt.installed, names(agents.Installed(path(tt.programs...))))
	}
}

func TestArgvStartsTheProgramOrNpxOrRalphItself(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		agent    string
		programs []string
		want     []string
		message  string
	}{
		"the installed program":              {"gemini", []string{"gemini", "npx"}, []string{"/bin/gemini", "--acp"}, ""},
		"npx when it is not installed":       {"gemini", []string{"npx"}, []string{"/bin/npx", "--yes", "--package=@google/gemini-cli", "--", "gemini", "--acp"}, ""},
		"ralph itself for the built-in one":  {"shell", nil, []string{"/opt/ralph", "shell-agent"}, ""},
		"and for those that ask a model":     {"openai", nil, []string{"/opt/ralph", "agent", "--provider", "openai"}, ""},
		"an error that says how to fix it":   {"kilo", nil, nil, "agent kilo: kilo: not installed; install it with npm install -g @kilocode/cli"},
		"a user's own program has no npx":    {"mine", []string{"npx"}, nil, "agent mine: my-agent: not installed"},
		"a user's own program, as it stands": {"mine", []string{"my-agent"}, []string{"/bin/my-agent", "--acp"}, ""},
	}
	for name, tt := range tests {
		p, ok := agents.Lookup(tt.agent)
		if !ok {
			p, _ = agents.Define(agents.Definition{Name: tt.agent, Command: []string{"my-agent", "--acp"}})
		}
		got, err := agents.Argv(p, "/opt/ralph", path(tt.programs...))
		check.Equal(t, name, tt.want, got)
		if tt.message == "" {
			check.OK(t, err)
			continue
		}
		check.That(t, errors.Is(err, agents.ErrNotInstalled) && err.Error() == tt.message, "%s: got %v, want %s", name, err, tt.message)
	}
	_, err := agents.Argv(agents.Preset{Name: "x"}, "", path())
	check.That(t, err != nil, "no error for an agent without a command")
}
