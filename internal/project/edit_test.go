package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestSetKeepsAllElse(t *testing.T) {
	t.Parallel()
	const file = "# mine\nlimit = 1 # few\n\n[timeouts] # long\nidle = '1m'\n\n# another\n[locks]\ngpu = 2\n\n[[notify]]\nbell = true\n"
	for name, tc := range map[string]struct{ text, key, value, want string }{
		"a value":               {file, "limit", "7", strings.Replace(file, "limit = 1 #", "limit = 7 #", 1)},
		"one of a section":      {file, "timeouts.idle", "2m", strings.Replace(file, "'1m'", `"2m"`, 1)},
		"a new one":             {file, "jobs", "4", strings.Replace(file, "few\n", "few\njobs = 4\n", 1)},
		"a new one of it":       {file, "timeouts.gate", "5m", strings.Replace(file, "'1m'\n", "'1m'\ngate = \"5m\"\n", 1)},
		"a new section":         {file, "storage.keep", "30d", file + "\n[storage]\nkeep = \"30d\"\n"},
		"an entry":              {file, "locks.gpu", "3", strings.Replace(file, "gpu = 2", "gpu = 3", 1)},
		"a new entry":           {file, "agents.mine.command", "x --acp", file + "\n[agents.mine]\ncommand = \"x --acp\"\n"},
		"a list of one":         {"", "gates", "go test ./...", "gates = [\"go test ./...\"]\n"},
		"a list":                {"", "gates", `["a", "b"]`, "gates = [\"a\", \"b\"]\n"},
		"agents":                {"", "agent", `["a", "b"]`, "agent = [\"a\", \"b\"]\n"},
		"below a comment":       {"# mine\n\n# of it\n[locks]\ngpu = 2", "limit", "1", "# mine\n\nlimit = 1\n# of it\n[locks]\ngpu = 2"},
		"without a last line":   {"limit = 1", "jobs", "2", "limit = 1\njobs = 2\n"},
		"under its old name":    {"[run]\nlimit = 1\n", "limit", "2", "[run]\nlimit = 2\n"},
		"over several lines":    {"gates = [\n  'a', # one\n]\nlimit = 1\n", "gates", "b", "gates = [\"b\"]\nlimit = 1\n"},
		"what has quotes in it": {"", "setup", `echo "a" \ b`, "setup = 'echo \"a\" \\ b'\n"},
	} {
		text, err := Set("c.toml", []byte(tc.text), tc.key, tc.value)
		check.OK(t, err)
		check.Equal(t, name, tc.want, string(text))
	}
	for name, tc := range map[string]struct{ text, key, value, want string }{
		"no number":        {"", "limit", "many", `limit: "many" is not a whole number`},
		"too small":        {"", "jobs", "0", "jobs: 0 is too small"},
		"no key":           {"", "limmit", "1", "unknown key limmit"},
		"an old name":      {"", "run.limit", "1", "run.limit is the old name of limit"},
		"a part":           {"", "agent.use", "x", "agent.use is the old name of agent"},
		"an old style":     {"[agent]\nuse = 'x'\n", "agent", "y", "line 2 has agent in the style of an earlier version"},
		"a list of tables": {"", "notify", "x", "notify has entries; add them in the file"},
		"within a table":   {"budget = { task = { cost = 1 } }", "budget.task.tokens", "1", "line 1 sets budget as a whole"},
		"a broken file":    {"limit = 'x'\n", "jobs", "1", "c.toml:1: limit: it is a whole number"},
	} {
		_, err := Set("c.toml", []byte(tc.text), tc.key, tc.value)
		check.Err(t, name, tc.want, err)
	}
}

func TestMigrateRenamesAndKeepsComments(t *testing.T) {
	t.Parallel()
	const old = `# ours
# since 2026

[agent] # who
use = "claude"   # the best
fallback = ["codex"]
env_allow = ["A"]

[agents.mine]
command = "x" # own
# loose

[run]
# few
limit = 5 # at night
backoff = "1s"
# the end of run

[verify]
commands = [
  "a", # first
  "b",
]
[[verify.reviewer]]
focus = "security"
[budget]
until = "07:00"
max_duration = "8h"
[budget.task]
max_cost_usd = 2
[[schedule]]
name = "n"
cron = "* * * * *"
`
	const want = `# ours
# since 2026

# who
# the best
agent = ["claude", "codex"]

# few
limit = 5 # at night
gates = [
  "a", # first
  "b",
]
until = "07:00, 8h"

[sandbox]
env = ["A"]

[agents.mine]
command = "x" # own
# loose

[run]
backoff = "1s"
# the end of run

[[check.reviewer]]
focus = "security"

[budget.task]
cost = 2

[[serve.schedule]]
name = "n"
cron = "* * * * *"
`
	text, moved, err := Migrate("c.toml", []byte(old))
	check.OK(t, err)
	check.Equal(t, "text", want, string(text))
	check.Equal(t, "moved", 10, len(moved))
	again, moved, err := Migrate("c.toml", text)
	check.OK(t, err)
	check.Equal(t, "again", want, string(again))
	check.Equal(t, "moved again", 0, len(moved))
}

func TestMigrateLeavesWhatInitWroteInEarlierVersions(t *testing.T) {
	t.Parallel()
	old := strings.NewReplacer("AGENT", `use = "claude"`, "MODELS", "", "GATES", `commands = ["make"]   # gates: ralph runs them itself after "done"`).Replace(oldTemplate)
	text, _, err := Migrate("c.toml", []byte(old))
	check.OK(t, err)
	check.Equal(t, "text", "agent = \"claude\"\n\ngates = [\"make\"] # gates: ralph runs them itself after \"done\"\n", string(text))
}

func TestMigrateOfEveryOldKeyLosesNothing(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"dotted", "inline"} {
		var text strings.Builder
		for _, k := range Keys() {
			name := k.Old
			if k.Group == Parts {
				name = k.Name
			}
			if name == "" || k.isEntries() || name == "agent.command" {
				continue
			}
			section, word, _ := cutLast(name)
			value := tomlText(k.Shown())
			if f, ok := map[string]string{"budget.until": `"06:30"`, "agent.use": `"x"`, "agent.fallback": `["y"]`, "anomaly.ask": "true"}[name]; ok {
				value = f
			}
			if style == "dotted" {
				text.WriteString(name + " = " + value + "\n")
			} else if strings.Count(section, ".") == 0 {
				text.WriteString("[" + section + "]\n" + word + " = " + value + "\n")
			}
			if style == "inline" { // each section once
				_, moved, err := Migrate("c.toml", []byte(text.String()))
				check.OK(t, err)
				check.That(t, len(moved) == 1 || section == "budget.task" || section == "budget.feature" || section == "budget.day", "%s: moved %v", name, moved)
				text.Reset()
			}
		}
		if style == "dotted" {
			migrated, _, err := Migrate("c.toml", []byte(text.String()))
			check.OK(t, err)
			path := filepath.Join(t.TempDir(), "c.toml")
			check.OK(t, os.WriteFile(path, migrated, 0o600))
			l, err := Load("", path, environ(nil))
			check.OK(t, err)
			check.Equal(t, "old names", 0, len(l.OldNames()))
			check.Equal(t, "agent", "x", l.Agent.Use)
		}
	}
}
