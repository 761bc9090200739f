package render

import (
	"regexp"
	"strings"
	"testing"

	"ralph/internal/event"
	"ralph/internal/term"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	colour := term.Palette{On: true}
	width := func() int { return 80 }
	fold := func(title string) (string, string) { return "[group] " + title + "\n", "[end]\n" }
	for name, tc := range map[string]struct {
		sink func(Options) *Console
		opts Options
	}{
		"terminal.txt":         {NewTerminal, Options{Width: width}},
		"terminal_colour.txt":  {NewTerminal, Options{Width: width, Palette: colour}},
		"terminal_verbose.txt": {NewTerminal, Options{Width: width, Verbose: true}},
		"terminal_quiet.txt":   {NewTerminal, Options{Width: width, Quiet: true}},
		"terminal_narrow.txt":  {NewTerminal, Options{Width: func() int { return 40 }}},
		"plain.txt":            {NewPlain, Options{Palette: colour}},
		"plain_verbose.txt":    {NewPlain, Options{Verbose: true}},
		"plain_folded.txt":     {NewPlain, Options{Fold: fold}},
		"plain_quiet.txt":      {NewPlain, Options{Quiet: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Check(t, "testdata/"+name, rendered(t, tc.sink, tc.opts, sampleRun()))
		})
	}
}

// TestAgentsThatRunAtOnceAreShownApart interleaves two agents piece by piece.
func TestAgentsThatRunAtOnceAreShownApart(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.run(event.Event{Type: event.RunStarted, Setup: &event.Setup{Scope: "everything", Jobs: 2, Target: "refs/heads/main"}})
	a := event.Event{Iteration: 1, Task: "t-aaaaaaaa", Attempt: "a-1"}
	b := event.Event{Iteration: 2, Task: "t-bbbbbbbb", Attempt: "a-2"}
	both := func(e, f event.Event) {
		s.task = a
		s.in(e)
		s.task = b
		s.in(f)
	}
	both(event.Event{Type: event.TaskClaimed, Title: "A"}, event.Event{Type: event.TaskClaimed, Title: "B"})
	both(event.Event{Type: event.AgentText, Text: "I am "}, event.Event{Type: event.AgentText, Text: "And I "})
	both(event.Event{Type: event.AgentText, Text: "A.\nSo"}, event.Event{Type: event.AgentThought, Text: "am B"})
	both(
		event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "1", Title: "ls", Status: "failed", Error: "no such file"}},
		event.Event{Type: event.AttemptEnded, Outcome: "done", Status: "done"},
	)
	s.task = a
	s.in(event.Event{Type: event.AgentText, Text: "cut off"})
	s.run(event.Event{Type: event.RunEnded, Outcome: "stopped"})
	golden.Check(t, "testdata/terminal_jobs.txt", rendered(t, NewTerminal, Options{}, s.events))
	golden.Check(t, "testdata/plain_jobs.txt", rendered(t, NewPlain, Options{}, s.events))
}

// TestARedGateIsShownOnce has a gate that fails three times: as before, in another way, and for good.
func TestARedGateIsShownOnce(t *testing.T) {
	t.Parallel()
	gate := func(text string) event.Event {
		return event.Event{Type: event.GateEnded, Text: text, Gate: &event.Gate{Command: "make", Exit: "exit status 2", Verdict: "failed"}}
	}
	again := event.Event{Type: event.Prompted, Reason: `gate "make": exit status 2`}
	s := newScript()
	s.task = event.Event{Iteration: 1, Task: "t-1", Attempt: "a-1"}
	for _, e := range []event.Event{
		{Type: event.TaskClaimed, Title: "Build"},
		{Type: event.Prompted},
		gate("a.c:1: x\n"),
		again,
		{Type: event.Warned, Text: "look at this"},
		gate("a.c:1: x\n"),
		again,
		gate("b.c:1: y\n"),
		{Type: event.AttemptEnded, Outcome: "failed", Status: "failed", Reason: "not verified after 0 of 0 retries: gate \"make\": exit status 2\nb.c:1: y\n"},
	} {
		s.in(e)
	}
	fold := func(title string) (string, string) { return "[group] " + title + "\n", "[end]\n" }
	var b strings.Builder
	b.WriteString("== terminal\n" + rendered(t, NewTerminal, Options{}, s.events))
	b.WriteString("== log\n" + rendered(t, NewPlain, Options{}, s.events))
	b.WriteString("== folded log\n" + rendered(t, NewPlain, Options{Fold: fold}, s.events))
	golden.Check(t, "testdata/red_gate.txt", b.String())
}

// TestFooterKnowsWhatToDoNext has one run for each outcome.
func TestFooterKnowsWhatToDoNext(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, outcome := range []string{
		"complete", "complete with failures", "failure", "blocked", "blocked without failures", "no_plan", "limit", "stopped", "agent_unavailable", "interrupted", "error",
	} {
		s := newScript()
		counts := &event.Counts{Done: 2, Total: 2}
		s.run(event.Event{Type: event.RunStarted, Setup: &event.Setup{Folder: ".ralph/runs/r-7d2e4f10"}})
		switch outcome {
		case "no_plan":
			counts = &event.Counts{}
		case "complete with failures", "failure":
			outcome = strings.Fields(outcome)[0]
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-1f0c9a3e", Title: "Write", Status: "failed", Reason: "too hard"})
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-2b4d6f80", Title: "Mend", Status: "failed", Reason: "at first"})
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-2b4d6f80", Title: "Mend", Status: "done"})
			counts = &event.Counts{Done: 1, Failed: 1, Total: 2}
		case "interrupted":
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-2b4d6f80", Title: "Mend", Outcome: "retried", Status: "pending"})
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-1f0c9a3e", Title: "Write", Outcome: "interrupted", Status: "pending"})
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-3b4d6f80", Title: "Test", Status: "done"})
		case "blocked":
			counts = &event.Counts{Failed: 1, Remaining: 1, Total: 2}
		case "blocked without failures": // a person's block, or work that could not be verified
			outcome = strings.Fields(outcome)[0]
			counts = &event.Counts{Done: 1, Remaining: 1, Total: 2}
		}
		s.run(event.Event{Type: event.RunEnded, Outcome: outcome, Iteration: 1, Duration: 3_900_000, Counts: counts})
		b.WriteString("== " + outcome + "\n" + footer(t, s.events) + "\n")
	}
	check.That(t, !regexp.MustCompile(`ralph .* ID\b`).MatchString(b.String()), "a command names no task, though one is known")
	golden.Check(t, "testdata/footer_outcomes.txt", b.String())
}

// TestEveryRejectionNamesItsCommand: in what is shown when it happens, in the list of what failed, and as what to do next.
func TestEveryRejectionNamesItsCommand(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, status := range []event.TaskStatus{event.TaskFailed, event.TaskPending} {
		for _, r := range []event.Rejection{
			event.RejectedTampering, event.RejectedGate, event.RejectedUnchanged, event.RejectedVerdict, event.RejectedConflict, event.RejectedChanged, event.RejectedIncomplete,
			event.RejectedMissing,
		} {
			s := newScript()
			s.run(event.Event{Type: event.RunStarted, Setup: &event.Setup{Folder: ".ralph/runs/r-7d2e4f10"}})
			s.run(event.Event{Type: event.AttemptEnded, Task: "t-1f0c9a3e", Title: "Write", Outcome: "retried", Status: status, Rejected: r, Reason: "why"})
			s.run(event.Event{Type: event.RunEnded, Outcome: "complete"})
			b.WriteString("== " + string(r) + ", " + string(status) + "\n" + rendered(t, NewTerminal, Options{Width: func() int { return 100 }}, s.events) + "\n")
			check.Contains(t, "a log", Remedy(r, "t-1f0c9a3e", status).Command, rendered(t, NewPlain, Options{}, s.events))
		}
	}
	golden.Check(t, "testdata/rejections.txt", b.String())
}

// TestFieldsThatTheLoopMayAddAreShown has what the type allows and the loop does
// not say yet.
func TestFieldsThatTheLoopMayAddAreShown(t *testing.T) {
	t.Parallel()
	events := []event.Event{
		{At: begin, Type: event.AgentStarted, Task: "t-1", Agent: "claude", PID: 4301},
		{At: begin, Type: event.AgentAsked, Task: "t-1", Tool: &event.Tool{Title: "rm x", Kind: "delete"}, Outcome: "reject_once"},
		{At: begin, Type: event.GateEnded, Task: "t-1", Duration: 940, Text: "x.go:3:1: missing return\n", Gate: &event.Gate{Command: "go vet"}},
	}
	got := rendered(t, NewPlain, Options{Verbose: true}, events)
	const lead = "2026-01-02T03:04:05Z t-1 "
	want := lead + "started claude, pid 4301\n" + lead + "asked: rm x (delete): reject_once\n" +
		lead + "gate failed in 940ms: go vet\n" + lead + "    x.go:3:1: missing return\n"
	check.Equal(t, "result", want, got)
}

func TestFooterNamesOnlySomeOfManyFailures(t *testing.T) {
	t.Parallel()
	s := newScript()
	for i := range 25 {
		s.run(event.Event{Type: event.AttemptEnded, Task: "t-" + string(rune('a'+i)), Status: "failed"})
	}
	s.run(event.Event{Type: event.RunEnded, Outcome: "complete"})
	got := footer(t, s.events)
	check.Contains(t, "the footer", "and 15 more: ralph task list --status failed", got)
	check.Equal(t, "failures that are listed", 10, strings.Count(got, "no reason given"))
}

// footer is what the last event of a run adds on a wide terminal.
func footer(t *testing.T, events []event.Event) string {
	t.Helper()
	opts := Options{Width: func() int { return 200 }}
	before := rendered(t, NewTerminal, opts, events[:len(events)-1])
	return strings.TrimPrefix(rendered(t, NewTerminal, opts, events), before+"\n")
}

func rendered(t *testing.T, sink func(Options) *Console, opts Options, events []event.Event) string {
	t.Helper()
	var b strings.Builder
	opts.Out, opts.Now = &b, now
	s := sink(opts)
	for _, e := range events {
		s.Event(e)
	}
	check.OK(t, s.Close())
	return b.String()
}
