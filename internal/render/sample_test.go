package render

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/internal/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin is when every sample run begins.
var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func now() time.Time { return begin }

// script makes the events of a run, a second apart.
type script struct {
	events []event.Event
	at     time.Time
	task   event.Event // the fields that the events of an iteration share
}

func newScript() *script { return &script{at: begin} }

func (s *script) run(e event.Event) {
	e.V, e.Run, e.At = event.Version, "r-7d2e4f10", s.at
	s.at = s.at.Add(time.Second)
	s.events = append(s.events, e)
}

func (s *script) in(e event.Event) {
	e.Task, e.Attempt = s.task.Task, s.task.Attempt
	if e.Type == event.TaskClaimed || e.Type == event.AttemptEnded {
		e.Iteration = s.task.Iteration
	}
	s.run(e)
}

func usd(v float64) *float64 { return &v }

// sampleRun is a realistic run in which everything happens. The first event of
// each type is the example in docs/events.md.
func sampleRun() []event.Event {
	s := newScript()
	s.run(event.Event{
		Type: event.RunStarted, PID: 4242, Counts: &event.Counts{Remaining: 3, Total: 3},
		Setup: &event.Setup{
			Scope: "feature login", Agent: "claude", Credential: "ANTHROPIC_API_KEY", Model: "cost-optimized: haiku to opus", Limits: "20 iterations, $5.00",
			Sandbox: "landlock: writes only below this folder", Verify: "go test ./..., then a read-only agent", Jobs: 1,
			Folder: ".ralph/runs/r-7d2e4f10", MaxIters: 20,
		},
	})
	s.run(event.Event{
		Type: event.Recovered, Task: "t-1f0c9a3e", Title: "Write the parser", Attempt: "a-4f00d001", Outcome: "released",
		Reason: "its run died while its agent was at work; released",
	})
	sum := event.Recovery{Runs: 1, RecoveryCounts: event.RecoveryCounts{Released: 1, Orphans: 2}}
	s.run(event.Event{Type: event.RecoveryDone, Recovery: &sum, Reason: sum.String()})
	s.task = event.Event{Iteration: 1, Task: "t-1f0c9a3e", Attempt: "a-5b1d0e77"}
	firstIteration(s)
	s.in(event.Event{Type: event.LocksChanged, Title: "Write the parser", Locks: []string{"port:8080"}, Outcome: event.LocksTaken})
	s.run(event.Event{Type: event.TaskAdded, Task: "t-4d6f80a2", Attempt: "a-5b1d0e77", Title: "Document the parser"})
	s.run(event.Event{Type: event.TaskSkipped, Task: "t-4d6f80a2", Title: "Fix the build", Reason: "build (t-1f0c9a3e) is done, not failed"})
	s.run(event.Event{Type: event.Notified, Iteration: 2, Task: "t-4d6f80a2", Attempt: "a-60c2d1f9", Title: "The nightly build is done", Text: "The nightly build is done"})
	s.in(event.Event{Type: event.Learned, Text: "The parser keeps comments"})
	s.task = event.Event{Iteration: 2, Task: "t-2b4d6f80", Attempt: "a-60c2d1f9"}
	secondIteration(s)
	until := s.at.Add(5 * time.Minute)
	wait := event.Event{Type: event.Waiting, Agent: "claude", Reason: "claude is rate-limited: You've hit your limit", Until: &until}
	s.run(wait)
	s.run(wait)
	s.run(event.Event{Type: event.Warned, Task: "t-2b4d6f80", Text: "the model hint \"gpt-9\" is not one that claude offers; it was ignored"})
	s.task = event.Event{Iteration: 3, Task: "t-2b4d6f80", Attempt: "a-77aa88bb"}
	thirdIteration(s)
	s.run(event.Event{
		Type: event.AttemptEnded, Iteration: 4, Task: "t-3c5e7091", Attempt: "a-99ccddee", Title: "Review login: security", Outcome: "done", Status: "done", Duration: 9_000,
		Reason: "2 findings: t-4d6f81a2; no task: form.go:99 (there is no line 99)",
		Findings: []event.Finding{
			{File: "form.go", Line: 3, Text: "The token is logged.", Task: "t-4d6f81a2"}, {File: "form.go", Line: 99, Text: "Unused.", Reason: "there is no line 99"},
		},
	})
	s.run(event.Event{Type: event.RunInterrupted, Reason: "Ctrl-C"})
	s.run(event.Event{
		Type: event.RunEnded, Iteration: 3, Outcome: "interrupted", Reason: "Ctrl-C", Duration: 364_000,
		Counts: &event.Counts{Done: 1, Failed: 1, Remaining: 1, Total: 3},
		Usage:  &event.Usage{TokensIn: 60_110, TokensCached: 48_000, TokensOut: 2_204, CostUSD: usd(0.37), Estimated: true},
		Together: &event.Together{
			Continues: "r-2c3d4e5f", Iterations: 5, Duration: 724_000,
			Usage: event.Usage{TokensIn: 90_300, TokensCached: 48_000, TokensOut: 3_100, CostUSD: usd(0.62), Estimated: true, Unknown: true},
		},
		Work: &event.Work{
			Target: "refs/heads/main", Commits: 1, From: "4f5c1e2a9b8d7c6e5f4a3b2c1d0e9f8a7b6c5d4e", To: "3f2a1bc0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4",
			Kept: []event.Kept{{Task: "t-2b4d6f80", Ref: "refs/ralph/work/t-2b4d6f80/a-77aa88bb"}},
		},
	})
	return s.events
}

func firstIteration(s *script) {
	s.run(event.Event{Type: event.SlotSetup, Text: "slot 1"})
	s.in(event.Event{
		Type: event.TaskClaimed, Title: "Write the parser", Agent: "claude", Model: "sonnet", Reason: "the first try is cheap", Locks: []string{"db:test"},
		Counts: &event.Counts{Remaining: 3, Total: 3},
	})
	s.in(event.Event{Type: event.AgentStarted, Agent: "claude", Model: "claude-sonnet-4-5"})
	s.in(event.Event{Type: event.Prompted})
	s.in(event.Event{Type: event.AgentThought, Text: "The grammar is in the spec; "})
	s.in(event.Event{Type: event.AgentThought, Text: "tests come first."})
	s.in(event.Event{Type: event.AgentText, Text: "I will look at the gram"})
	s.in(event.Event{Type: event.AgentText, Text: "mar first.\nThen I write \x1b[3"})
	s.in(event.Event{Type: event.AgentText, Text: "1mtests\x1b[0m in caf\xc3"})
	s.in(event.Event{Type: event.AgentUsage, Usage: &event.Usage{TokensIn: 9_000, TokensOut: 120, CostUSD: usd(0.03), Context: 9_120}})
	s.in(event.Event{Type: event.AgentText, Text: "\xa9.go."})
	s.in(event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "call-1", Title: "Read spec.md", Kind: "read", Status: "pending", New: true}})
	s.in(event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "call-1", Status: "completed"}})
	s.in(event.Event{Type: event.AgentPlan, Plan: []string{"completed: write the tests", "pending: write the parser"}})
	s.in(event.Event{
		Type: event.AgentAsked, Agent: "claude", Text: "Push it", Outcome: "reject_once", Reason: `"git push" matches the rule deny execute:git push*`,
		Call: &event.Call{Kind: "execute", Text: "make && git push", Rule: "deny execute:git push*", By: "rules"},
	})
	s.in(event.Event{
		Type: event.Asked, Title: "Parser", Text: "Are tabs allowed?", Command: "ralph inbox answer q-3f2a1bc0",
		Question: &event.Question{ID: "q-3f2a1bc0", Kind: "question", Options: []string{"yes", "no"}, Parks: true},
	})
	s.in(event.Event{
		Type: event.Answered, Title: "Parser", Text: "no", Outcome: "answered",
		Question: &event.Question{ID: "q-3f2a1bc0", Kind: "question", Options: []string{"yes", "no"}, Parks: true},
	})
	s.in(event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "call-2", Title: "go test ./parser", Kind: "execute", Status: "in_progress", New: true}})
	s.in(event.Event{Type: event.AgentTool, Tool: &event.Tool{
		ID: "call-2", Status: "failed",
		Error: "--- FAIL: TestParser (0.00s)\n\tparser_test.go:12: got 1\r\n\x1b[31mFAIL\x1b[0m\nFAIL\tralph/parser\t0.01s\n\nFAIL\nexit status 1\n",
	}})
	s.in(event.Event{Type: event.AgentText, Text: "\n\nThat was a typo.\n\n<task-done>t-1f0c9a3e</task-done>\n"})
	s.in(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: "go test ./..."}})
	s.in(event.Event{
		Type: event.GateEnded,
		Gate: &event.Gate{
			Command: "go test ./...", Passed: true, Exit: "exit status 0", Log: ".ralph/runs/r-7d2e4f10/a-5b1d0e77/verify.log",
			Baseline: "red", Verdict: "passed",
		},
	})
	s.in(event.Event{Type: event.TargetMoved, Title: "Write the parser", Reason: "t-2b4d6f80 (Wire the login form)", Merge: &event.Merge{Target: "refs/heads/main", Onto: "4f5c1e2a9b8d7c6e5f4a3b2c1d0e9f8a7b6c5d4e"}})
	s.in(event.Event{Type: event.TargetMoved, Title: "Write the parser", Reason: "Jane Doe (Rename \x1b]0;owned\a tokens)", Files: []string{"parser.go"}, Merge: &event.Merge{Target: "refs/heads/main", Onto: "4f5c1e2a9b8d7c6e5f4a3b2c1d0e9f8a7b6c5d4e"}})
	s.in(event.Event{Type: event.VerifierStarted})
	s.in(event.Event{Type: event.VerifierEnded, Outcome: "fail", Reason: "parser.go:12 drops the last token\nand no test sees it"})
	s.in(event.Event{Type: event.VerifierStarted})
	s.in(event.Event{Type: event.VerifierEnded, Outcome: "none", Reason: "project files changed while the verifier looked: notes.txt", Files: []string{"notes.txt"}})
	s.in(event.Event{Type: event.VerifierStarted})
	s.in(event.Event{Type: event.VerifierEnded, Outcome: "pass"})
	queued := event.Merge{N: 7, Target: "refs/heads/main", Onto: "4f5c1e2a9b8d7c6e5f4a3b2c1d0e9f8a7b6c5d4e", Commit: "3f2a1bc0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4"}
	s.in(event.Event{Type: event.MergeQueued, Title: "Write the parser", Merge: &event.Merge{N: 7, Target: queued.Target}})
	s.in(event.Event{Type: event.MergeConflict, Title: "Write the parser", Reason: "parser.go, go.mod", Merge: &event.Merge{N: 7, Target: queued.Target, Onto: queued.Onto}})
	s.in(event.Event{Type: event.MergeDropped, Title: "Write the parser", Reason: "it conflicts with the target", Merge: &event.Merge{N: 7, Target: queued.Target, Onto: queued.Onto}})
	s.in(event.Event{Type: event.MergeRebuilt, Title: "Write the parser", Merge: &queued})
	s.in(event.Event{Type: event.MergeWaiting, Title: "Write the parser", Reason: "somebody else is changing the repository: /src/app/.git/index.lock", Merge: &queued})
	s.in(event.Event{Type: event.MergeHeld, Title: "Write the parser", Merge: &queued})
	s.in(event.Event{Type: event.MergeLanded, Title: "Write the parser", Reason: "waits for your README.md", Merge: &queued})
	s.in(event.Event{
		Type: event.AttemptEnded, Title: "Write the parser", Agent: "claude", Model: "claude-sonnet-4-5",
		Outcome: "done", Status: "done", Duration: 80_250, Files: []string{"parser.go", "parser_test.go"}, Locks: []string{"db:test"},
		Usage: &event.Usage{TokensIn: 41_000, TokensCached: 36_000, TokensOut: 1_204, CostUSD: usd(0.21)},
	})
}

func secondIteration(s *script) {
	s.in(event.Event{
		Type: event.TaskClaimed, Title: "Wire the login form \x1b]0;owned\a to the \u202eevil\u202c session store, with a title that goes on and on",
		Agent: "claude", Model: "haiku", Counts: &event.Counts{Done: 1, Remaining: 2, Total: 3},
	})
	s.in(event.Event{Type: event.Prompted})
	s.in(event.Event{Type: event.AgentText, Text: "Let me think about that."})
	s.in(event.Event{Type: event.Prompted, Reason: "it ended without saying how the task stands"})
	s.in(event.Event{Type: event.Anomaly, Outcome: "destructive", Reason: "a command that looks destructive: git push --force"})
	s.in(event.Event{Type: event.Drifted, Outcome: "nudge", Reason: "\"go test ./...\" was called 6 times with the same result"})
	s.in(event.Event{Type: event.Prompted, Reason: "drift: \"go test ./...\" was called 6 times with the same result"})
	s.in(event.Event{Type: event.Drifted, Outcome: "stronger", Reason: "the last 10 tool calls failed"})
	s.in(event.Event{
		Type: event.AttemptEnded, Outcome: "released", Status: "pending", Duration: 12_000,
		Reason: "it ended without saying how the task stands",
	})
}

func thirdIteration(s *script) {
	s.in(event.Event{Type: event.TaskClaimed, Title: "Wire the login form", Agent: "claude", Model: "opus"})
	s.in(event.Event{Type: event.AgentResumed, Text: "5f0c1f6e-93b1-4a53"})
	s.in(event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "never announced", Title: "Edit form.go", Status: "in_progress"}})
	s.in(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: "golint ./..."}, Reason: "before the work"})
	s.in(event.Event{Type: event.GateEnded, Gate: &event.Gate{Command: "golint ./...", Exit: "exit status 1"}, Reason: "before the work"})
	s.in(event.Event{Type: event.GateEnded, Gate: &event.Gate{Command: "golint ./...", Exit: "exit status 1", Baseline: "red", Verdict: "excused"}, Text: "a.go:1: x\n"})
	s.in(event.Event{Type: event.GateEnded, Gate: &event.Gate{Command: "make race", Passed: true, Baseline: "green", Verdict: "flaky"}})
	s.in(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: "go vet ./..."}})
	s.in(event.Event{
		Type: event.GateEnded,
		Gate: &event.Gate{Command: "go vet ./...", Exit: "exit status 1", Log: ".ralph/runs/r-7d2e4f10/a-77aa88bb/verify.log"},
	})
	s.in(event.Event{
		Type: event.AttemptEnded, Outcome: "failed", Status: "failed", Duration: 20_000,
		Reason:   "gate \"go vet ./...\": exit status 1\nform.go:3:1: missing return\n",
		Rejected: event.RejectedGate, Command: Remedy(event.RejectedGate, "t-2b4d6f80", event.TaskFailed).Command,
		Usage: &event.Usage{TokensIn: 19_110, TokensOut: 1_000, CostUSD: usd(0.16), Estimated: true},
	})
}
