package project

import (
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata" // whatever this machine knows

	"ralph/internal/testing/check"
)

func TestBudgetsAndPricesAreMergedKeyByKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[budget.day]\nmax_cost_usd = 9\nmax_tokens = 5\n[prices.'a*']\ninput = 1\noutput = 2\n")
	proj := write(t, filepath.Join(dir, "project.toml"), "[agent]\nfallback = ['codex']\n[budget.day]\nmax_tokens = 7\n[prices]\n'b.1' = { input = 3, cached = 0, output = 4 }\n[drift]\nrepeats = 0\n")
	l, err := Load(user, proj, environ(map[string]string{"RALPH_BUDGET_TASK_MAX_ITERATIONS": "3", "RALPH_RUN_WAIT": "2h", "RALPH_BUDGET_UNTIL": "07:00"}))
	check.OK(t, err)
	free := 0.0
	want := Default()
	want.Agent.Fallback, want.Run.Wait, want.Drift.Repeats = []string{"codex"}, "2h", 0
	want.Budget = BudgetConfig{Until: "07:00", Task: TaskBudget{MaxIterations: 3}, Day: SharedBudget{MaxCostUSD: 9, MaxTokens: 7}}
	want.Prices = map[string]PriceConfig{"a*": {Input: 1, Output: 2}, "b.1": {Input: 3, Cached: &free, Output: 4}}
	check.Equal(t, "result", want, l.Config)
	for key, origin := range map[string]string{
		"budget.day.cost": user, "budget.day.tokens": proj, "prices.a*": user, "prices.b.1": proj,
		"agent": proj, "drift.repeats": proj, "drift.tokens": "default", "budget.task.iterations": "RALPH_BUDGET_TASK_MAX_ITERATIONS",
	} {
		check.Equal(t, "origin of "+key, origin, l.Origin(key))
	}
}

func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Waiting{
		"auto": {}, "never": {Never: true}, "0s": {Never: true}, "90m": {Most: 90 * time.Minute},
	} {
		got, err := ParseWait(text)
		check.That(t, err == nil && got == want, "%s: got %+v, %v", text, got, err)
	}
	for _, text := range []string{"", "soon", "-1h", "AUTO"} {
		got, err := ParseWait(text)
		check.That(t, err != nil, "%q: got %+v", text, got)
	}
}

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
		got, err := ParseUntil(text, time.Time{})
		check.That(t, err != nil, "%q: got %v", text, got)
	}
}
