package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Found is what `ralph init` detected; empty means nothing.
type Found struct {
	Agent string // a known agent's name
	Tests string // a command
}

// ignore keeps everything below .ralph out of git, except what travels with it.
const ignore = `# Written by ralph init: state stays here, plans and knowledge travel.
*
!.gitignore
!features/
!features/**
!knowledge/
!knowledge/**
`

// Create makes dir a project and returns the files it wrote. What exists is left
// as it is, so that creating twice changes nothing.
func Create(dir string, found Found) (Project, []string, error) {
	p := Project{Root: dir}
	if _, err := isProject(dir); err != nil {
		return p, nil, err
	}
	for _, folder := range []string{p.State(), filepath.Join(p.State(), "features"), filepath.Join(p.State(), "knowledge")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return p, nil, err
		}
	}
	var written []string
	for _, file := range []struct{ path, text string }{
		{p.ignoreFile(), ignore},
		{p.Config(), configText(found)}, // last: it is what makes the folder a project
	} {
		made, err := writeNew(file.path, file.text)
		if err != nil {
			return p, written, err
		}
		if made {
			written = append(written, file.path)
		}
	}
	return p, written, nil
}

func (p Project) ignoreFile() string { return filepath.Join(p.State(), ".gitignore") }

// Ignore makes sure that the state of a project stays out of git, also if nobody
// ran init: a .ralph.toml may have been written by hand.
func (p Project) Ignore() error {
	if _, err := os.Lstat(p.ignoreFile()); err == nil {
		return nil
	}
	if err := os.MkdirAll(p.State(), 0o700); err != nil {
		return err
	}
	_, err := writeNew(p.ignoreFile(), ignore)
	return err
}

func writeNew(path, text string) (bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half of it would be taken for all of it the next time
		return false, err
	}
	return true, nil
}

func configText(found Found) string {
	agent := `# use = "claude"          # an agent's name, or: command = "my-agent --acp"`
	if found.Agent != "" {
		agent = fmt.Sprintf("use = %q", found.Agent)
	}
	gates := `# commands = ["make test"]   # gates: ralph runs them itself after "done"`
	if found.Tests != "" {
		gates = fmt.Sprintf("commands = [%q]   # gates: ralph runs them itself after \"done\"", found.Tests)
	}
	return strings.NewReplacer("AGENT", agent, "GATES", gates).Replace(configTemplate)
}

const configTemplate = `# ralph's configuration. "ralph config show" prints every value and where it came from.

[agent]
AGENT
# env_allow = []              # more variables that reach it: "NAME", "PREFIX_*"; "!NAME" holds one back
# fallback = ["codex"]        # who goes on while it has met a limit of its provider

# [agents.mine]               # an agent of your own
# command = "my-agent --acp"
# env = { KEY = "value" }
# models = { opus = "big", sonnet = "mid", haiku = "small" }

# [mcp.docs]                  # a server of tools that every agent is given: a command, or a url
# command = "my-docs-server --stdio"
# env = { DOCS_TOKEN = "${DOCS_TOKEN}" }   # from ralph's own environment

[run]
# limit = 0                   # iterations; 0 means no limit
# max_retries = 3             # after work was not accepted
# max_attempts = 5            # without a result
# retry_failed = 0            # after an agent said that a task cannot be done
# breaker = 3                 # attempts in a row in which no agent answered
# model_strategy = "cost-optimized"
# idle_timeout = "10m"        # end an agent that is silent for longer
# turn_timeout = "0s"         # end a turn that takes longer; 0s means no limit
# backoff = "5s"              # before a task without a result is tried again; grows threefold
# keep_going = true           # run the rest of a group in which a task failed
# grace = "0s"                # on SIGTERM, let what runs finish for so long; 0s releases it at once
# wait = "auto"               # for a limit of the agent's provider: auto, never, or at most "2h"

[verify]
# enabled = true              # an agent with fresh eyes, which can change nothing, looks at the result
# agent = ""                  # its name; empty means the agent that did the work
# model = ""                  # its model; empty means that of the work
GATES
# timeout = "10m"             # for each gate
# repair_rounds = 2           # how often a red gate is sent back to the agent before the attempt ends
# reruns = 1                  # of a gate that failed, in case it is flaky
# env_allow = []              # secrets that gates are given all the same: "NAME", "PREFIX_*"; "!NAME" withholds any other
# what judges the work; a change there is tampering:
# protect = [".ralph.toml", ".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".travis.yml", ".buildkite/**", ".drone.yml", ".woodpecker/**", ".ci/**"]

[journal]
# recent = 5                  # iterations of this run that a prompt tells of
# matches = 5                 # earlier ones about the same things
# tokens = 3000               # for all of them

[knowledge]
# tokens = 2000               # for what the project has learned

[recovery]
# resume_session = true       # go on in the session of an attempt that was interrupted, if the agent can
# max_age = "24h"             # what died longer ago is begun anew, not taken up; 0s means never too old
# max_interruptions = 20      # deaths of ralph in a row, before each costs the task an attempt
# on_dirty = "keep"           # uncommitted work of a dead attempt: keep, stash or fail

[gc]
# auto = true                 # at the end of a run, at most once a day, do what ralph gc does
# older_than = "90d"          # what is removed then; failures are kept three times as long

[budget]                      # of a run; 0 means no limit
# max_cost_usd = 0
# max_tokens = 0              # in and out, without what came from a cache
# max_duration = "0s"         # without waiting for limits
# until = ""                  # a time of day, like "07:00"
# max_failures = 0            # tasks that failed in a row

[budget.task]                 # all attempts at one task together
# max_cost_usd = 0
# max_tokens = 0
# max_iterations = 0
# max_duration = "0s"

[budget.feature]              # over all runs
# max_cost_usd = 0
# max_tokens = 0
# max_iterations = 0
# max_duration = "0s"         # that agents worked
# max_failures = 0            # of its tasks, in a row

[budget.day]                  # over all runs
# max_cost_usd = 0
# max_tokens = 0
# max_iterations = 0
# max_duration = "0s"
# max_failures = 0

[prices]                      # USD per million tokens, for agents that do not tell what they cost
# "gpt-5*" = { input = 1.25, cached = 0.125, output = 10 }

[drift]                       # from when on an attempt gets nowhere; 0 turns a detector off
# iterations = 20             # attempts at one task
# tokens = 2000000            # in one attempt
# tool_failures = 10          # in a row
# repeats = 6                 # of the same call with the same result
# unchanged = 2               # attempts in a row that changed no file
# no_progress = "20m"         # nothing new in an attempt

[telemetry]
# prometheus = ""             # a file, for the textfile collector of Prometheus; relative to this folder

# [[notify]]                  # tell somebody; several are possible, and those of all files count
# on = ["run_end", "task_failed", "blocked", "waiting", "budget", "needs_input", "recovered"]   # none means all
# webhook = "${SLACK_WEBHOOK}"   # Slack, or what understands the same; from ralph's own environment
# command = "my-notifier"     # for sh; the message is on its stdin, as JSON
# desktop = true              # notify-send or osascript
# bell = true                 # of the terminal
# title = true                # of the terminal

[sandbox]
# mode = "auto"               # auto takes the best there is, require refuses to run without, off
# write = []                  # what agents and gates may write besides, such as "~/shared"
# deny_read = ["~/.ssh"]      # what they cannot read
`

// DetectTests guesses how the tests of the code in dir are run, or returns "".
func DetectTests(dir string) string {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	contains := func(name, text string) bool {
		data, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && strings.Contains("\n"+string(data), text)
	}
	switch {
	case has("go.mod"):
		return "go test ./..."
	case has("Cargo.toml"):
		return "cargo test"
	case contains("package.json", `"test"`):
		return "npm test"
	case has("pyproject.toml"), has("pytest.ini"), has("setup.cfg"):
		return "pytest"
	case has("mix.exs"):
		return "mix test"
	case has("pom.xml"):
		return "mvn -q test"
	case has("build.gradle"), has("build.gradle.kts"):
		return "gradle test"
	case contains("Makefile", "\ntest:"):
		return "make test"
	case contains("justfile", "\ntest"):
		return "just test"
	default:
		return ""
	}
}
