package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/doctor"
	"ralph/internal/jsonval"
	"ralph/internal/taskfile"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	"ralph/journal"
	"ralph/loop/recovery"
	"ralph/report"
)

// TestJSONShapesAreDocumented writes docs/json.md from what the commands print.
func TestJSONShapesAreDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(0, "feature", "create", "login")
	group := b.add("Login form", "--feature", "login")
	design := b.add("Design it", "--parent", group, "--gate", "go test ./...")
	build := b.add("Build it", "--parent", group, "--after", design, "-d", "With tests.", "--priority", "2", "--agent", "shell")
	b.run(0, "task", "log", design, "-m", "keep it small")
	b.run(0, "task", "fail", build, "-r", "no idea")
	b.run(0, "knowledge", "add", "Forms need labels", "--tag", "form", "-d", "For screen readers.")

	var doc strings.Builder
	doc.WriteString(jsonIntro)
	for _, args := range []string{
		"task show " + build, "task list --feature login", "task tree " + design, "task why " + build, "task log " + design,
		"task deps list " + build, "task graph --format json", "feature show login", "feature list",
		"status", "knowledge list", "knowledge lint", "gc --older-than 90d",
		"config show", "version", "init",
		"runs list", "report", "cost --by model", "stats",
	} {
		if args == "runs list" {
			b.pretendRun() // from here on there was one
		}
		words := strings.Fields(args)
		if !strings.Contains(args, "--format") {
			words = append(words, "--json")
		}
		out := regexp.MustCompile(`"(go|os|arch|version)": "[^"]*"`).ReplaceAllString(b.run(0, words...), `"$1": "..."`)
		out = regexp.MustCompile(`"revision": .*`).ReplaceAllString(out, `"revision": null,`)
		// Other tests kill runs meanwhile, and what those leave in the temporary folder is counted.
		out = regexp.MustCompile(`"(temporary_files|freed_bytes)": \d+`).ReplaceAllString(out, `"$1": 0`)
		fmt.Fprintf(&doc, "\n## ralph %s\n\n```json\n%s```\n", strings.Join(words, " "), out)
	}
	doc.WriteString(sample(t, "ralph task import FILE --json", importedJSON{
		Format: "beads", Tasks: []string{group, design}, Unmapped: []taskfile.Unmapped{{What: "labels", Count: 7, Lines: []int{1, 2, 4, 5, 8}}},
	}))
	doc.WriteString(logSample(t, b.now))
	doc.WriteString(sample(t, "ralph feature spec, plan, build, approve and create --json", samplePlanned()))
	doc.WriteString(sample(t, "ralph task create --json", createdJSON{Kept: true, Tasks: []string{"t-00000001"}, Warnings: samplePlanned().Steps[1].Warnings}))
	doc.WriteString(sample(t, "ralph journal list --json", []journalJSON{journalAsJSON(sampleEntry(b.now))}))
	doc.WriteString(sample(t, "ralph agents --json", []agents.Description{sampleAgent()}))
	doc.WriteString(sample(t, "ralph agents test NAME --json", sampleTrial()))
	doc.WriteString(sample(t, "ralph doctor --json", sampleFindings()))
	doc.WriteString(sample(t, "ralph recover --json", recoveryAsJSON(sampleRecovery(), false)))
	doc.WriteString(sample(t, "In runs of ralph status --json, while one is under way", sampleRun(b.now)))
	doc.WriteString(sample(t, "ralph run --json (the last line of stdout, on one line)", sampleOutcome()))
	doc.WriteString(sample(t, "In history of ralph task show --json, an attempt", report.ViewAttempts("", []dag.Attempt{sampleAttempt(b.now)})))
	for _, name := range jsonCommands(nil, newApp(system{}).cli.Commands) {
		if !strings.Contains(doc.String(), "\n## ralph "+name+" ") && !strings.Contains(doc.String(), "`"+name+"`") {
			t.Errorf("nothing is said about ralph %s --json", name)
		}
	}
	text := regexp.MustCompile(`(?m)^## .*$`).ReplaceAllStringFunc(doc.String(), func(h string) string {
		return regexp.MustCompile(`t-[0-9a-f]{8}`).ReplaceAllString(h, "ID")
	})
	golden.Check(t, "../../docs/json.md", withContents(b.normal(text)))
}

// jsonCommands names all commands that take --json.
func jsonCommands(path []string, commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		here := append(append([]string{}, path...), c.Name)
		for _, f := range c.Flags {
			if f.Names()[0] == "json" && !c.Hidden {
				names = append(names, strings.Join(here, " "))
			}
		}
		names = append(names, jsonCommands(here, c.Subcommands)...)
	}
	return names
}

// sample documents a shape that needs a run to be printed.
func sample(t *testing.T, title string, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	check.OK(t, err)
	return fmt.Sprintf("\n## %s\n\n```json\n%s\n```\n", title, data)
}

func sampleEntry(at time.Time) journal.Entry {
	in, out := int64(12000), int64(800)
	cost := 0.12
	return journal.Entry{
		N: 1, At: at, Run: "r-00000001", Attempt: "a-00000001", Iteration: 1, Task: "t-00000001", Feature: "login", Title: "Build it",
		Outcome: "retried", Reason: "gate \"go test ./...\": exit status 1", Notes: "the schema was wrong", Agent: "claude", Model: "sonnet",
		ModelEffective: "sonnet", StopReason: "end_turn", Duration: 90 * time.Second, Usage: event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost},
		Files: []string{"form.go"},
	}
}

func sampleRecovery() recovery.Recovery {
	return recovery.Recovery{Runs: []string{"r-00000001"}, Orphans: 2, Tasks: []recovery.Reclaimed{{
		Task: "t-00000001", Title: "Build it", Run: "r-00000001", Attempt: "a-00000001", Phase: dag.Verifying,
		Action: recovery.Resumed, Reason: "its run died while its finished work was being verified; resumed at verification",
	}}}
}

// sampleFindings has one of each level; what a machine has differs.
func sampleFindings() []doctor.Finding {
	return []doctor.Finding{
		doctor.New("database", doctor.OK, "12 tasks, 184 KiB", ""),
		doctor.New("derived columns", doctor.Problem, "they disagree with what they are derived from", "ralph doctor --fix", "t-00000001: open_deps is 4 and should be 0"),
		doctor.New("agent", doctor.OK, "claude answers as claude-agent-acp 0.4.1, after 1.3 s", ""),
		doctor.New("disk", doctor.Warning, "512.0 MiB free for the project, 20.3 GiB for temporary files",
			"free some space; what old runs have left goes with: ralph gc --older-than 30d", "512.0 MiB are left in /home/you/project"),
	}
}

func sampleRun(at time.Time) report.OpenRun {
	in, out, cost, when := int64(12000), int64(800), 0.12, jsonval.Stamp{Time: at}
	return report.OpenRun{
		ID: "r-00000001", PID: 4242, Feature: "login", StartedAt: when, Heartbeat: when, Iterations: 2, State: "running",
		Attempts: []report.Checkpoint{{
			ID: "a-00000003", Task: "t-00000001", Phase: dag.Prompted, Iteration: 3, Agent: "claude", Model: "sonnet",
			StartedAt: when, Heartbeat: when, TokensIn: &in, TokensOut: &out, Cost: report.Cost{CostUSD: &cost},
		}},
	}
}

func sampleAttempt(at time.Time) dag.Attempt {
	cost := 0.12
	return dag.Attempt{
		ID: "a-00000001", Run: "r-00000001", Agent: "claude", Model: "sonnet", StartedAt: at, EndedAt: at.Add(90 * time.Second), Usage: event.Usage{CostUSD: &cost},
		Outcome: "retried", Reason: "gate \"go test ./...\": exit status 1", Sandbox: "namespaces", Verdict: "failed",
		Gates: []dag.GateRecord{{Command: "go test ./...", Exit: "exit status 1", Baseline: "green", Verdict: "failed"}},
	}
}

func samplePlanned() plannedJSON {
	spec, tasks := "/home/you/project/.ralph/features/login/spec.md", "/home/you/project/.ralph/features/login/tasks.jsonl"
	warning := features.Finding{Level: features.Warning, Rule: "gate", Text: "no task has a gate and the project has none: nothing but the agent's word says that work is done"}
	return plannedJSON{
		Feature: report.ViewFeature(dag.Feature{
			ID: "f-00000001", Name: "login", Status: "ready", Tasks: map[dag.Status]int{dag.Pending: 1}, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		}, "/home/you/project/.ralph/features/login"),
		Steps: []features.Step{
			{Step: "spec", Did: "written", Path: spec, Passes: 2, Settled: true, Findings: []string{"Completeness: R2 was missing"}, Warnings: []features.Finding{}, Tasks: []string{}},
			{Step: "build", Did: "approved", Path: tasks, Findings: []string{}, Warnings: []features.Finding{warning}, Tasks: []string{"t-00000001"}},
		},
		Next: "ralph run --feature login",
	}
}

func sampleOutcome() report.ResultJSON {
	return report.NewResult(event.Result{
		Outcome: "complete", Reason: "1 of 2 tasks failed", Run: "r-00000001", Iterations: 3, Counts: event.Counts{Done: 1, Failed: 1}, Duration: 90 * time.Second,
		Together: &event.Together{Continues: "r-00000002", Iterations: 5, Usage: event.Usage{Unknown: true}, Duration: 240000},
		Tasks:    []event.Resolved{{ID: "t-00000001", Title: "Build it", Status: "failed", Outcome: "failed", Reason: "no idea", Attempts: 2}},
	})
}

func sampleAgent() agents.Description {
	return agents.Description{
		Name: "gemini", Title: "Gemini", Chosen: true, Installed: true, Start: []string{"/usr/bin/gemini", "--acp"}, Package: jsonval.Text("@google/gemini-cli"),
		ModelBy: "session/set_model", Tiers: map[string][]string{"opus": {"gemini-#-pro"}}, Reports: "tokens", Login: jsonval.Text("run gemini and choose how to log in"),
		Credentials: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Set: []string{"GEMINI_API_KEY"}, Env: []string{"GEMINI_*", "GOOGLE_*"}, State: []string{"/home/you/.gemini"},
	}
}

func sampleTrial() agents.Report {
	return agents.Report{
		Agent: "gemini", OK: true, Start: []string{"/usr/bin/gemini", "--acp"}, Says: jsonval.Text("gemini-cli 0.61.0"), Credential: jsonval.Text("GEMINI_API_KEY"),
		Steps:        []agents.Step{{Step: "start", Seconds: 0.02}, {Step: "initialize", Seconds: 1.5}, {Step: "session/new", Seconds: 0.8}, {Step: "session/prompt", Seconds: 2.1}},
		Capabilities: []string{"load sessions", "images"}, Mode: jsonval.Text("default"), Modes: []string{"default", "yolo"},
		Model: jsonval.Text("gemini-2.5-pro"), Models: []string{"gemini-2.5-pro", "gemini-2.5-flash"}, Logins: []string{"Use an API key"},
		Answer: jsonval.Text("OK"), StopReason: jsonval.Text("end_turn"), Usage: &event.Usage{TokensIn: 900, TokensOut: 1},
	}
}

const jsonIntro = `# JSON

[Documentation](README.md)

Every command that prints a result takes ` + "`--json`" + `. Keys do not change once released; more may
be added. Times are RFC 3339 in UTC. What is unknown or absent is ` + "`null`" + `, never 0 or "".

This page is written by a test from what the commands print (` + "`go test ./cmd/ralph -update`" + `).
The lines that ` + "`task import`" + ` reads and ` + "`task export`" + ` writes are in cli.md.

| commands | print |
|---|---|
| ` + "`task add`, `task update`" + ` | a task, as ` + "`task list`" + ` does |
| ` + "`feature spec`, `feature plan`, `feature build`, `feature approve`, `feature create`" + ` | the same shape, told once; a draft is a feature, as ` + "`feature list`" + ` tells it |
| ` + "`feature gate`" + ` | a list of commands: ` + "`[\"go test ./...\"]`" + ` |
| ` + "`runs show`" + ` | what ` + "`report`" + ` prints |
| ` + "`journal search`, `journal show`" + ` | what ` + "`journal list`" + ` prints; of one entry, without the list |
| ` + "`knowledge search`, `knowledge show`, `knowledge add`" + ` | what ` + "`knowledge list`" + ` prints; of one entry, without the list |

` + "`unverified`" + ` of a task is the attempt whose finished work awaits its verdict, or ` + "`null`" + `: the next run verifies, and runs
no agent again. It may be ` + "`ready`" + ` at the same time.
`

// TestCommandsAreDocumented writes docs/cli.md from the help of every command.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var doc strings.Builder
	doc.WriteString(cliIntro)
	fmt.Fprintf(&doc, "\n## ralph\n\n```\n%s```\n", b.run(0, "--help"))
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			here := append(append([]string{}, path...), c.Name)
			help := b.run(0, append(here, "--help")...)
			for _, part := range []string{"Example:", "Exit status:"} {
				if !strings.Contains(help, part) {
					t.Errorf("help of %s has no %s", strings.Join(here, " "), part)
				}
			}
			fmt.Fprintf(&doc, "\n## ralph %s\n\n```\n%s```\n", strings.Join(here, " "), help)
			walk(here, c.Subcommands)
		}
	}
	walk(nil, newApp(system{}).cli.Commands)
	golden.Check(t, "../../docs/cli.md", withContents(doc.String()))
}

const cliIntro = `# The command line

[Documentation](README.md)

Results go to stdout, everything else to stderr. Flags may stand before or after arguments, as
` + "`--x v` or `--x=v`" + `; ` + "`--`" + ` ends them. A task's ID may be shortened to any unambiguous prefix, and its
leading ` + "`t-`" + ` left out; a feature goes by name or ID. Without a terminal there is no colour and no
question. An error is one line, and where it helps a second one that begins with ` + "`hint:`" + `.

| exit status | means |
|---|---|
| 0 | success |
| 1 | refused: a cycle, a taken name, a newer or foreign database, a read-only folder, a full disk; of a run: tasks failed |
| 2 | of a run: blocked, nothing can run and work remains |
| 3 | not found; of a run: no task in scope |
| 4 | of a run: a limit, or ` + "`ralph stop`" + ` |
| 5 | no usable agent |
| 64 | bad flag, bad configuration, ambiguous prefix, not a project, no usable temporary folder |
| 70 | a bug, or the database failed in the middle |
| 129, 130, 143 | interrupted by the end of the terminal, by Ctrl-C, by SIGTERM |

This page is written by a test from the help of every command (` + "`go test ./cmd/ralph -update`" + `).
`

// TestReadmeSessionWorks runs the session of the README as it is printed there.
func TestReadmeSessionWorks(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	check.OK(t, err)
	_, after, found := strings.Cut(string(readme), "<!-- session -->\n```sh\n")
	session, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		t.Fatal("README has no session")
	}
	bin := t.TempDir()
	self, err := os.Executable()
	check.OK(t, err)
	// testscript dispatches on the name that the test binary is called by.
	check.OK(t, os.Symlink(self, filepath.Join(bin, "ralph")))
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", session)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
