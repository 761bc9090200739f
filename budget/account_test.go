package budget

import (
	"testing"
	"time"
	_ "time/tzdata" // whatever this machine knows

	"ralph/internal/testing/check"
)

func TestADayBeginsOnThatDay(t *testing.T) {
	t.Parallel()
	for now, want := range map[[2]string]string{
		{"2026-11-15T12:00:00Z", "Europe/Berlin"}:    "2026-11-15T00:00:00+01:00",
		{"2026-09-06T12:00:00Z", "America/Santiago"}: "2026-09-06T01:00:00-03:00",
		{"2026-03-08T12:00:00Z", "America/Havana"}:   "2026-03-08T01:00:00-04:00",
		{"2026-11-01T05:30:00Z", "America/Havana"}:   "2026-11-01T00:00:00-04:00",
		{"2026-04-24T12:00:00Z", "Africa/Cairo"}:     "2026-04-24T01:00:00+03:00",
	} {
		zone, err := time.LoadLocation(now[1])
		check.OK(t, err)
		at, err := time.Parse(time.RFC3339, now[0])
		check.OK(t, err)
		if got := Midnight(at.In(zone)).Format(time.RFC3339); got != want {
			t.Errorf("%v: got %s, want %s", now, got, want)
		}
	}
}
