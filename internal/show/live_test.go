package show

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/loop"
)

// watched is a terminal whose clock the test moves.
type watched struct {
	*Terminal
	out strings.Builder
	at  time.Time
}

func watch(width int) *watched {
	w := &watched{at: begin}
	w.Terminal = NewTerminal(Options{Out: &w.out, Now: now, Width: func() int { return width }})
	return w
}

func (w *watched) pass(d time.Duration) {
	w.at = w.at.Add(d)
	w.tick(w.at)
	w.tick(w.at) // the same again changes nothing
}

func (w *watched) event(e loop.Event) {
	e.At, e.Task = w.at, or(e.Task, "t-1")
	w.Event(e)
}

func TestSilenceIsFilledAndTakenBack(t *testing.T) {
	t.Parallel()
	w := watch(80)
	w.event(loop.Event{Type: loop.TaskClaimed, Title: "Think", Counts: &loop.Counts{Done: 2, Total: 8}})
	w.event(loop.Event{Type: loop.AgentTool, Tool: &loop.ToolEvent{ID: "1", Title: "ls", New: true}})
	w.event(loop.Event{Type: loop.AgentText, Text: "Hm"})
	w.pass(4 * time.Second) // not long enough to say anything
	w.pass(6 * time.Second)
	w.event(loop.Event{Type: loop.AgentUsage, Usage: &loop.Usage{CostUSD: usd(0.5)}})
	w.pass(70 * time.Second)
	w.event(loop.Event{Type: loop.AgentUsage, Usage: &loop.Usage{CostUSD: usd(0.75), Unknown: true, Estimated: true}})
	w.pass(time.Second)
	w.event(loop.Event{Type: loop.AgentText, Text: "Yes.\n"})
	w.pass(time.Second)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(w.out.String(), "→")
	want := " ls\nHm\n… 10s, 1 tool call, 2 of 8 done" +
		erase + "… 1m20s, 1 tool call, $0.50 so far, 2 of 8 done" +
		erase + "… 1m21s, 1 tool call, at least about $0.75 so far, 2 of 8 done" + erase + "Yes.\n" +
		"… 1m22s, 1 tool call, at least about $0.75 so far, 2 of 8 done" + erase
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWaitCountsDownInPlace(t *testing.T) {
	t.Parallel()
	w := watch(12)
	until := begin.Add(90 * time.Second)
	w.event(loop.Event{Type: loop.Waiting, Until: &until, Reason: "limited"})
	w.pass(time.Second)
	w.pass(time.Minute)
	w.event(loop.Event{Type: loop.Waiting, Until: &until, Reason: "limited"})
	w.pass(time.Minute)
	w.event(loop.Event{Type: loop.Warned, Text: "on we go"})
	w.pass(time.Minute)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := "◷ waiting\n  until\n  03:05:35:\n  limited\n… 1m29s le…" + erase + "… 29s left" + erase + "… 0s left" + erase + "! warning:\n  on we go\n"
	if diff := cmp.Diff(want, w.out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestALogShowsASignOfLife has a task that takes minutes without a line in the log.
func TestALogShowsASignOfLife(t *testing.T) {
	t.Parallel()
	for name, quiet := range map[string]bool{"quiet": true, "by default": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			p := NewPlain(Options{Out: &out, Now: now, Quiet: quiet})
			event := func(after time.Duration, e loop.Event) {
				e.At, e.Run, e.Task = begin.Add(after), "r-1", or(e.Task, "t-1")
				p.Event(e)
			}
			event(0, loop.Event{Type: loop.TaskClaimed, Title: "Think", Counts: &loop.Counts{Done: 2, Total: 8}})
			claimed := out.Len()
			event(time.Second, loop.Event{Type: loop.AgentTool, Tool: &loop.ToolEvent{ID: "1", Title: "ls", New: true}})
			event(2*time.Second, loop.Event{Type: loop.AgentUsage, Usage: &loop.Usage{CostUSD: usd(0.5)}})
			for second := range 150 {
				p.tick(begin.Add(time.Duration(second) * time.Second))
			}
			event(150*time.Second, loop.Event{Type: loop.TaskClaimed, Task: "t-2", Title: "Think, too"})
			claimed2 := out.Len()
			p.tick(begin.Add(215 * time.Second))
			p.tick(begin.Add(230 * time.Second))
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			const line = " still at it: 1m00s, 1 tool call, $0.50 so far, 2 of 8 done\n"
			want := "2026-01-02T03:05:05Z t-1" + line + "2026-01-02T03:06:05Z t-1" + strings.Replace(line, "1m00s", "2m00s", 1)
			if got := out.String()[claimed:]; !strings.HasPrefix(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			want = "2026-01-02T03:07:40Z r-1 still at it: 3m35s, 2 tasks, 1 tool call, $0.50 so far, 2 of 8 done\n"
			if got := out.String()[claimed2:]; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
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
	terminal.Event(loop.Event{Type: loop.Waiting, Until: &until, At: begin})
	ticks <- begin.Add(time.Second)
	for range 2 {
		if err := terminal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); !strings.HasSuffix(got, "\n… 59s left"+erase) {
		t.Errorf("got %q", got)
	}
}

func TestClosedTicksEndTheGoroutine(t *testing.T) {
	t.Parallel()
	ticks := make(chan time.Time)
	close(ticks)
	var out strings.Builder
	terminal := NewTerminal(Options{Out: &out, Ticks: ticks})
	terminal.ticks.work.Wait()
	if err := terminal.Close(); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
