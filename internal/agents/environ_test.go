package agents_test

import (
	"path/filepath"
	"slices"
	"testing"

	"ralph/internal/agents"
	"ralph/internal/testing/check"
)

func TestEnvironLetsThroughOnlyWhatIsListed(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "Path=/windows", "https_proxy=http://p", "LC_ALL=C", "=C:=C:\\", "broken",
		"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "GH_TOKEN=t",
		"AWS_SECRET_ACCESS_KEY=s", "DATABASE_URL=d", "RALPH_MODEL=opus", "IS_SANDBOX=0", "GOOGLE_API_KEY=k", "SSH_AUTH_SOCK=/s",
	}
	base := []string{"PATH=/bin", "Path=/windows", "https_proxy=http://p", "LC_ALL=C"}
	for name, tt := range map[string]struct {
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
		"what the user lets through":              {define(t, "my-agent", agents.Definition{Allow: []string{"DATABASE_*"}}), false, []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "DATABASE_URL=d", "GOOGLE_API_KEY=k"}},
		"what the user holds back":                {with("claude", "!ANTHROPIC_API_KEY", "!IS_*"), false, nil},
		"the last word counts":                    {with("codex", "*", "!*", "PATH", "Path", "https_proxy", "LC_*", "GH_TOKEN"), false, []string{"GH_TOKEN=t"}},
		"an unknown command gets providers' keys": {define(t, "my-agent", agents.Definition{}), false, []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "GOOGLE_API_KEY=k"}},
	} {
		want := base
		if len(tt.extra) > 0 && tt.extra[0] == "PATH=/mine" {
			want = want[1:]
		}
		check.Equal(t, name, slices.Concat(want, tt.extra), agents.Environ(tt.preset, environ, tt.root))
	}
}

func define(t *testing.T, command string, d agents.Definition) agents.Preset {
	t.Helper()
	d.Command = []string{command}
	p, ok := agents.Define(d)
	if !ok {
		t.Fatalf("%v defines no agent", command)
	}
	return p
}

// with is a known agent with what a user says about its variables.
func with(name string, allow ...string) agents.Preset {
	p, _ := agents.Define(agents.Definition{Name: name, Allow: allow})
	return p
}

func TestATerminalGetsWhatTheUserLetsThroughButNoCredential(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "CI=1", "ANTHROPIC_API_KEY=a", "GH_TOKEN=t", "DATABASE_URL=d", "OTHER=o"}
	for name, tt := range map[string]struct {
		preset agents.Preset
		want   []string
	}{
		"nothing is said":              {with("claude"), []string{"PATH=/bin", "CI=1"}},
		"one more is let through":      {with("claude", "DATABASE_URL"), []string{"PATH=/bin", "CI=1", "DATABASE_URL=d"}},
		"everything is let through":    {with("claude", "*"), []string{"PATH=/bin", "CI=1", "DATABASE_URL=d", "OTHER=o"}},
		"a credential is let through":  {with("shell", "ANTHROPIC_API_KEY", "GH_TOKEN"), []string{"PATH=/bin", "CI=1"}},
		"a common one is held back":    {with("claude", "!CI"), []string{"PATH=/bin"}},
		"an agent that nobody defined": {agents.Preset{}, []string{"PATH=/bin", "CI=1"}},
	} {
		check.Equal(t, name, tt.want, agents.TerminalEnviron(tt.preset, environ))
	}
}

func TestCredentialsAreNamedInTheOrderOfTheAgent(t *testing.T) {
	t.Parallel()
	environ := []string{"OPENAI_API_KEY=o", "ANTHROPIC_API_KEY=a", "ANTHROPIC_AUTH_TOKEN=b", "CODEX_API_KEY=", "GITHUB_TOKEN=g", "GEMINI_API_KEY= \t"}
	for name, want := range map[string][]string{
		"claude":   {"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"},
		"codex":    {"OPENAI_API_KEY"},
		"copilot":  {"GITHUB_TOKEN"},
		"opencode": {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"},
		"gemini":   nil,
		"shell":    nil,
	} {
		p := preset(t, name)
		check.Equal(t, name, want, agents.Credentials(p, agents.Environ(p, environ, false)))
	}
	held := with("claude", "!ANTHROPIC_*")
	check.Equal(t, "what the user held back", []string(nil), agents.Credentials(held, agents.Environ(held, environ, false)))
}

// TestEveryCredentialReachesItsAgentAndNobodyElse catches a credential that was
// added to one list and forgotten in the other.
func TestEveryCredentialReachesItsAgentAndNobodyElse(t *testing.T) {
	t.Parallel()
	for _, p := range append(agents.All(), define(t, "my-agent", agents.Definition{})) {
		for _, name := range p.Credentials {
			entry := []string{name + "=x"}
			check.That(t, len(agents.Environ(p, entry, false)) == 1, "%s: %s does not reach it", p.Name, name)
			check.That(t, len(agents.WithoutCredentials(entry)) == 0, "%s: gates and terminals see %s", p.Name, name)
		}
		for _, a := range p.Auth {
			got := agents.Environ(p, []string{a.Variable + "=x"}, false)
			check.That(t, len(got) == 1, "%s: %s, of its login, does not reach it", p.Name, a.Variable)
		}
	}
}

func TestStateFoldersAreAbsoluteAndFollowTheEnvironment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	moved := filepath.Join(home, "moved")
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	at := "HOME=" + home
	for name, tt := range map[string]struct {
		agent     string
		env, want []string
	}{
		"claude's default":             {"claude", []string{at}, []string{in(".npm"), in(".claude"), in(".claude.json")}},
		"claude's own variable":        {"claude", []string{at, "CLAUDE_CONFIG_DIR=" + moved}, []string{in(".npm"), moved, in(".claude.json")}},
		"codex's own variable":         {"codex", []string{at, "CODEX_HOME=" + moved}, []string{in(".npm"), moved}},
		"gemini":                       {"gemini", []string{at}, []string{in(".npm"), in(".gemini")}},
		"opencode keeps to XDG":        {"opencode", []string{at, "XDG_DATA_HOME=" + moved}, []string{in(".npm"), in(".config", "opencode"), filepath.Join(moved, "opencode"), in(".local", "state", "opencode"), in(".cache", "opencode")}},
		"a relative folder is refused": {"codex", []string{at, "CODEX_HOME=here"}, []string{in(".npm")}},
		"without a home there is none": {"gemini", nil, nil},
		"the built-in agent has none":  {"shell", []string{at}, nil},
	} {
		check.Equal(t, name, tt.want, preset(t, tt.agent).StateFolders(tt.env))
	}
}

func TestAuthMethodIsTheFirstWhoseVariableIsSet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent string
		env   []string
		want  string
	}{
		"codex with its own key":            {"codex", []string{"CODEX_API_KEY=x", "OPENAI_API_KEY=y"}, "codex-api-key"},
		"codex with its maker's key":        {"codex", []string{"OPENAI_API_KEY=y"}, "openai-api-key"},
		"the newer adapter has one method":  {"codex-acp", []string{"OPENAI_API_KEY=y"}, "api-key"},
		"gemini with a key":                 {"gemini", []string{"GEMINI_API_KEY=x"}, "gemini-api-key"},
		"qwen with a key":                   {"qwen", []string{"OPENAI_API_KEY=x"}, "openai"},
		"without a key a person must do it": {"codex", nil, ""},
		"an agent that has no such method":  {"claude", []string{"ANTHROPIC_API_KEY=x"}, ""},
	} {
		check.Equal(t, name, tt.want, agents.AuthMethod(preset(t, tt.agent), tt.env))
	}
}

func TestAnUnknownAgentMayHaveFoldersWhereOthersDo(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	env := []string{"HOME=" + home}
	got := define(t, "/opt/my-agent", agents.Definition{}).PossibleFolders(env)
	for _, want := range []string{in(".claude"), in(".codex"), in(".gemini"), in(".my-agent"), in(".config", "my-agent"), in(".local", "share", "opencode")} {
		check.That(t, slices.Contains(got, want), "%s is missing from %q", want, got)
	}
	for _, never := range []string{home, in(".config"), in(".local", "share"), in(".ssh")} {
		check.That(t, !slices.Contains(got, never), "%s is too much", never)
	}
	check.Equal(t, "those of a known agent", []string(nil), define(t, "opencode", agents.Definition{}).PossibleFolders(env))
}
