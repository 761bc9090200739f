package project

import (
	"testing"
	"time"
	_ "time/tzdata" // whatever this machine knows

	"ralph/internal/testing/check"
)

func TestUntilIsTheNextSuchTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ now, text, want, zone string }{
		"tomorrow morning":                {"2026-11-14T23:00:00+01:00", "07:00", "2026-11-15T07:00:00+01:00", "Europe/Berlin"},
		"later today":                     {"2026-11-14T05:00:00+01:00", "07:00", "2026-11-14T07:00:00+01:00", "Europe/Berlin"},
		"this very minute is tomorrow's":  {"2026-11-14T07:00:00+01:00", "07:00", "2026-11-15T07:00:00+01:00", "Europe/Berlin"},
		"over the end of summer time":     {"2026-10-24T23:00:00+02:00", "07:00", "2026-10-25T07:00:00+01:00", "Europe/Berlin"},
		"over the beginning of it":        {"2026-03-28T23:00:00+01:00", "07:00", "2026-03-29T07:00:00+02:00", "Europe/Berlin"},
		"one digit for the hour, as well": {"2026-11-14T23:00:00+01:00", "7:00", "2026-11-15T07:00:00+01:00", "Europe/Berlin"},

		"a time that comes twice, before both":     {"2026-10-25T01:00:00+02:00", "02:30", "2026-10-25T02:30:00+02:00", "Europe/Berlin"},
		"a time that comes twice, after the first": {"2026-10-25T02:45:00+02:00", "02:30", "2026-10-25T02:30:00+01:00", "Europe/Berlin"},
		"a time that comes twice, after both":      {"2026-10-25T02:45:00+01:00", "02:30", "2026-10-26T02:30:00+01:00", "Europe/Berlin"},
		"the same elsewhere":                       {"2026-11-01T01:45:00-04:00", "01:30", "2026-11-01T01:30:00-05:00", "America/New_York"},
		"a time that is left out":                  {"2026-03-08T01:45:00-05:00", "02:30", "2026-03-08T03:30:00-04:00", "America/New_York"},
		"a time that is left out, elsewhere":       {"2026-03-29T01:45:00+01:00", "02:30", "2026-03-29T03:30:00+02:00", "Europe/Berlin"},
		"a midnight that is left out":              {"2026-09-05T23:30:00-04:00", "00:00", "2026-09-06T01:00:00-03:00", "America/Santiago"},
		"clocks put forward by half an hour":       {"2026-10-04T01:45:00+10:30", "02:15", "2026-10-04T02:45:00+11:00", "Australia/Lord_Howe"},
		"the other side of the date line":          {"2026-11-15T23:00:00+14:00", "07:00", "2026-11-16T07:00:00+14:00", "Pacific/Kiritimati"},
		"three quarters of an hour beside others":  {"2026-11-15T23:00:00+05:45", "07:00", "2026-11-16T07:00:00+05:45", "Asia/Kathmandu"},
	} {
		now, err := time.Parse(time.RFC3339, tc.now)
		check.OK(t, err)
		zone, err := time.LoadLocation(tc.zone)
		check.OK(t, err)
		got, err := ParseUntil(tc.text, now.In(zone))
		check.That(t, err == nil && got.Format(time.RFC3339) == tc.want, "%s: got %v, %v, want %s", name, got.Format(time.RFC3339), err, tc.want)
	}
	for _, text := range []string{"25:00", "7", "07:00:00", "noon"} {
		if got, err := ParseUntil(text, time.Time{}); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
