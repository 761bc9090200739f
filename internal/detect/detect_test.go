package detect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "ralph/internal/testing/seeded"

	"ralph/internal/testing/check"
)

var began = time.Date(2026, 11, 15, 2, 0, 0, 0, time.UTC)

func after(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }

// calls ends n calls that are all the same, or all different.
func calls(s *Detector, n int, c Call, differ bool) {
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
		feed func(*Detector)
		now  time.Time
		want []Kind
	}{
		"an attempt that gets on":             {func(s *Detector) { calls(s, 500, ok, true) }, after(2), nil},
		"19 attempts":                         {func(s *Detector) { s.Iterations = 19 }, after(0), nil},
		"20 attempts":                         {func(s *Detector) { s.Iterations = 20 }, after(0), []Kind{Iterations}},
		"fewer than two million tokens":       {func(s *Detector) { s.Tokens = 1_999_999 }, after(0), nil},
		"two million tokens":                  {func(s *Detector) { s.Tokens = 2_000_000 }, after(0), []Kind{Tokens}},
		"9 failures in a row":                 {func(s *Detector) { calls(s, 9, bad, true) }, after(2), nil},
		"10 failures in a row":                {func(s *Detector) { calls(s, 10, bad, true) }, after(2), []Kind{ToolFailures}},
		"10 failures with a success between":  {func(s *Detector) { calls(s, 5, bad, true); calls(s, 1, ok, false); calls(s, 5, bad, true) }, after(2), nil},
		"the same call 5 times":               {func(s *Detector) { calls(s, 5, ok, false) }, after(2), nil},
		"the same call 6 times":               {func(s *Detector) { calls(s, 6, ok, false) }, after(2), []Kind{Repeats}},
		"6 times, but a file changed between": {func(s *Detector) { calls(s, 5, ok, false); s.Changed(after(1)); calls(s, 5, ok, false) }, after(2), nil},
		"a circle of three calls": {func(s *Detector) {
			for range 6 {
				for _, name := range []string{"a", "b", "c"} {
					calls(s, 1, Call{Name: name, Input: "i"}, false)
				}
			}
		}, after(2), []Kind{Repeats}},
		"the same name, but nobody said with what": {func(s *Detector) { calls(s, 20, Call{Name: "Read", Result: "r"}, false) }, after(2), nil},
		"6 times in a hundred calls": {func(s *Detector) {
			for range 6 {
				calls(s, 1, ok, false)
				calls(s, 20, Call{Name: "other"}, true)
			}
		}, after(2), nil},
		"one attempt without a change":      {func(s *Detector) { s.Unchanged = 1 }, after(0), nil},
		"two attempts without a change":     {func(s *Detector) { s.Unchanged = 2 }, after(0), []Kind{Unchanged}},
		"19 minutes without news":           {func(*Detector) {}, after(19), nil},
		"20 minutes without news":           {func(*Detector) {}, after(20), []Kind{NoProgress}},
		"20 minutes of failures":            {func(s *Detector) { s.Ended(bad, after(19)) }, after(20), []Kind{NoProgress}},
		"20 minutes of the same":            {func(s *Detector) { s.Ended(ok, after(0)); s.Ended(ok, after(19)) }, after(20), []Kind{NoProgress}},
		"a new result after 19 minutes":     {func(s *Detector) { s.Ended(ok, after(19)) }, after(38), nil},
		"a change after 19 minutes":         {func(s *Detector) { s.Changed(after(19)) }, after(38), nil},
		"a call that has run for an hour":   {func(s *Detector) { s.Started() }, after(60), nil},
		"and 20 minutes after it failed":    {func(s *Detector) { s.Started(); s.Ended(bad, after(60)) }, after(80), []Kind{NoProgress}},
		"several at once, in their order":   {func(s *Detector) { s.Iterations, s.Tokens = 30, 3_000_000; calls(s, 10, bad, false) }, after(21), []Kind{Iterations, Tokens, ToolFailures, Repeats, NoProgress}},
		"a fresh start after a nudge":       {func(s *Detector) { calls(s, 10, bad, false); s.Tokens = 3_000_000; s.Forgive(after(19)) }, after(38), nil},
		"nudged, and the same begins again": {func(s *Detector) { calls(s, 10, bad, true); s.Forgive(after(1)); calls(s, 10, bad, true) }, after(2), []Kind{ToolFailures}},
	} {
		s := Detector{Limits: Default()}
		s.Begin(began)
		tc.feed(&s)
		var got []Kind
		for _, signal := range s.Check(tc.now) {
			got = append(got, signal.Kind)
			check.That(t, signal.Text != "", "%s: %s says nothing", name, signal.Kind)
		}
		check.Equal(t, name, tc.want, got)
		s.Limits = Limits{}
		check.Equal(t, name+", when all are off", []Signal(nil), s.Check(tc.now))
	}
}

// Whatever is fed, what is kept stays small, turning a detector off silences it
// and only it, and a higher threshold never fires when a lower one does not.
func TestDetectorsAreIndependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Detector{Limits: Default()}
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
		all := s.Check(now)
		s.Limits.ToolFailures = 0
		rest := s.Check(now)
		for _, signal := range all {
			check.That(t, signal.Kind == ToolFailures || slices.Contains(rest, signal), "%v is gone with another detector", signal)
		}
		s.Limits = Default()
		s.Limits.Repeats, s.Limits.NoProgress = 2*s.Limits.Repeats, 2*s.Limits.NoProgress
		for _, signal := range s.Check(now) {
			check.That(t, slices.Contains(all, signal), "%v fires only at a higher threshold", signal)
		}
	})
}
