package agents_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/ratelimit"
	"ralph/internal/testing/check"
)

func TestLimitsOfAccounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		until, at time.Duration // from now
		want      bool
	}{
		"one that is met":                      {time.Hour, -time.Minute, true},
		"one that is over":                     {-time.Second, -time.Hour, false},
		"as long as any":                       {ratelimit.Longest, 0, true},
		"longer than any, by a clock that ran": {ratelimit.Longest + time.Hour, 0, false},
		"written in the future":                {time.Hour, 30 * time.Minute, false},
	} {
		l := agents.Limits{Dir: filepath.Join(t.TempDir(), "limits")}
		check.That(t, len(l.All(now)) == 0, "%s: a limit before there is one", name)
		check.OK(t, l.Set("a", agents.Limited{Until: now.Add(tc.until), At: now.Add(tc.at), Reason: "r"}))
		of, got := l.All(now)["a"]
		check.That(t, got == tc.want && (!got || of.Reason == "r"), "%s: got %v, %v", name, of, got)
		check.OK(t, l.Lift("a"))
		check.OK(t, l.Lift("a"))
		check.That(t, len(l.All(now)) == 0, "%s: it was lifted", name)
	}
}

func TestDamagedLimitsSayNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "half": `{"until":"2026-`, "list": "[]", "null": "null", "binary": "\x00\xff", "wrong": `{"until":5}`} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600))
	}
	check.OK(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	check.That(t, len(agents.Limits{Dir: dir}.All(time.Now())) == 0, "damage is taken for a limit")
}

// TestManyWriteLimits: whoever reads meanwhile sees one of them whole.
func TestManyWriteLimits(t *testing.T) {
	t.Parallel()
	l, now := agents.Limits{Dir: t.TempDir()}, time.Now()
	set := func() error { return l.Set("a", agents.Limited{Until: now.Add(time.Hour), At: now, Reason: "r"}) }
	check.OK(t, set())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				check.OK(t, set())
				of, ok := l.All(now)["a"]
				check.That(t, ok && of.Reason == "r", "got %v", of)
			}
		})
	}
	all.Wait()
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	account := func(name string, custom map[string]project.CustomAgent, env ...string) string {
		f := agents.Finder{Config: project.Loaded{Config: project.Config{Agents: custom}}, Environ: append(env, "HOME=/home/me")}
		p, err := f.Preset(name)
		check.OK(t, err)
		return f.Account(p)
	}
	second := map[string]project.CustomAgent{"claude-2": {Like: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": "/home/me/2"}}, "mine": {Like: "claude"}}
	mine := account("claude", nil)
	check.Equal(t, "another name for the same login", mine, account("mine", second))
	check.That(t, mine != account("claude-2", second), "another folder is another login")
	check.That(t, mine != account("claude", nil, "ANTHROPIC_API_KEY=x"), "a key is another account")
	check.That(t, account("claude", nil, "ANTHROPIC_API_KEY=y") != account("claude", nil, "ANTHROPIC_API_KEY=x"), "another key is another account")
	check.That(t, mine != account("codex", nil), "another agent has another account")

	// ralph's own agents share their folder, and may have no key.
	gateway := map[string]project.CustomAgent{"gateway": {Like: "openai", Env: map[string]string{"OPENAI_BASE_URL": "http://a"}}, "again": {Like: "openai"}}
	check.Equal(t, "another name for the same service", account("openai", nil, "OPENAI_API_KEY=x"), account("again", gateway, "OPENAI_API_KEY=x"))
	check.Equal(t, "the same address", account("openai", nil, "OPENAI_BASE_URL=http://a"), account("gateway", gateway))
	different := map[string]string{}
	for name, of := range map[string]string{
		"anthropic": account("anthropic", nil), "anthropic elsewhere": account("anthropic", nil, "ANTHROPIC_BASE_URL=http://a"),
		"openai": account("openai", nil, "OPENAI_API_KEY=x"), "gateway": account("gateway", gateway, "OPENAI_API_KEY=x"), "openai without a key": account("openai", nil),
		"local": account("local", nil), "local at a": account("local", nil, "OPENAI_BASE_URL=http://a"), "local at b": account("local", nil, "OPENAI_BASE_URL=http://b"),
		"Ollama at a": account("local", nil, "OLLAMA_HOST=http://a"), "Ollama at b": account("local", nil, "OLLAMA_HOST=http://b"),
	} {
		check.That(t, different[of] == "", "%s and %s have one account", name, different[of])
		different[of] = name
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	f := agents.Finder{Config: project.Loaded{Config: project.Config{Agents: map[string]project.CustomAgent{
		"claude-2": {Like: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": "/2"}, Models: map[string]string{"opus": "best"}},
		"third":    {Like: "claude-2"}, "self": {Like: "self"}, "lost": {Like: "nobody"},
	}}}}
	claude, err := f.Preset("claude")
	check.OK(t, err)
	p, err := f.Preset("claude-2")
	check.OK(t, err)
	check.Equal(t, "name", "claude-2", p.Name)
	check.Equal(t, "command", claude.Command, p.Command)
	check.Equal(t, "tier", []string{"best"}, p.Tiers["opus"])
	check.Equal(t, "other tier", claude.Tiers["haiku"], p.Tiers["haiku"])
	check.Equal(t, "state", []string{"/2"}, p.StateFolders([]string{"CLAUDE_CONFIG_DIR=/2"}))
	for _, name := range []string{"third", "self", "lost"} {
		_, err := f.Preset(name)
		check.That(t, err != nil, "%s is like nothing", name)
	}
}
