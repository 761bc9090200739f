package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
)

// TestWrongSchedulesAndHooksAreRefused: each is a line that says where and what, and a status that scripts know.
func TestWrongSchedulesAndHooksAreRefused(t *testing.T) {
	t.Parallel()
	nightly := "[[schedule]]\nname = \"nightly\"\ncron = \"0 1 * * *\"\n"
	hook := "[[inbound]]\nname = \"bugs\"\nsecret_env = \"S\"\n"
	tests := map[string]struct{ config, want string }{
		"no name":               {"[[schedule]]\ncron = \"0 1 * * *\"", ".ralph.toml:1: schedule.1: name \"\" is empty"},
		"a name with a path":    {"[[schedule]]\nname = \"../x\"\ncron = \"0 1 * * *\"", `name "../x" is empty or too long, or has more than letters`},
		"a name twice":          {nightly + "\n" + nightly, `.ralph.toml:5: schedule.2: there is another with the name "nightly"`},
		"no cron":               {"[[schedule]]\nname = \"x\"", `"" has 0 fields`},
		"four fields":           {"[[schedule]]\nname = \"x\"\ncron = \"0 1 * *\"", `"0 1 * *" has 4 fields; a cron line has five`},
		"an hour too late":      {"[[schedule]]\nname = \"x\"\ncron = \"0 24 * * *\"", `"0 24 * * *": hour cannot be "24"`},
		"a cron that is none":   {"[[schedule]]\nname = \"x\"\ncron = \"at night\"", `a cron line has five`},
		"an unknown zone":       {nightly + "timezone = \"Mars/Olympus\"", `timezone "Mars/Olympus" is unknown; write it like Europe/Paris or UTC`},
		"an open quote":         {nightly + "run = \"--feature 'x\"", "schedule.1: run: "},
		"a variable":            {nightly + "run = \"--feature $HOME\"", "$HOME is not expanded"},
		"two commands":          {nightly + "run = \"--once; rm -rf x\"", "run: "},
		"an unknown key":        {nightly + "zone = \"UTC\"", "unknown key schedule.zone"},
		"a wrong type":          {nightly + "catch_up = \"yes\"", "it is true or false"},
		"an unknown flag":       {nightly + "run = \"--featur x\"", ".ralph.toml: schedule.1 (nightly): run: "},
		"a wrong value":         {nightly + "run = \"--limit many\"", `--limit is a whole number, not "many"`},
		"flags that contradict": {nightly + "run = \"--dry-run --json\"", "--dry-run prints text"},
		"two targets":           {nightly + "run = \"t-1 t-2\"", ".ralph.toml: schedule.1 (nightly): run: one target: TARGET, --feature, --task or --tag"},
		"another project":       {nightly + "run = \"--project /elsewhere\"", "--project is always this one"},
		"only help":             {nightly + "run = \"--help\"", "--help starts no run"},

		"a hook without a secret":     {"[[inbound]]\nname = \"bugs\"\nrun = \"\"", "inbound.1: secret_env is the name of the variable"},
		"the secret itself":           {"[[inbound]]\nname = \"bugs\"\nsecret_env = \"my secret!\"\nrun = \"\"", "and not the secret itself"},
		"a hook that does nothing":    {hook, "it has either run or template"},
		"a hook that does two things": {hook + "run = \"\"\ntemplate = \"bug-fix\"", "it has either run or template"},
		"an unknown format":           {hook + "run = \"\"\nformat = \"gitlab\"", `format: "gitlab" is not one of github, plain`},
		"events of a plain hook":      {hook + "run = \"\"\nformat = \"plain\"\nevents = [\"push\"]", "events are GitHub's"},
		"an event that is none":       {hook + "run = \"\"\nevents = [\"Push!\"]", `"Push!" is no event`},
		"values without a template":   {hook + "run = \"\"\nset = {a = \"b\"}", "feature, vars and set go with a template"},
		"a path that is none":         {hook + "template = \"bug-fix\"\nset = {bug = \"issue[0]\"}", `set: bug = "issue[0]" is given by vars too, is the feature, or is no place`},
		"a feature from outside":      {hook + "template = \"bug-fix\"\nset = {feature = \"issue.title\"}", `set: feature = "issue.title" is given by vars too, is the feature`},
		"two values for one input":    {hook + "template = \"bug-fix\"\nset = {bug = \"a\"}\nvars = {bug = \"b\"}", `set: bug = "a" is given by vars too`},
		"a hook twice":                {hook + "run = \"\"\n" + hook + "run = \"\"", `there is another with the name "bugs"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			check.OK(t, os.WriteFile(filepath.Join(b.dir, ".ralph.toml"), []byte(tt.config+"\n"), 0o600))
			var said strings.Builder
			sys := cli.System{
				Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &said, Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
				Getwd: func() (string, error) { return b.dir, nil }, Now: time.Now,
			}
			check.Equal(t, "exit status", 64, run([]string{"ralph", "schedule", "list"}, sys))
			check.Contains(t, "the error", tt.want, said.String())
		})
	}
}
