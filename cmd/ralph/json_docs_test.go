package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/cli/configcmd"
	"ralph/internal/cli/doctorcmd"
	"ralph/internal/cli/featurecmd"
	"ralph/internal/cli/planning"
	"ralph/internal/cli/prcmd"
	"ralph/internal/cli/reportcmd"
	"ralph/internal/cli/reviewcmd"
	"ralph/internal/cli/servecmd"
	"ralph/internal/cli/taskcmd"
	"ralph/internal/cli/wiring"
	"ralph/internal/db"
	"ralph/internal/doctor"
	"ralph/internal/event"
	"ralph/internal/forge"
	"ralph/internal/jsonval"
	"ralph/internal/permission"
	"ralph/internal/plansync"
	"ralph/internal/project"
	"ralph/internal/proof"
	"ralph/internal/pullrequest"
	"ralph/internal/refresh"
	"ralph/internal/render/transcript"
	"ralph/internal/report"
	"ralph/internal/risk"
	"ralph/internal/schedule"
	"ralph/internal/slot"
	"ralph/internal/taskfile"
	"ralph/internal/template"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	"ralph/journal"
	"ralph/loop/land"
	"ralph/loop/recovery"
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
	doc.WriteString(introOf(t, "docs/json.md"))
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
		// Other tests kill runs meanwhile, and what those leave in the temporary folder is counted and named.
		out = regexp.MustCompile(`"(temporary_files|freed_bytes)": \d+`).ReplaceAllString(out, `"$1": 0`)
		out = regexp.MustCompile(`"paths": \[[^\]]*\]`).ReplaceAllString(out, `"paths": []`)
		fmt.Fprintf(&doc, "\n## ralph %s\n\n```json\n%s```\n", strings.Join(words, " "), out)
	}
	doc.WriteString(sample(t, "ralph task import FILE --json", taskcmd.ImportedJSON(false, taskfile.Plan{
		Format: "beads", Unmapped: []taskfile.Unmapped{{What: "assignee", Count: 7, Lines: []int{1, 2, 4, 5, 8}}},
	}, refresh.Imported{IDs: []string{group, design}, Added: []string{group, design}})))
	doc.WriteString(sample(t, "ralph feature proof NAME --json", featurecmd.ProofJSON("login", proof.Table("## Success criteria\n- C1: `go test ./login` passes\n- C2: it is pretty\n", nil, []dag.Proof{{
		Criterion: "C1", Text: "`go test ./login` passes", Kind: dag.ProofTest, Task: design, Attempt: "a-31aa8faf", Gate: "go test ./login", Shown: "TestLogin",
		Base: strings.Repeat("1", 40), Commit: strings.Repeat("2", 40), At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Standing: true,
	}}))))
	doc.WriteString(sample(t, "ralph template list --json", []jsonval.Object{taskcmd.TemplateJSON(sampleTemplate())}))
	doc.WriteString(sample(t, "ralph template show NAME --json", append(taskcmd.TemplateJSON(sampleTemplate()), "text", "name: bug-fix\n...")))
	doc.WriteString(sample(t, "ralph template apply NAME --json", taskcmd.AppliedJSON("bug-fix", "login", false, template.Applied{
		Specs: []dag.Spec{{Ref: "fix", Detail: dag.Detail{Title: "Fix the bug: the total is wrong"}}}, IDs: []string{design}, Found: []template.Found{{Ref: "reproduce", ID: group}},
	})))
	doc.WriteString(sample(t, "ralph schedule list --json", []jsonval.Object{sampleSchedule(b.now).Object()}))
	doc.WriteString(sample(t, "ralph schedule next --json", []jsonval.Object{servecmd.DueTime{Name: "nightly", At: b.now.Add(22 * time.Hour)}.Object()}))
	ours := project.PromptName("worker.rules")
	doc.WriteString(sample(t, "ralph prompt ID --json", taskcmd.PromptJSON{
		Task: design, Prompt: "# Ralph\n\nYou are operating in a ralph loop: ...", Sections: []taskcmd.SectionJSON{{Name: "worker.role", File: nil}, {Name: "worker.rules", File: &ours}},
	}))
	doc.WriteString(sample(t, "ralph prompt --eject --json", taskcmd.EjectedJSON{Files: []string{ours}}))
	doc.WriteString(logSample(t, b.now))
	doc.WriteString(sample(t, "ralph feature spec, plan, build, approve and create --json", samplePlanned()))
	doc.WriteString(sample(t, "ralph task create --json", taskcmd.CreatedJSON(features.Step{
		Did: features.DidApprove, Tasks: []string{"t-00000001"}, Warnings: samplePlanned().Steps[1].Warnings,
	})))
	doc.WriteString(sample(t, "ralph pr --json", samplePull(design).Object("open")))
	doc.WriteString(sample(t, "ralph slots list --json", []jsonval.Object{wiring.UsedSlot{
		Info: slot.Info{N: 1, Path: "/home/me/.local/state/ralph/slots/shop-2e4c98d7/1", Size: 86016, Used: b.now}, By: dag.Attempt{ID: "a-00000001", Task: design},
	}.Object()}))
	doc.WriteString(sample(t, "queue in ralph status --json", []report.QueueView{{Merge: dag.Merge{
		N: 7, Task: design, Attempt: "a-00000001", Target: "refs/heads/main", Onto: "4f5c1e2", Candidate: "3f2a1bc", State: dag.MergeLanding, At: b.now,
		Reason: "somebody else is changing the repository: /src/shop/.git/index.lock",
	}}}))
	doc.WriteString(sample(t, "lost in ralph status --json", []land.LostWork{{
		Target: "refs/heads/main", Tasks: []string{design}, Commits: []string{"3f2a1bc"}, Here: true,
		Help: "bring it back: git switch main && git cherry-pick 3f2a1bc; or have it done again: ralph task reset " + design,
	}}))
	doc.WriteString(sample(t, "waiting_branches in ralph status --json", []land.WaitingBranch{{Target: "refs/heads/main", Waits: event.Waits{
		Ref: "refs/ralph/landed/main", Reason: "waits for your README.md", Command: "ralph merge --target main",
	}}}))
	doc.WriteString(sample(t, "ralph journal list --json", []jsonval.Object{reportcmd.JournalAsJSON(sampleEntry(b.now))}))
	doc.WriteString(sample(t, "ralph agents --json", []agents.Description{sampleAgent()}))
	doc.WriteString(sample(t, "ralph agents test NAME --json", sampleTrial()))
	doc.WriteString(sample(t, "ralph doctor --json", sampleFindings()))
	doc.WriteString(sample(t, "ralph recover --json", doctorcmd.RecoveryAsJSON(sampleRecovery(), false)))
	doc.WriteString(sample(t, "In runs of ralph status --json, while one is under way", sampleRun(b.now)))
	doc.WriteString(sample(t, "ralph run --json (the last line of stdout, on one line), and `feature run`", sampleOutcome()))
	doc.WriteString(sample(t, "ralph inbox list --json, and questions in ralph status and ralph task show", []jsonval.Object{report.ViewRequest(sampleRequest(b.now))}))
	doc.WriteString(sample(t, "ralph inbox show Q --json", report.ViewRequest(sampleRequest(b.now))))
	doc.WriteString(sample(t, "ralph query TASK --json", report.Progress{
		Task: dag.Task{ID: design, Detail: dag.Detail{Title: "Design it"}, Status: dag.InProgress}, Attempt: sampleAttempt(b.now), Prompts: 1, Calls: 3, Kinds: map[string]int{"edit": 1, "execute": 2},
		Doing: "go test ./...", Files: []string{"form.go"}, Said: "Two tests still fail.\n", Context: 21000,
	}.Object("")))
	doc.WriteString(sample(t, "ralph audit --json", []jsonval.Object{reportcmd.AuditAsJSON(sampleAudit(b.now))}))
	doc.WriteString(sample(t, "ralph permissions log --json", []jsonval.Object{configcmd.CallAsJSON(event.Event{
		At: b.now, Run: "r-7d2e4f10", Task: design, Attempt: "a-00000001", Agent: "claude", Reason: `"git push" matches the rule deny execute:git push*`,
		Call: &event.Call{Kind: "execute", Text: "make && git push", Rule: "deny execute:git push*", By: "rules"},
	})}))
	doc.WriteString(sample(t, "ralph permissions check KIND TEXT --json", configcmd.CheckedAsJSON(permission.Decision{Answer: permission.Allow, Rule: "allow execute:go test *"})))
	doc.WriteString(sample(t, "ralph doctor --rebuild --json", plansync.Rebuilt{
		Tasks: 3, Files: []string{"/src/.ralph/features/login/tasks.jsonl"}, Aside: "/src/.ralph/progress.db-before-rebuild-20260102-030405",
		Lost: []string{"runs: 2", "attempts: 5", "costs: $0.41"},
	}))
	doc.WriteString(sample(t, "ralph forecast --json", sampleForecast(b.now)))
	doc.WriteString(sample(t, "forecast in ralph report --json, if there was one when the run began", sampleAccuracy(b.now)))
	doc.WriteString(sample(t, "ralph review --json", []jsonval.Object{sampleHeld(b.now).Object()}))
	doc.WriteString(sample(t, "ralph review --morning --json", []jsonval.Object{sampleLooked(b.now).Object("")}))
	doc.WriteString(sample(t, "In history of ralph task show --json, an attempt", report.ViewAttempts("", []dag.Attempt{sampleAttempt(b.now)})))
	for name, c := range visible("", newApp(cli.System{}).Root.Sub) {
		takesJSON := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Name == "json" })
		if takesJSON && !strings.Contains(doc.String(), "\n## ralph"+name+" ") && !strings.Contains(doc.String(), "`"+name[1:]+"`") {
			t.Errorf("nothing is said about ralph%s --json", name)
		}
	}
	text := regexp.MustCompile(`(?m)^## .*$`).ReplaceAllStringFunc(doc.String(), func(h string) string {
		return regexp.MustCompile(`t-[0-9a-f]{8}`).ReplaceAllString(h, "ID")
	})
	golden.Check(t, "../../docs/json.md", withContents(b.normal(text)))
}

// sample documents a shape that needs a run to be printed.
func sample(t *testing.T, title string, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	check.OK(t, err)
	return fmt.Sprintf("\n## %s\n\n```json\n%s\n```\n", title, data)
}

func sampleTemplate() template.File {
	return template.File{Name: "bug-fix", Source: template.BuiltIn, Template: template.Template{
		Description: "Fix a bug, beginning with a test that shows it",
		Inputs:      []template.Input{{Name: "bug", Description: "what goes wrong, in a line", Required: true}},
	}}
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

func sampleHeld(at time.Time) reviewcmd.Held {
	return reviewcmd.Held{
		Merge: dag.Merge{
			Task: "t-00000001", Title: "Build it", Attempt: "a-00000001", Target: "refs/heads/main", Base: "4f5c1e2a", Work: "3f2a1bc0", At: at,
			Refs: []dag.MadeRef{{Name: "refs/tags/v1.2", ID: "3f2a1bc0", Own: true}},
		},
		By: dag.Attempt{Gates: []dag.GateRecord{{Command: "go test ./...", Passed: true}}},
	}
}

func sampleLooked(at time.Time) reviewcmd.ReviewItem {
	return reviewcmd.ReviewItem{Held: reviewcmd.Held{
		Merge: dag.Merge{
			Task: "t-00000001", Title: "Build it", Attempt: "a-00000001", Target: "refs/heads/main", Onto: "4f5c1e2a", Candidate: "3f2a1bc0",
			State: dag.MergeLanded, EndedAt: at, Risk: risk.Of(risk.Facts{Files: []string{"form.go", ".github/workflows/ci.yml"}, Lines: 40, Protected: []string{".github/workflows/ci.yml"}}),
		},
		By: dag.Attempt{Agent: "claude", Gates: []dag.GateRecord{{Command: "go test ./...", Passed: true, Exit: "exit status 0", Verdict: event.GatePassed}}},
	}}
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
	cost := 0.12
	return report.OpenRun{
		Run:   dag.Run{ID: "r-00000001", Process: dag.Process{PID: 4242}, Scope: dag.Scope{Feature: "login"}, StartedAt: at, Heartbeat: at, Iterations: 2},
		State: "running", Attempts: []dag.Attempt{{
			ID: "a-00000003", Task: "t-00000001", Phase: dag.Prompted, Iteration: 3, Agent: "claude", Model: "sonnet",
			StartedAt: at, Heartbeat: at, Usage: event.Usage{TokensIn: 12000, TokensOut: 800, CostUSD: &cost},
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

func samplePull(task string) *prcmd.Pull {
	return &prcmd.Pull{
		Feature: "login", Did: "updated", Others: 1,
		BranchState: prcmd.BranchState{Remote: "origin", Target: "refs/heads/ralph/login", Base: "main", Tip: "3f2a1bc"},
		Request:     pullrequest.Request{Number: 8, URL: "https://github.com/acme/app/pull/8", Round: 1},
		Checks:      forge.Checks{List: []forge.Check{{Name: "CI / test", State: forge.Failed, URL: "https://github.com/acme/app/actions/runs/1/job/3"}}},
		Added:       []pullrequest.Added{{Finding: pullrequest.Finding{Title: `Make the check "CI / test" pass`}, Task: task}},
		Open:        []dag.Task{{ID: task}},
	}
}

func samplePlanned() planning.PlannedJSON {
	spec, tasks := "/home/you/project/.ralph/features/login/spec.md", "/home/you/project/.ralph/features/login/tasks.jsonl"
	warning := features.Finding{Level: features.Warning, Rule: "gate", Text: "no task has a gate and the project has none: nothing but the agent's word says that work is done"}
	return planning.PlannedJSON{
		Feature: report.FeatureView{Feature: dag.Feature{
			ID: "f-00000001", Name: "login", Status: "ready", Tasks: map[dag.Status]int{dag.Pending: 1}, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		}, Folder: "/home/you/project/.ralph/features/login"},
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
		Work: &event.Work{
			Target: "refs/heads/main", Commits: 1, From: "4f5c1e2", To: "3f2a1bc",
			Kept: []event.Kept{{Task: "t-00000001", Ref: "refs/ralph/work/t-00000001/a-00000001"}},
		},
		Tasks: []event.Resolved{{ID: "t-00000001", Title: "Build it", Status: "failed", Outcome: "failed", Reason: "no idea", Attempts: 2}},
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

// pretendRun records a run of one attempt, so that what tells of runs has
// something to tell.
func (b *bench) pretendRun() {
	b.t.Helper()
	d, err := db.Open(b.t.Context(), filepath.Join(b.dir, ".ralph", "progress.db"), db.Options{})
	check.OK(b.t, err)
	defer d.Close()
	now, cost := b.now, 0.12
	store := dag.New(d, dag.Options{Now: func() time.Time { return now }})
	var claim dag.Claim
	var run dag.Run
	check.OK(b.t, store.Update(b.t.Context(), func(g *dag.Graph) error {
		var err1, err2 error
		run, err1 = g.History.StartRun(dag.Scope{Feature: "login"}, dag.Process{PID: 1})
		claim, _, err2 = g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: run.Scope, KeepGoing: true, Lease: time.Hour, Iteration: 1})
		return errors.Join(err1, err2, g.History.NoteAttempt(claim.Attempt, dag.Note{
			Agent: "claude", Model: "sonnet", ModelEffective: "claude-sonnet-4-5", Sandbox: "full", StopReason: "end_turn", Files: []string{"form.go"},
			Usage: &event.Usage{TokensIn: 12000, TokensCached: 9000, TokensOut: 800, CostUSD: &cost},
			Gates: []dag.GateRecord{{Command: "go test ./...", Exit: "exit status 1", Baseline: "green", Verdict: "failed"}},
		}))
	}))
	now = now.Add(90 * time.Second)
	check.OK(b.t, store.Update(b.t.Context(), func(g *dag.Graph) error {
		return errors.Join(g.Queue.Fail(claim, "gate \"go test ./...\": exit status 1\n--- FAIL: TestForm"), g.History.EndRun(run.ID, "complete", "", 1))
	}))
}

func sampleSchedule(now time.Time) servecmd.ScheduleLine {
	return servecmd.ScheduleLine{
		Config: project.ScheduleConfig{Name: "nightly", Cron: "0 1 * * 1-5", Timezone: "Europe/Paris", Run: "--feature nightly --max-cost 5", CatchUp: true}, Next: now.Add(22 * time.Hour),
		Last: schedule.Fire{N: 1, Due: now, At: now, Count: 1, State: schedule.Started}, Run: dag.Run{ID: "r-7d2e4f10"}, Outcome: event.OutcomeComplete,
	}
}
