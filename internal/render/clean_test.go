package render

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"ralph/internal/event"
	"ralph/internal/term"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
)

// hostile draws text with much of what terminals obey.
func hostile(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			"\x1b[31m", "\x1b", "[", "\x1b]0;x\a", "\x1b[2J", "\u009b1A", "\u202e", "\u2066", "\ufeff", "\r", "\n", "\t", "\x7f", "é", "\xc3", "🦜", "::error::",
		}),
	), 0, 8).Draw(t, label)
	return strings.Join(parts, "")
}

func TestWhereTextIsCutDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := hostile(t, "text")
		var whole, pieces term.Cleaner
		want := whole.Add(text)
		want += whole.End()
		got := ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got += pieces.Add(rest[:n])
			rest = rest[n:]
		}
		if got += pieces.End(); got != want {
			t.Fatalf("%q in pieces gives %q, whole %q", text, got, want)
		}
	})
}

// TestNoTextReachesTheTerminalUncleaned puts hostile text into every field of
// every event. Without colours and ticks the sinks themselves write no control
// character but line breaks.
func TestNoTextReachesTheTerminalUncleaned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		opts := Options{Out: &b, Now: now, Verbose: rapid.Bool().Draw(t, "verbose"), Quiet: rapid.Bool().Draw(t, "quiet")}
		var plain strings.Builder
		logged := opts
		logged.Out = &plain
		sink := Multi(NewTerminal(opts), NewPlain(logged))
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			sink.Event(hostileEvent(t))
		}
		sink.Event(event.Event{Type: event.RunEnded, Outcome: hostile(t, "outcome"), Reason: hostile(t, "reason")})
		_ = sink.Close()
		for _, r := range strings.NewReplacer("\n", "", "\t", "").Replace(b.String()) + strings.ReplaceAll(plain.String(), "\n", "") {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
				t.Fatalf("wrote %U", r)
			}
		}
		for line := range strings.Lines(plain.String()) {
			if !strings.HasPrefix(line, "2026-01-02T03:04:05Z ") {
				t.Fatalf("a line of the log begins with foreign text: %q", line)
			}
		}
	})
}

func hostileEvent(t *rapid.T) event.Event {
	text := func(label string) string { return hostile(t, label) }
	return event.Event{
		Type:  rapid.SampledFrom(append(sampleTypes(), "unheard_of")).Draw(t, "type"),
		Task:  rapid.SampledFrom([]string{"t-1", "t-2\x1b[2J", ""}).Draw(t, "task"),
		Run:   "r-1\x1b[2J",
		Title: text("title"), Agent: text("agent"), Model: text("model"), Text: text("text"),
		Tool: &event.Tool{ID: "1", Title: text("tool"), Kind: text("kind"), Status: text("status"), New: true, Error: text("error")},
		Plan: []string{text("plan")}, Gate: &event.Gate{Command: text("gate"), Exit: text("exit"), Log: text("log")},
		Setup: &event.Setup{
			Scope: text("scope"), Agent: text("a"), Model: text("m"), Limits: text("l"), Sandbox: text("s"), Verify: text("v"),
			Folder: text("folder"), Jobs: rapid.IntRange(0, 2).Draw(t, "jobs"),
		},
		Outcome: text("outcome"), Status: rapid.SampledFrom([]event.TaskStatus{event.TaskDone, event.TaskFailed, event.TaskPending}).Draw(t, "state"), Reason: text("reason"),
		Usage: &event.Usage{TokensIn: 1, CostUSD: usd(0.001)}, Counts: &event.Counts{Total: 1},
	}
}

func TestAReasonThatSaysTheSameIsNotRepeated(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]event.Event{
		"interrupted in 3s":                {Outcome: "interrupted", Status: "pending", Reason: "interrupted", Duration: 3000},
		"interrupted in 3s: stopped by me": {Outcome: "interrupted", Status: "pending", Reason: "stopped by me", Duration: 3000},
	} {
		got, _, _ := ended(e, &attempt{})
		check.Equal(t, "how it ended", want, got)
	}
}

// TestATerminalBreaksNoWord has terminals of several widths: no line but a single word is wider than they are.
func TestATerminalBreaksNoWord(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		for _, verbose := range []bool{false, true} {
			opts := Options{Width: func() int { return width }, Palette: term.Palette{On: true}, Verbose: verbose}
			shown := rendered(t, NewTerminal, opts, sampleRun())
			for line := range strings.Lines(shown) {
				line = strings.TrimRight(term.Strip(line), "\n")
				if term.Width(line) > width && len(strings.Fields(line)) > 1 && !strings.HasPrefix(line, "── ") {
					t.Errorf("on %d columns %q is too wide", width, line)
				}
			}
		}
	}
}
