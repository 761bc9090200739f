package agents_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/agents"
)

func TestEnvironLetsThroughOnlyWhatIsListed(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "Path=/windows", "https_proxy=http://p", "LC_ALL=C", "=C:=C:\\", "broken",
		"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "GH_TOKEN=t",
		"AWS_SECRET_ACCESS_KEY=s", "DATABASE_URL=d", "RALPH_MODEL=opus", "IS_SANDBOX=0", "GOOGLE_API_KEY=k", "SSH_AUTH_SOCK=/s",
	}
	base := []string{"PATH=/bin", "Path=/windows", "https_proxy=http://p", "LC_ALL=C"}
	tests := map[string]struct {
		preset agents.Preset
		root   bool
		extra  []string
	}{
		"a terminal gets no credential":           {agents.Preset{}, true, nil},
		"the built-in agent gets none either":     {preset(t, "shell"), false, nil},
		"claude gets its own key":                 {preset(t, "claude"), false, []string{"ANTHROPIC_API_KEY=a", "IS_SANDBOX=0"}},
		"claude as root gets its sandbox switch":  {preset(t, "claude"), true, []string{"ANTHROPIC_API_KEY=a", "IS_SANDBOX=1"}},
		"the older adapter as root gets it too":   {preset(t, "claude-code"), true, []string{"ANTHROPIC_API_KEY=a", "IS_SANDBOX=1"}},
		"codex gets its own key":                  {preset(t, "codex"), true, []string{"OPENAI_API_KEY=o"}},
		"gemini gets its own keys":                {preset(t, "gemini"), true, []string{"GEMINI_API_KEY=g", "GOOGLE_API_KEY=k"}},
		"copilot gets its own token":              {preset(t, "copilot"), true, []string{"GH_TOKEN=t"}},
		"opencode gets the providers' keys":       {preset(t, "opencode"), true, []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "GOOGLE_API_KEY=k"}},
		"a user's variable wins over the given":   {agents.Preset{Set: []agents.Variable{{Name: "PATH", Value: "/mine"}, {Name: "NEW", Value: "1"}}}, false, []string{"PATH=/mine", "NEW=1"}},
		"the last of two variables of a name":     {agents.Preset{Set: []agents.Variable{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}}, false, []string{"A=2"}},
		"a variable that only root is given":      {agents.Preset{Set: []agents.Variable{{Name: "A", Value: "1", OnlyRoot: true}}}, false, nil},
		"an unknown command gets providers' keys": {define(t, "my-agent"), false, []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "GOOGLE_API_KEY=k"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := append([]string{}, base...)
			if len(tt.extra) > 0 && tt.extra[0] == "PATH=/mine" {
				want = want[1:]
			}
			want = append(want, tt.extra...)
			if diff := cmp.Diff(want, agents.Environ(tt.preset, environ, tt.root)); diff != "" {
				t.Errorf("environment differs (-want +got):\n%s", diff)
			}
		})
	}
}

func define(t *testing.T, command ...string) agents.Preset {
	t.Helper()
	p, ok := agents.Define(agents.Definition{Command: command})
	if !ok {
		t.Fatalf("%v defines no agent", command)
	}
	return p
}

func TestStateFoldersAreAbsoluteAndFollowTheEnvironment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	moved := filepath.Join(home, "moved")
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	tests := map[string]struct {
		agent string
		home  string
		env   map[string]string
		want  []string
	}{
		"claude's default":             {"claude", home, nil, []string{in(".npm"), in(".claude"), in(".claude.json")}},
		"claude's own variable":        {"claude", home, map[string]string{"CLAUDE_CONFIG_DIR": moved}, []string{in(".npm"), moved, in(".claude.json")}},
		"codex's own variable":         {"codex", home, map[string]string{"CODEX_HOME": moved}, []string{in(".npm"), moved}},
		"gemini":                       {"gemini", home, nil, []string{in(".npm"), in(".gemini")}},
		"opencode keeps to XDG":        {"opencode", home, map[string]string{"XDG_DATA_HOME": moved}, []string{in(".npm"), in(".config", "opencode"), filepath.Join(moved, "opencode"), in(".local", "state", "opencode"), in(".cache", "opencode")}},
		"a relative folder is refused": {"codex", home, map[string]string{"CODEX_HOME": "here"}, []string{in(".npm")}},
		"without a home there is none": {"gemini", "", nil, nil},
		"the built-in agent has none":  {"shell", home, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := agents.StateFolders(preset(t, tt.agent), tt.home, func(name string) string { return tt.env[name] })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("folders differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuthMethodIsTheFirstWhoseVariableIsSet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		agent string
		env   map[string]string
		want  string
	}{
		"codex with its own key":            {"codex", map[string]string{"CODEX_API_KEY": "x", "OPENAI_API_KEY": "y"}, "codex-api-key"},
		"codex with its maker's key":        {"codex", map[string]string{"OPENAI_API_KEY": "y"}, "openai-api-key"},
		"the newer adapter has one method":  {"codex-acp", map[string]string{"OPENAI_API_KEY": "y"}, "api-key"},
		"gemini with a key":                 {"gemini", map[string]string{"GEMINI_API_KEY": "x"}, "gemini-api-key"},
		"qwen with a key":                   {"qwen", map[string]string{"OPENAI_API_KEY": "x"}, "openai"},
		"without a key a person must do it": {"codex", nil, ""},
		"an agent that has no such method":  {"claude", map[string]string{"ANTHROPIC_API_KEY": "x"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := agents.AuthMethod(preset(t, tt.agent), func(name string) string { return tt.env[name] }); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
