package attempt

import (
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestDemand(t *testing.T) {
	t.Parallel()
	const s = time.Second
	clock := time.Unix(0, 0)
	now := func() time.Time { return clock }
	took := func(wall, cpu time.Duration) func() (time.Duration, bool) {
		return func() (time.Duration, bool) { clock = clock.Add(wall); return cpu, true }
	}
	var d Demand
	want := func(what string, wall, cpu time.Duration) {
		t.Helper()
		gotWall, gotCPU := d.Last()
		check.Equal(t, what, [2]time.Duration{wall, cpu}, [2]time.Duration{gotWall, gotCPU})
	}
	want("before the first", 0, 0)
	d.measure(now, took(4*s, 4*s))
	want("one alone", 4*s, 4*s)
	d.measure(now, took(4*s, s))
	want("the next one alone", 4*s, s)
	d.measure(now, func() (time.Duration, bool) {
		d.measure(now, took(8*s, s))
		return 1, true
	})
	want("two side by side that seem to need less", 4*s, s)
	d.measure(now, func() (time.Duration, bool) {
		d.measure(now, took(s, s))
		want("one beside another that needs more", s, s)
		return 1, true
	})
	want("and the other, which seems to need less", s, s)
	d.measure(now, func() (time.Duration, bool) { clock = clock.Add(s); return 0, false })
	want("one that says nothing", s, s)
	d.measure(now, took(3*s, 0))
	want("one alone that needs no processor", 3*s, 0)
}
