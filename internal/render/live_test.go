package render

import (
	"strings"
	"testing"
	"time"

	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// watched is a terminal whose clock the test moves.
type watched struct {
	*Console
	out strings.Builder
	at  time.Time
}

func watch(width int) *watched {
	w := &watched{at: begin}
	w.Console = NewTerminal(Options{Out: &w.out, Now: now, Width: func() int { return width }})
	return w
}

func (w *watched) pass(d time.Duration) {
	w.at = w.at.Add(d)
	w.tick(w.at)
	w.tick(w.at) // the same again changes nothing
}

func (w *watched) event(e event.Event) {
	e.At, e.Task = w.at, or(e.Task, "t-1")
	w.Event(e)
}

func TestSilenceIsFilledAndTakenBack(t *testing.T) {
	t.Parallel()
	w := watch(80)
	w.event(event.Event{Type: event.TaskClaimed, Title: "Think", Counts: &event.Counts{Done: 2, Total: 8}})
	w.event(event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "1", Title: "ls", New: true}})
	w.event(event.Event{Type: event.AgentText, Text: "Hm"})
	w.pass(4 * time.Second) // not long enough to say anything
	w.pass(6 * time.Second)
	w.event(event.Event{Type: event.AgentUsage, Usage: &event.Usage{CostUSD: usd(0.5)}})
	w.pass(70 * time.Second)
	w.event(event.Event{Type: event.AgentUsage, Usage: &event.Usage{CostUSD: usd(0.75), Unknown: true, Estimated: true}})
	w.pass(time.Second)
	w.event(event.Event{Type: event.AgentText, Text: "Yes.\n"})
	w.pass(time.Second)
	check.OK(t, w.Close())
	_, got, _ := strings.Cut(w.out.String(), "→")
	want := " ls\nHm\n… 10s, 1 tool call, 2 of 8 done" +
		erase + "… 1m20s, 1 tool call, $0.50 so far, 2 of 8 done" +
		erase + "… 1m21s, 1 tool call, at least about $0.75 so far, 2 of 8 done" + erase + "Yes.\n" +
		"… 1m22s, 1 tool call, at least about $0.75 so far, 2 of 8 done" + erase
	check.Equal(t, "result", want, got)
}

func TestWaitCountsDownInPlace(t *testing.T) {
	t.Parallel()
	w := watch(12)
	until := begin.Add(90 * time.Second)
	w.event(event.Event{Type: event.Waiting, Until: &until, Reason: "limited"})
	w.pass(time.Second)
	w.pass(time.Minute)
	w.event(event.Event{Type: event.Waiting, Until: &until, Reason: "limited"})
	w.pass(time.Minute)
	w.event(event.Event{Type: event.Warned, Text: "on we go"})
	w.pass(time.Minute)
	check.OK(t, w.Close())
	want := "◷ waiting\n  until\n  03:05:35:\n  limited\n… 1m29s le…" + erase + "… 29s left" + erase + "… 0s left" + erase + "! warning:\n  on we go\n"
	check.Equal(t, "result", want, w.out.String())
}

// TestALogShowsASignOfLife has a task that takes minutes without a line in the log.
func TestALogShowsASignOfLife(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{true, false} {
		var out strings.Builder
		p := NewPlain(Options{Out: &out, Now: now, Quiet: quiet})
		send := func(after time.Duration, e event.Event) {
			e.At, e.Run, e.Task = begin.Add(after), "r-1", or(e.Task, "t-1")
			p.Event(e)
		}
		send(0, event.Event{Type: event.TaskClaimed, Title: "Think", Counts: &event.Counts{Done: 2, Total: 8}})
		out.Reset()
		send(time.Second, event.Event{Type: event.AgentTool, Tool: &event.Tool{ID: "1", Title: "ls", New: true}})
		send(2*time.Second, event.Event{Type: event.AgentUsage, Usage: &event.Usage{CostUSD: usd(0.5)}})
		for second := range 150 {
			p.tick(begin.Add(time.Duration(second) * time.Second))
		}
		check.Equal(t, "one task", "2026-01-02T03:05:05Z t-1 still running: 1m00s, 1 tool call, $0.50 so far, 2 of 8 done\n"+
			"2026-01-02T03:06:05Z t-1 still running: 2m00s, 1 tool call, $0.50 so far, 2 of 8 done\n", out.String())
		send(150*time.Second, event.Event{Type: event.TaskClaimed, Task: "t-2", Title: "Think, too"})
		out.Reset()
		p.tick(begin.Add(215 * time.Second))
		p.tick(begin.Add(230 * time.Second))
		check.Equal(t, "two tasks", "2026-01-02T03:07:40Z r-1 still running: 3m35s, 2 tasks, 1 tool call, $0.50 so far, 2 of 8 done\n", out.String())

		send(231*time.Second, event.Event{Type: event.MergeWaiting, Reason: "a.txt is in the way", Merge: &event.Merge{N: 1}})
		out.Reset()
		p.tick(begin.Add(291 * time.Second))
		send(292*time.Second, event.Event{Type: event.MergeLanded, Merge: &event.Merge{N: 1}})
		p.tick(begin.Add(352 * time.Second))
		check.OK(t, p.Close())
		lines := strings.SplitAfter(out.String(), "\n")
		check.Equal(t, "what waits", "2026-01-02T03:08:56Z r-1 still running: t-1 waits to land: a.txt is in the way, 4m51s, 2 tasks, 1 tool call, $0.50 so far, 2 of 8 done\n", lines[0])
		check.Equal(t, "and then landed", "2026-01-02T03:09:57Z r-1 still running: 5m52s, 2 tasks, 1 tool call, $0.50 so far, 2 of 8 done\n", lines[len(lines)-2])
	}
}

// TestTicksComeAndClosingTakesThemBack is the one test with the goroutine: a tick that was received has
// been shown when the terminal is closed.
func TestTicksComeAndClosingTakesThemBack(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	ticks := make(chan time.Time)
	terminal := NewTerminal(Options{Out: &out, Now: now, Ticks: ticks})
	until := begin.Add(time.Minute)
	terminal.Event(event.Event{Type: event.Waiting, Until: &until, At: begin})
	ticks <- begin.Add(time.Second)
	for range 2 {
		check.OK(t, terminal.Close())
	}
	check.That(t, strings.HasSuffix(out.String(), "\n… 59s left"+erase), "got %q", out.String())
}
