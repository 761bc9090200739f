package drift

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "ralph/internal/testing/seeded"

	"ralph/event"
	"ralph/internal/testing/check"
)

var began = time.Date(2026, 11, 15, 2, 0, 0, 0, time.UTC)

func after(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }

// calls ends n calls that are all the same, or all different.
func calls(s *Stats, n int, c Call, differ bool) {
	for i := range n {
		if differ {
			c.Input = fmt.Sprint(i)
		}
		s.Started()
		s.Ended(c, after(1))
	}
}

func TestEachDetectorFiresAtItsThresholdAndNotBefore(t *testing.T) {
	t.Parallel()
	ok, bad := Call{Name: "read a", Input: "i", Result: "r"}, Call{Name: "run", Input: "i", Failed: true}
	for name, tc := range map[string]struct {
		feed func(*Stats)
		now  time.Time
		want []Kind
	}{
		"an attempt that gets on":             {func(s *Stats) { calls(s, 500, ok, true) }, after(2), nil},
		"19 attempts":                         {func(s *Stats) { s.Iterations = 19 }, after(0), nil},
		"20 attempts":                         {func(s *Stats) { s.Iterations = 20 }, after(0), []Kind{Iterations}},
		"fewer than two million tokens":       {func(s *Stats) { s.Tokens = 1_999_999 }, after(0), nil},
		"two million tokens":                  {func(s *Stats) { s.Tokens = 2_000_000 }, after(0), []Kind{Tokens}},
		"9 failures in a row":                 {func(s *Stats) { calls(s, 9, bad, true) }, after(2), nil},
		"10 failures in a row":                {func(s *Stats) { calls(s, 10, bad, true) }, after(2), []Kind{ToolFailures}},
		"10 failures with a success between":  {func(s *Stats) { calls(s, 5, bad, true); calls(s, 1, ok, false); calls(s, 5, bad, true) }, after(2), nil},
		"the same call 5 times":               {func(s *Stats) { calls(s, 5, ok, false) }, after(2), nil},
		"the same call 6 times":               {func(s *Stats) { calls(s, 6, ok, false) }, after(2), []Kind{Repeats}},
		"6 times, but a file changed between": {func(s *Stats) { calls(s, 5, ok, false); s.Changed(after(1)); calls(s, 5, ok, false) }, after(2), nil},
		"a circle of three calls": {func(s *Stats) {
			for range 6 {
				for _, name := range []string{"a", "b", "c"} {
					calls(s, 1, Call{Name: name, Input: "i"}, false)
				}
			}
		}, after(2), []Kind{Repeats}},
		"the same name, but nobody said with what": {func(s *Stats) { calls(s, 20, Call{Name: "Read", Result: "r"}, false) }, after(2), nil},
		"6 times in a hundred calls": {func(s *Stats) {
			for range 6 {
				calls(s, 1, ok, false)
				calls(s, 20, Call{Name: "other"}, true)
			}
		}, after(2), nil},
		"one attempt without a change":      {func(s *Stats) { s.Unchanged = 1 }, after(0), nil},
		"two attempts without a change":     {func(s *Stats) { s.Unchanged = 2 }, after(0), []Kind{Unchanged}},
		"19 minutes without news":           {func(*Stats) {}, after(19), nil},
		"20 minutes without news":           {func(*Stats) {}, after(20), []Kind{NoProgress}},
		"20 minutes of failures":            {func(s *Stats) { s.Ended(bad, after(19)) }, after(20), []Kind{NoProgress}},
		"20 minutes of the same":            {func(s *Stats) { s.Ended(ok, after(0)); s.Ended(ok, after(19)) }, after(20), []Kind{NoProgress}},
		"a new result after 19 minutes":     {func(s *Stats) { s.Ended(ok, after(19)) }, after(38), nil},
		"a change after 19 minutes":         {func(s *Stats) { s.Changed(after(19)) }, after(38), nil},
		"a call that has run for an hour":   {func(s *Stats) { s.Started() }, after(60), nil},
		"and 20 minutes after it failed":    {func(s *Stats) { s.Started(); s.Ended(bad, after(60)) }, after(80), []Kind{NoProgress}},
		"several at once, in their order":   {func(s *Stats) { s.Iterations, s.Tokens = 30, 3_000_000; calls(s, 10, bad, false) }, after(21), []Kind{Iterations, Tokens, ToolFailures, Repeats, NoProgress}},
		"a fresh start after a nudge":       {func(s *Stats) { calls(s, 10, bad, false); s.Tokens = 3_000_000; s.Forgive(after(19)) }, after(38), nil},
		"nudged, and the same begins again": {func(s *Stats) { calls(s, 10, bad, true); s.Forgive(after(1)); calls(s, 10, bad, true) }, after(2), []Kind{ToolFailures}},
	} {
		var s Stats
		s.Begin(began)
		tc.feed(&s)
		var got []Kind
		for _, signal := range Check(s, Default(), tc.now) {
			got = append(got, signal.Kind)
			check.That(t, signal.Text != "", "%s: %s says nothing", name, signal.Kind)
		}
		check.Equal(t, name, tc.want, got)
		check.Equal(t, name+", when all are off", []Signal(nil), Check(s, Thresholds{}, tc.now))
	}
}

func TestTheLadderIsClimbedRungByRung(t *testing.T) {
	t.Parallel()
	check.Equal(t, "the first time", event.DriftNudge, Ladder(0, 0))
	check.Equal(t, "then the attempt ends", event.DriftStronger, Ladder(1, 0))
	check.Equal(t, "the stronger model is nudged too", event.DriftNudge, Ladder(0, 1))
	check.Equal(t, "and then the task is given up", event.DriftGiveUp, Ladder(1, 1))
	check.Equal(t, "and stays given up", event.DriftGiveUp, Ladder(3, 2))
}

// Whatever is fed, what is kept stays small, turning a detector off silences it
// and only it, and a higher threshold never fires when a lower one does not.
func TestDetectorsAreIndependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Stats
		s.Begin(began)
		now := began
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				s.Started()
			case 1, 2:
				s.Ended(Call{Input: "i", Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), Failed: rapid.Bool().Draw(t, "failed")}, now)
			case 3:
				s.Changed(now)
			case 4:
				s.Tokens += rapid.Int64Range(0, 1_000_000).Draw(t, "tokens")
			}
		}
		check.That(t, len(s.recent) <= window, "%d calls are kept", len(s.recent))
		limit := Default()
		all := Check(s, limit, now)
		limit.ToolFailures = 0
		rest := Check(s, limit, now)
		for _, signal := range all {
			check.That(t, signal.Kind == ToolFailures || slices.Contains(rest, signal), "%v is gone with another detector", signal)
		}
		limit = Default()
		limit.Repeats, limit.NoProgress = 2*limit.Repeats, 2*limit.NoProgress
		for _, signal := range Check(s, limit, now) {
			check.That(t, slices.Contains(all, signal), "%v fires only at a higher threshold", signal)
		}
	})
}
