package attempt

import (
	"testing"
	"time"

	"ralph/acp"
	"ralph/internal/detect"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
	"ralph/internal/toolcall"
)

// TestAWriteThatAnAgentAlsoReportsCountsOnce: some agents have ralph write a file, and report the call that did it.
func TestAWriteThatAnAgentAlsoReportsCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWatch(Job{Detect: detect.Limits{Anomaly: detect.Anomaly{Stop: true, WritesPerMinute: 2}}}, false, func() time.Time { return time.Time{}.Add(time.Hour) })
	defer w.beginTurn()()
	for _, name := range []string{"a", "b"} {
		for _, e := range []acp.Event{acp.FileWritten{Path: name}, acp.ToolCall{ID: name, Call: toolcall.Call{Kind: "edit", Paths: []string{name}, Status: "completed"}}} {
			check.Equal(t, "findings", 0, len(w.see(e)))
		}
	}
	check.Equal(t, "findings of a third file", 1, len(w.see(acp.FileWritten{Path: "c"})))
}

// TestATerminalIsLookedAtLikeAReportedCommand: some agents report the command that ralph runs for them, others do not.
func TestATerminalIsLookedAtLikeAReportedCommand(t *testing.T) {
	t.Parallel()
	const command = "git push --force"
	terminal := acp.TerminalOpened{Command: command}
	for name, tc := range map[string]struct {
		events []acp.Event
		want   int
	}{
		"alone":          {[]acp.Event{terminal}, 1},
		"reported first": {[]acp.Event{acp.ToolCall{ID: "1", Call: toolcall.Call{Kind: "execute", Command: command}}, terminal}, 1},
		"harmless":       {[]acp.Event{acp.TerminalOpened{Command: "ls"}}, 0},
	} {
		w := newWatch(Job{Detect: detect.Limits{Anomaly: detect.Anomaly{Stop: true, Destructive: true}}}, false, func() time.Time { return time.Time{}.Add(time.Hour) })
		end, got := w.beginTurn(), 0
		for _, e := range tc.events {
			got += len(w.see(e))
		}
		end()
		check.Equal(t, name, tc.want, got)
	}
}

// TestWhatAPersonApprovedIsNotUnusual, for exactly that, and not if the answer was another.
func TestWhatAPersonApprovedIsNotUnusual(t *testing.T) {
	t.Parallel()
	const command = "git push --force"
	question := inbox.Request{Text: unusualQuestion + "a command that looks destructive: " + command + ". Is that what the task needs?"}
	for answer, want := range map[string]int{needsUnusual: 1, "no, do without it": 2, "": 2} {
		r := question
		r.Answer = answer
		job := Job{Detect: detect.Limits{Anomaly: detect.Anomaly{Stop: true, Destructive: true}}}
		job.History.Answers = []inbox.Request{{Text: "Which port?", Answer: needsUnusual}, r}
		w := newWatch(job, false, func() time.Time { return time.Time{}.Add(time.Hour) })
		end, got := w.beginTurn(), 0
		for _, line := range []string{command, "git reset --hard"} {
			got += len(w.see(acp.TerminalOpened{Command: line}))
		}
		end()
		check.Equal(t, "findings after "+answer, want, got)
	}
}
