package cron_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"pgregory.net/rapid"

	"ralph/internal/cron"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

func parse(t testing.TB, text, zone string) cron.Line {
	t.Helper()
	l, err := cron.Parse(text, zone)
	check.OK(t, err)
	return l
}

func when(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	check.OK(t, err)
	return at
}

func TestNext(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ line, zone, after, next, then string }{
		"weekdays at one":                  {"0 1 * * 1-5", "UTC", "2026-11-13T02:00:00Z", "2026-11-16T01:00:00Z", "2026-11-17T01:00:00Z"},
		"strictly after":                   {"0 1 * * *", "UTC", "2026-11-13T01:00:00Z", "2026-11-14T01:00:00Z", "2026-11-15T01:00:00Z"},
		"in the middle of a second":        {"* * * * * *", "UTC", "2026-11-13T01:00:00.4Z", "2026-11-13T01:00:01Z", "2026-11-13T01:00:02Z"},
		"by name":                          {"@daily", "Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00+02:00", "2026-07-03T00:00:00+02:00"},
		"month and weekday by name":        {"0 9 * JAN MON", "UTC", "2026-11-13T01:00:00Z", "2027-01-04T09:00:00Z", "2027-01-11T09:00:00Z"},
		"a leap day over the century":      {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"},
		"a leap day in a zone":             {"0 0 29 2 *", "Europe/Paris", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00+01:00", "2032-02-29T00:00:00+01:00"},
		"skipped by the clock":             {"30 2 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"},
		"several that are skipped":         {"0,20,40 2 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"},
		"skipped, and one at its end":      {"0 2,3 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"},
		"shown twice":                      {"30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		"shown twice, from in between":     {"30 2 * * *", "Europe/Paris", "2026-10-25T01:10:00Z", "2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"},
		"right after what is shown twice":  {"0 3 * * *", "Europe/Paris", "2026-10-25T01:10:00Z", "2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"},
		"every two hours, shown twice":     {"0 */2 * * *", "Europe/Paris", "2026-10-25T00:00:00Z", "2026-10-25T04:00:00+01:00", "2026-10-25T06:00:00+01:00"},
		"every hour goes by elapsed time":  {"30 * * * *", "Europe/Paris", "2026-10-25T00:00:00Z", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"},
		"every hour is not early":          {"30 * * * *", "Europe/Paris", "2026-03-29T00:00:00Z", "2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"},
		"half an hour, skipped":            {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"},
		"half an hour, shown twice":        {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"},
		"a day that a place has left out":  {"0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"},
		"the thirty-first over two months": {"0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, tt.line, tt.zone).Some(when(t, tt.after), 2)
			check.Equal(t, "times", 2, len(got))
			check.Equal(t, "next", []string{tt.next, tt.then}, []string{got[0].Format(time.RFC3339), got[1].Format(time.RFC3339)})
		})
	}
}

// TestALineThatIsNeverDue ends, in zones whose clock changes too.
func TestALineThatIsNeverDue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 1 1 * 2020"} {
		for _, zone := range []string{"UTC", "Europe/Paris"} {
			check.Equal(t, text+" "+zone, time.Time{}, parse(t, text, zone).Next(when(t, "2026-01-01T00:00:00Z")))
		}
	}
}

// TestBadLines are refused whatever the time is: what the library looks at depends on it.
func TestBadLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "* * * *", "* * * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8", "-1 * * * *",
		"0,99 * * * *", "*,99 * * * *", "1-2-3 * * * *", "5-1 * * * *", "*/0 * * * *", "*/x * * * *", "1,,2 * * * *", "MONDAY * * * *",
		"* * * * MONDAY", "nightly", "0 0 * * 1;2", "0 0 * * $(id)", "99999999999999999999 * * * *", "0 5L * * *",
	} {
		_, err := cron.Parse(text, "UTC")
		check.That(t, err != nil, "%q is accepted", text)
	}
	_, err := cron.Parse("@midnight", "UTC")
	check.Equal(t, "a name that is none", `"@midnight" is not one of @hourly, @daily, @weekly, @monthly, @yearly`, fmt.Sprint(err))
	for _, zone := range []string{"Mars", "../../etc/passwd", "Europe", "+02:00"} {
		_, err := cron.Parse("0 1 * * *", zone)
		check.That(t, err != nil, "time zone %q is accepted", zone)
	}
}

// TestNextIsTheFirst compares with a look at every minute: nothing that is due is passed over, and nothing comes twice.
func TestNextIsTheFirst(t *testing.T) {
	t.Parallel()
	field := func(low, high int) *rapid.Generator[string] {
		return rapid.OneOf(rapid.Just("*"), rapid.Map(rapid.IntRange(low, high), func(n int) string { return fmt.Sprint(n) }),
			rapid.Map(rapid.IntRange(2, 7), func(n int) string { return fmt.Sprint("*/", n) }),
			rapid.Map(rapid.IntRange(low, high), func(n int) string { return fmt.Sprintf("%d-%d", n, min(n+3, high)) }))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprint(field(0, 59).Draw(t, "minute"), " ", field(0, 23).Draw(t, "hour"), " ", field(1, 31).Draw(t, "day"), " * ", field(0, 6).Draw(t, "weekday"))
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe"}).Draw(t, "zone")
		line, err := cron.Parse(text, zone)
		check.OK(t, err)
		begin := time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 365).Draw(t, "day of the year"))
		next := line.Next(begin)
		if next.IsZero() || next.Sub(begin) > 72*time.Hour {
			next = begin.Add(72 * time.Hour)
		}
		for at := begin.Add(time.Minute); at.Before(next); at = at.Add(time.Minute) {
			due, err := gronx.New().IsDue(text, at.In(line.Zone()))
			check.OK(t, err)
			// What is due by the clock on the wall and passed over is shown for the second time.
			earlier := at.Add(-time.Hour).In(line.Zone()).Format("15:04") == at.In(line.Zone()).Format("15:04") ||
				at.Add(-30*time.Minute).In(line.Zone()).Format("15:04") == at.In(line.Zone()).Format("15:04")
			check.That(t, !due || earlier, "%s in %s after %v: %v is passed over for %v", text, zone, begin, at.In(line.Zone()), next)
		}
		check.That(t, line.Next(next).After(next) || line.Next(next).IsZero(), "%s does not go on after %v", text, next)
	})
}
