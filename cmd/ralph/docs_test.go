package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/db"
	"ralph/internal/doctor"
	"ralph/internal/jsonval"
	"ralph/internal/render/transcript"
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

func sampleOutcome() jsonval.Object {
	return report.ResultJSON(event.Result{
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

// longPage is how many lines a page may have without a table of contents.
const longPage = 350

// TestTheIndexListsEveryPage: docs/README.md links every page, every page links back in its
// first lines, and a long page begins with its contents.
func TestTheIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("../../docs/README.md")
	check.OK(t, err)
	pages, err := filepath.Glob("../../docs/*.md")
	check.OK(t, err)
	for _, path := range pages {
		name := filepath.Base(path)
		data, err := os.ReadFile(path)
		check.OK(t, err)
		if name == "README.md" {
			continue
		}
		text := string(data)
		if !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
		if top := strings.Join(strings.SplitN(text, "\n", 5)[:4], "\n"); !strings.Contains(top, "](README.md)") {
			t.Errorf("the top of docs/%s has no link to the index: write [Documentation](README.md)", name)
		}
		if strings.Count(text, "\n") > longPage {
			golden.Check(t, path, withContents(text))
		}
	}
}

var contents = regexp.MustCompile(`(?s)\n## Contents\n\n.*?\n\n`)

// withContents lists the headings of a page's second level before the first of them.
func withContents(page string) string {
	page = contents.ReplaceAllString(page, "\n")
	var list strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(m[1]), "")
		fmt.Fprintf(&list, "- [%s](#%s)\n", m[1], strings.ReplaceAll(anchor, " ", "-"))
	}
	before, after, _ := strings.Cut(page, "\n## ")
	return before + "\n## Contents\n\n" + list.String() + "\n## " + after
}

// TestTheMapOfNewCodeNamesFiles: the table in docs/architecture.md names what exists.
func TestTheMapOfNewCodeNamesFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	check.OK(t, err)
	_, table, _ := strings.Cut(string(page), "\n## Where new code goes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range []string{"a notification kind", "a gate verdict", "a verb", "an agent", "a sandbox level"} {
		if !strings.Contains(table, "| "+row+" | `") {
			t.Errorf("the table does not say where %s goes", row)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z]+/[^` ]*)`").FindAllStringSubmatch(table, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Error(err)
		}
	}
}

// pretendRun records a run of one attempt, so that what tells of runs has
// something to tell.
func (b *bench) pretendRun() {
	b.t.Helper()
	d, err := db.Open(b.t.Context(), filepath.Join(b.dir, ".ralph", "progress.db"), db.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	defer d.Close()
	now := b.now
	store := dag.New(d, dag.Options{Now: func() time.Time { return now }})
	in, cached, out, cost := int64(12000), int64(9000), int64(800), 0.12
	var run dag.Run
	steps := []func(g *dag.Graph) error{
		func(g *dag.Graph) (err error) {
			run, err = g.StartRun(dag.Scope{Feature: "login"}, dag.Process{PID: 1})
			return err
		},
		func(g *dag.Graph) error {
			c, _, err := g.Claim(dag.ClaimOptions{Run: run, Scope: run.Scope, KeepGoing: true, Lease: time.Hour, Iteration: 1})
			if err != nil {
				return err
			}
			err = g.NoteAttempt(c.Attempt, dag.Note{
				Agent: "claude", Model: "sonnet", ModelEffective: "claude-sonnet-4-5", Sandbox: "full", StopReason: "end_turn",
				Usage: &event.Usage{TokensIn: in, TokensCached: cached, TokensOut: out, CostUSD: &cost}, Files: []string{"form.go"},
			})
			if err != nil {
				return err
			}
			gates := `[{"command":"go test ./...","passed":false,"exit":"exit status 1","baseline":"green","verdict":"failed"}]`
			if err := g.Tx().Exec(`UPDATE attempts SET gates = :gates;`, ":gates", gates); err != nil {
				return err
			}
			now = now.Add(90 * time.Second)
			return nil
		},
		func(g *dag.Graph) error {
			tasks, err := g.List(dag.Filter{Statuses: []dag.Status{dag.InProgress}})
			if err != nil {
				return err
			}
			c := dag.Claim{Task: tasks[0], Owner: tasks[0].Owner, Generation: tasks[0].Generation}
			return g.Fail(c, "gate \"go test ./...\": exit status 1\n--- FAIL: TestForm")
		},
		func(g *dag.Graph) error { return g.EndRun(run.ID, "complete", "", 1) },
	}
	for _, step := range steps {
		if err := store.Update(b.t.Context(), step); err != nil {
			b.t.Fatal(err)
		}
	}
}

// logSample documents the lines of `ralph logs --json`, each on one line.
func logSample(t *testing.T, at time.Time) string {
	t.Helper()
	cost := 0.12
	text := "\n## ralph logs --json (one object a line; what does not belong to its kind is absent)\n\n```json\n"
	for _, l := range []transcript.Line{
		{Kind: transcript.Claimed, Title: "Build it", Iteration: 1, Agent: "claude", Model: "sonnet"},
		{Kind: transcript.Prompt, Text: "# Ralph\n..."},
		{Kind: transcript.Said, Text: "I will look at the form.\n"},
		{Kind: transcript.ToolCall, Tool: &transcript.Tool{ID: "call-1", Title: "Run the tests", Kind: "execute", Status: "completed", Input: "go test ./...", Output: "ok\n", New: true}},
		{Kind: transcript.Gate, Gate: &event.Gate{Command: "go vet ./...", Exit: "exit status 1"}, Output: "form.go:3:1: missing return\n"},
		{Kind: transcript.Gate, Gate: &event.Gate{Command: "go test ./...", Passed: true, Exit: "exit status 0"}},
		{Kind: transcript.Ended, Outcome: "done", Status: "done", Duration: 90000, Usage: &event.Usage{TokensIn: 12000, TokensOut: 800, CostUSD: &cost}},
	} {
		l.At, l.Run, l.Task, l.Attempt = at, "r-00000001", "t-00000001", "a-00000001"
		line, err := json.Marshal(l)
		check.OK(t, err)
		text += string(line) + "\n"
	}
	kinds := []transcript.Kind{
		transcript.Began, transcript.Claimed, transcript.Prompt, transcript.Said, transcript.Thought, transcript.ToolCall, transcript.Plan, transcript.Asked,
		transcript.Wrote, transcript.Failed, transcript.Stopped, transcript.Raw, transcript.Gate, transcript.Verdict, transcript.Ended, transcript.Waits, transcript.Warning, transcript.Over,
	}
	text += "```\n\nKinds:"
	for i, k := range kinds {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" `%s`", k)
	}
	return text + ".\n"
}

// TestImportPageIsTrue imports each example of docs/import.md and wants the tree
// that is printed below it.
func TestImportPageIsTrue(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/import.md")
	check.OK(t, err)
	example := regexp.MustCompile("(?s)<!-- import -->\n```[a-z]+\n(.*?)```\n.*?```text\n(.*?)```\n")
	found := example.FindAllSubmatch(page, -1)
	if len(found) != 4 {
		t.Fatalf("got %d examples, want one of each format", len(found))
	}
	b := newBench(t)
	for _, m := range found {
		plan := filepath.Join(t.TempDir(), "plan")
		check.OK(t, os.WriteFile(plan, m[1], 0o600))
		if diff := cmp.Diff(string(m[2]), b.run(0, "task", "import", plan, "--dry-run")); diff != "" {
			t.Errorf("(-page +printed):\n%s", diff)
		}
		b.run(0, "task", "import", plan)
	}
}

// TestAgentsAreDocumented holds docs/agents.md to the presets: how to start each
// in three lines, and how they differ.
func TestAgentsAreDocumented(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/agents.md", "<!-- agents -->\n", "<!-- /agents -->\n"
	page, err := os.ReadFile(path)
	check.OK(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/agents.md has no place for the agents")
	}
	golden.Check(t, path, before+begin+agentsPage()+end+after)

	var order []string
	for _, p := range agents.Installed(func(string) (string, error) { return "", nil }) {
		order = append(order, p.Name)
	}
	if text := strings.Join(order, ", "); !strings.Contains(strings.ReplaceAll(string(page), "\n", " "), "on PATH: "+text+".") {
		t.Errorf("docs/agents.md does not say that the order is %s", text)
	}
}

// agentsPage is the part of the page that is made of presets.
func agentsPage() string {
	var b strings.Builder
	var table strings.Builder
	table.WriteString("| name | npm package | takes its model by | reports about its usage | credentials, the first that is set | keeps its state in |\n|---|---|---|---|---|---|\n")
	for _, p := range agents.All() {
		if len(p.Self) > 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s**\n\n```sh\nnpm install -g %s\n# %s\nralph run --agent %s\n```\n\n", p.Title, p.Package, p.Login, p.Name)
		credentials := strings.Join(p.Credentials, ", ")
		if p.ByModel {
			credentials = "that of the model's provider: " + strings.Join(p.Credentials[:3], ", ") + ", ..."
		}
		state := p.StateFolders([]string{"HOME=/~"})
		slices.Sort(state)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", p.Name, p.Package, p.ModelBy(), p.Reports, credentials, strings.ReplaceAll(strings.Join(state, ", "), "/~", "~"))
	}
	return "\n" + b.String() + "## How they differ\n\n" + table.String() + "\n"
}

// TestTheManualIsDocumented writes docs/ralph.1 from what the commands say of themselves.
func TestTheManualIsDocumented(t *testing.T) {
	t.Parallel()
	page := newBench(t).run(0, "man")
	golden.Check(t, "../../docs/ralph.1", page)
	plain := strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(page)
	var walk func(path string, commands []*cli.Command)
	walk = func(path string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			if !strings.Contains(plain, "\n.SS "+path+" "+c.Name) {
				t.Errorf("the manual has no %s %s", path, c.Name)
			}
			for _, f := range c.Flags {
				if !strings.Contains(plain, "--"+f.Names()[0]) {
					t.Errorf("the manual has no --%s", f.Names()[0])
				}
			}
			walk(path+" "+c.Name, c.Subcommands)
		}
	}
	walk("ralph", newApp(system{}).cli.Commands)
	for line := range strings.Lines(page) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(word, ".") &&
			!slices.Contains(strings.Fields(".TH .SH .SS .TP .B .PP .nf .fi .RS .RE"), word) {
			t.Errorf("unknown request in %q", line)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww")
		cmd.Stdin = strings.NewReader(page)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		if err := cmd.Run(); err != nil || complaints.Len() > 0 {
			t.Errorf("%v: %s", err, complaints.String())
		}
	}
}
