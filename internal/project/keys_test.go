package project

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// A key of the table has a name, a sentence and a value that can be told apart from those of others.
func TestTheTableOfKeysIsWhole(t *testing.T) {
	t.Parallel()
	names, places := map[string]string{}, map[any]string{}
	for _, k := range Keys() {
		for _, name := range []string{k.Name, k.Old} {
			check.That(t, name == "" || names[name] == "", "%s names two keys", name)
			names[name] = k.Name
		}
		check.That(t, k.Doc != "" || k.Group == Parts, "%s has no sentence", k.Name)
		if k.Group == Parts {
			of, _ := find(Keys(), k.rule.of)
			check.That(t, of != nil, "%s is part of %s, which is no key", k.Name, k.rule.of)
			continue
		}
		check.That(t, places[k.at] == "", "%s and %s have one value", k.Name, places[k.at])
		places[k.at] = k.Name
	}
	c := Default()
	leaves := 0
	for _, k := range c.keys() {
		if _, ok := k.at.(compound); !ok && k.Group != Parts || k.Group == Parts && k.Name != "agent.command" {
			leaves++
		}
	}
	check.Equal(t, "fields that no key sets", 0, countLeaves(reflect.ValueOf(c))-leaves)
}

func countLeaves(v reflect.Value) (n int) {
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Struct {
			n += countLeaves(v.Field(i))
		} else {
			n++
		}
	}
	return n
}

func TestOldNamesMeanTheSame(t *testing.T) {
	t.Parallel()
	for now, old := range map[string]string{
		"agent = 'claude'":                               "[agent]\nuse = 'claude'",
		"agent = 'x --acp'":                              "[agent]\ncommand = 'x --acp'\nuse = 'claude'",
		"agent = ['claude', 'codex']":                    "[agent]\nuse = 'claude'\nfallback = ['codex']",
		"agent = ['', 'codex']":                          "agent.fallback = ['codex']",
		"gates = ['a']\nverify = false":                  "[verify]\ncommands = ['a']\nenabled = false",
		"until = '07:00'":                                "[budget]\nuntil = '07:00'",
		"until = '8h'":                                   "[budget]\nmax_duration = '8h'",
		"until = '07:00, 8h'":                            "budget = { until = '07:00', max_duration = '8h' }",
		"max_cost = 2\nlimit = 3\njobs = 4":              "budget.max_cost_usd = 2\nrun.limit = 3\nparallel.jobs = 4",
		"budget.task = { cost = 1, tokens = 2 }":         "[budget.task]\nmax_cost_usd = 1.0\nmax_tokens = 2",
		"[drift]\nanomalies = 'ask'":                     "[anomaly]\nask = true",
		"[drift]\nanomalies = 'stop'":                    "[anomaly]\nstop = true",
		"[drift]\nanomalies = 'off'":                     "[anomaly]\nwrites_per_minute = 0\ndeletions_per_minute = 0\ndestructive = false",
		"[sandbox]\nnetwork = 'off'":                     "[sandbox.network]\nagent = 'off'\nverifier = 'off'",
		"[sandbox]\nnetwork = ['a.example']":             "[sandbox.network]\nhosts = ['a.example']",
		"[check]\nreruns = 0":                            "[verify]\nreruns = 0",
		"[[check.reviewer]]\nfocus = 'x'":                "[[verify.reviewer]]\nfocus = 'x'",
		"[[serve.schedule]]\nname='a'\ncron='* * * * *'": "[[schedule]]\nname='a'\ncron='* * * * *'",
		"[sandbox]\nenv = ['A']\n[storage]\nkeep = '1d'": "[agent]\nenv_allow = ['A']\n[gc]\nolder_than = '1d'",
	} {
		a, _, err := load(t, now)
		check.OK(t, err)
		b, _, err := load(t, old)
		check.OK(t, err)
		check.Equal(t, old, a.Config, b.Config)
		check.Equal(t, "old names in "+now, 0, len(a.OldNames()))
		check.That(t, len(b.OldNames()) == 1 || strings.Contains(old, "minute") || strings.Contains(old, "network"), "no old names in %s", old)
	}
}

func TestOneThingInTwoStylesIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"limit = 1\n[run]\nlimit = 2":             ":3: run.limit: it is the old name of limit, which line 1 sets; leave one of them out",
		"until = '8h'\n[budget]\nuntil = '07:00'": ":3: budget.until: it is the old name of until, which line 1 sets",
		"agent = 'x'\n[agent]\nuse = 'y'":         ":2: ",
		"verify = true\n[verify]\ncommands = []":  ":2: ",
		"gates = []\n\nverify.commands = []":      ":3: verify.commands: it is the old name of gates, which line 1 sets",
		"[[schedule]]\nname='a'\ncron='* * * * *'\n[[serve.schedule]]\nname='b'\ncron='* * * * *'": ": it is the old name of serve.schedule, which line ",
	} {
		_, path, err := load(t, text)
		check.Err(t, text, want, err)
		check.That(t, err != nil && strings.Contains(err.Error(), path), "no path: %v", err)
	}
}

func TestEveryProblemIsShownWithItsLineAndWhatWasMeant(t *testing.T) {
	t.Parallel()
	_, path, err := load(t, "limt = 1\njobs = 0\n[timeouts]\nidel = '1m'\nwait = 'x'\n[agents.a]\ncomand = 'x'\n")
	want := strings.ReplaceAll(`bad configuration: 5 problems
  PATH:1: unknown key limt; did you mean: limit
  PATH:2: jobs: 0 is too small; the least is 1
  PATH:4: unknown key timeouts.idel; did you mean: timeouts.idle
  PATH:5: timeouts.wait: "x" is neither auto nor never nor a duration like 2h
  PATH:7: unknown key agents.a.comand; did you mean: agents.a.command`, "PATH", path)
	check.That(t, err != nil && err.Error() == want, "got %v", err)
}

func TestVariablesSetKeysByBothNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		variables map[string]string
		want      func(*Config)
	}{
		"new":              {map[string]string{"RALPH_MAX_COST": "2", "RALPH_TIMEOUTS_IDLE": "3m"}, func(c *Config) { c.Budget.MaxCostUSD, c.Run.IdleTimeout = 2, Duration(3*time.Minute) }},
		"old":              {map[string]string{"RALPH_BUDGET_MAX_COST_USD": "2"}, func(c *Config) { c.Budget.MaxCostUSD = 2 }},
		"the new one wins": {map[string]string{"RALPH_LIMIT": "2", "RALPH_RUN_LIMIT": "3"}, func(c *Config) { c.Run.Limit = 2 }},
		"a list": {map[string]string{"RALPH_GATES": `["a", "b"]`, "RALPH_AGENT": `["x", "y"]`}, func(c *Config) {
			c.Verify.Commands, c.Agent.Use, c.Agent.Fallback = []string{"a", "b"}, "x", []string{"y"}
		}},
		"a list of one":     {map[string]string{"RALPH_GATES": "go test ./..."}, func(c *Config) { c.Verify.Commands = []string{"go test ./..."} }},
		"agent before part": {map[string]string{"RALPH_AGENT": "x", "RALPH_AGENT_USE": "y"}, func(c *Config) { c.Agent.Use = "x" }},
		"not the model":     {map[string]string{"RALPH_MODEL": "opus"}, func(*Config) {}},
	} {
		l, err := Load("", "", environ(tc.variables))
		check.OK(t, err)
		want := Default()
		tc.want(&want)
		check.Equal(t, name, want, l.Config)
	}
	_, err := Load("", "", environ(map[string]string{"RALPH_GATES": `["a"`}))
	check.Err(t, "a list", `RALPH_GATES: "[\"a\"" is not a list`, err)
}

func TestWhatIsFixedIsShownOnlyWhereItIsSet(t *testing.T) {
	t.Parallel()
	l, path, err := load(t, "[run]\nbackoff = '0s'\n")
	check.OK(t, err)
	origins := map[string]string{}
	for _, s := range l.Settings() {
		origins[s.Key] = s.Origin
	}
	check.Equal(t, "backoff", path, origins["run.backoff"])
	for _, hidden := range []string{"run.breaker", "agent.use", "sandbox.network"} {
		check.That(t, !slices.Contains(slices.Collect(maps.Keys(origins)), hidden), "%s is shown", hidden)
	}
	check.Equal(t, "old names", 0, len(l.OldNames()))
}

func TestLinesOfEntriesAreThoseOfTheirFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[[notify]]\nbell = true\n[locks]\ngpu = 1\n")
	bad := write(t, filepath.Join(dir, "bad.toml"), "hooks = [\n  { on = 'task.done', run = 'x' },\n  { on = 'lunch', run = 'x' },\n]\n[[notify]]\nbell = true\n\n[[notify]]\non = ['run_end']\n[locks]\ncpu = 0\n")
	_, err := Load(user, bad, environ(nil))
	for _, want := range []string{"bad.toml:3: hooks.2: ", "bad.toml:8: notify.2: ", "bad.toml:11: locks.cpu: 0 is too small"} {
		check.Err(t, "load", want, err)
	}
}
