package report

import (
	"slices"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	for whole, want := range map[time.Duration][]string{
		time.Millisecond:        {"0", "0ms", "0ms", "0ms", "1ms"},
		800 * time.Millisecond:  {"0", "200ms", "400ms", "600ms", "800ms"},
		1666 * time.Millisecond: {"0", "0.4s", "0.8s", "1.2s", "1.7s"},
		10 * time.Second:        {"0", "2s", "5s", "7s", "10s"},
		8 * time.Minute:         {"0", "2m00s", "4m00s", "6m00s", "8m00s"},
	} {
		check.Equal(t, whole.String(), want, ticks(whole))
	}
	for ms := 10; ms < 100_000; ms++ {
		if got := ticks(time.Duration(ms) * time.Millisecond); len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%d ms: the same words twice: %v", ms, got)
		}
	}
}
