package budget

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // whatever this machine knows

	"pgregory.net/rapid"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

var evening = time.Date(2026, 11, 14, 23, 0, 0, 0, time.UTC)

func TestEachLimitWarnsAtFourFifthsAndIsOverAtAll(t *testing.T) {
	t.Parallel()
	morning := evening.Add(8 * time.Hour)
	all := Limits{CostUSD: 5, Tokens: 1000, Iterations: 10, Failures: 5, Duration: 10 * time.Hour, Until: morning}
	for name, tc := range map[string]struct {
		account Account
		now     time.Time
		over    []string
		near    []string
	}{
		"nothing is limited":         {Account{Scope: Run, Used: Used{CostUSD: 1e9, Tokens: 1e15, Iterations: 1e6, Failures: 99, Duration: 1e15}}, morning, nil, nil},
		"nothing is spent":           {Account{Scope: Run, Limits: all, Used: Used{Since: evening}}, evening, nil, nil},
		"money, just before":         {Account{Scope: Run, Limits: all, Used: Used{CostUSD: 3.99}}, evening, nil, nil},
		"money, near":                {Account{Scope: Run, Limits: all, Used: Used{CostUSD: 4}}, evening, nil, []string{"$4.00 of $5.00 spent"}},
		"money, spent":               {Account{Scope: Run, Limits: all, Used: Used{CostUSD: 5}}, evening, []string{"$5.00 of $5.00 spent"}, nil},
		"money, a guess":             {Account{Scope: Run, Limits: all, Used: Used{CostUSD: 6, Estimated: true}}, evening, []string{"about $6.00 of $5.00 spent"}, nil},
		"money, at least":            {Account{Scope: Run, Limits: all, Used: Used{CostUSD: 6, Unknown: true}}, evening, []string{"at least $6.00 of $5.00 spent"}, nil},
		"little money":               {Account{Scope: Run, Limits: Limits{CostUSD: 0.004}, Used: Used{CostUSD: 0.0061}}, evening, []string{"$0.0061 of $0.0040 spent"}, nil},
		"money of the day":           {Account{Scope: Day, Limits: all, Used: Used{CostUSD: 7}}, evening, []string{"$7.00 of $5.00 spent today"}, nil},
		"tokens of a feature, near":  {Account{Scope: Feature, Name: "login", Limits: all, Used: Used{Tokens: 999}}, evening, nil, []string{"999 of 1,000 tokens used on feature login"}},
		"tokens of a task, over":     {Account{Scope: Task, Name: "t-1", Limits: all, Used: Used{Tokens: 1000}}, evening, []string{"1,000 of 1,000 tokens used on t-1"}, nil},
		"iterations of a task, near": {Account{Scope: Task, Name: "t-1", Limits: all, Used: Used{Iterations: 8}}, evening, nil, []string{"8 of 10 iterations on t-1"}},
		"iterations, over":           {Account{Scope: Run, Limits: all, Used: Used{Iterations: 10}}, evening, []string{"10 of 10 iterations"}, nil},
		"failures, near":             {Account{Scope: Run, Limits: all, Used: Used{Failures: 4}}, evening, nil, []string{"4 of 5 tasks failed in a row"}},
		"failures, over":             {Account{Scope: Run, Limits: all, Used: Used{Failures: 5}}, evening, []string{"5 of 5 tasks failed in a row"}, nil},
		"time, near":                 {Account{Scope: Run, Limits: all, Used: Used{Duration: 8 * time.Hour}}, evening, nil, []string{"8h00m of 10h00m worked"}},
		"time, over":                 {Account{Scope: Run, Limits: all, Used: Used{Duration: 11 * time.Hour}}, evening, []string{"11h00m of 10h00m worked"}, nil},
		"the clock, a while before":  {Account{Scope: Run, Limits: all, Used: Used{Since: evening}}, morning.Add(-3 * time.Hour), nil, nil},
		"the clock, near":            {Account{Scope: Run, Limits: all, Used: Used{Since: evening}}, morning.Add(-time.Hour), nil, []string{"it is to end at 07:00"}},
		"the clock, over":            {Account{Scope: Run, Limits: all, Used: Used{Since: evening}}, morning, []string{"it is 07:00"}, nil},
		"the clock went back":        {Account{Scope: Run, Limits: all, Used: Used{Since: evening}}, evening.Add(-time.Hour), nil, nil},
		"the clock, begun too late":  {Account{Scope: Run, Limits: all, Used: Used{Since: morning.Add(time.Hour)}}, morning.Add(2 * time.Hour), []string{"it is 07:00"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			over, near := Check(tc.now, tc.account)
			texts := func(list []Finding) (texts []string) {
				for _, f := range list {
					texts = append(texts, f.Text)
				}
				return texts
			}
			check.Equal(t, "over", tc.over, texts(over))
			check.Equal(t, "near", tc.near, texts(near))
		})
	}
}

func TestTheTightestBudgetOfMoneyAndTokensCounts(t *testing.T) {
	t.Parallel()
	accounts := []Account{
		{Scope: Run, Limits: Limits{CostUSD: 10, Iterations: 2}, Used: Used{CostUSD: 1, Iterations: 2}},
		{Scope: Day, Limits: Limits{Tokens: 100}, Used: Used{Tokens: 70}},
	}
	check.Equal(t, "share", 0.7, Share(evening, accounts...))
	check.Equal(t, "share without a budget", 0.0, Share(evening))
}

// Spending more never makes anything less over, and nothing is both.
func TestSpendingMoreNeverHelps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := Account{Scope: rapid.SampledFrom([]Scope{Run, Day, Feature, Task}).Draw(t, "scope")}
		a.Limits = Limits{
			CostUSD: rapid.Float64Range(0, 10).Draw(t, "cost"), Tokens: rapid.Int64Range(0, 1e6).Draw(t, "tokens"),
			Iterations: rapid.IntRange(0, 10).Draw(t, "iterations"), Duration: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "duration")),
		}
		a.Used = Used{
			CostUSD: rapid.Float64Range(0, 20).Draw(t, "spent"), Tokens: rapid.Int64Range(0, 2e6).Draw(t, "used"),
			Iterations: rapid.IntRange(0, 20).Draw(t, "done"), Duration: time.Duration(rapid.Int64Range(0, 2e12).Draw(t, "worked")),
		}
		more := a
		more.Used.CostUSD++
		more.Used.Tokens++
		more.Used.Iterations++
		more.Used.Duration++
		over, near := Check(evening, a)
		overMore, _ := Check(evening, more)
		has := func(list []Finding, f Finding) bool {
			return slices.ContainsFunc(list, func(o Finding) bool { return f.Key() == o.Key() })
		}
		for _, f := range over {
			check.That(t, has(overMore, f), "%v is over, but not after spending more", f)
		}
		for _, f := range near {
			check.That(t, !has(over, f), "%v is both", f)
		}
		if (len(over) > 0) != (Share(evening, a) >= 1) && !slices.ContainsFunc(over, func(f Finding) bool { return f.What == Iterations || f.What == Duration }) {
			t.Fatalf("over %v, but share %v", over, Share(evening, a))
		}
	})
}

func TestDescribeNamesEveryLimit(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 6, 30, 0, 0, time.UTC)
	got := Describe(3, Limits{CostUSD: 5, Duration: 8 * time.Hour, Until: until, Failures: 2}, Limits{Tokens: 1000}, Limits{}, Limits{Iterations: 9})
	want := "3 iterations, $5.00, 8h, until Fri 06:30, 2 failures in a row, 1,000 tokens a task, 9 iterations a day"
	check.Equal(t, "limits", want, got)
	check.Equal(t, "no limits", Unlimited, Describe(0, Limits{}, Limits{}, Limits{}, Limits{}))
}

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
		check.Equal(t, now[1], want, Midnight(at.In(zone)).Format(time.RFC3339))
	}
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	cheap, nothing := 0.5, 0.0
	table := Prices{
		"claude-opus-*":      {Input: 5, Cached: &cheap, Output: 25},
		"claude-*":           {Input: 3, Output: 15},
		"GPT-5":              {Input: 1, Cached: &nothing, Output: 10},
		"*/qwen*-coder":      {Input: 0.1, Output: 0.2},
		"claude-opus-4-fast": {Input: 30, Output: 150},
	}
	mega := event.Usage{TokensIn: 1e6, TokensCached: 2e6, TokensOut: 1e6}
	for name, tc := range map[string]struct {
		table Prices
		model string
		used  event.Usage
		want  float64
		known bool
	}{
		"the pattern that fits":                  {table, "claude-opus-4-8", mega, 31, true},
		"a whole name wins over a pattern":       {table, "claude-opus-4-fast", event.Usage{TokensOut: 1e6}, 150, true},
		"cached like input, if nobody said":      {table, "claude-sonnet-5", mega, 24, true},
		"cached for nothing, if somebody did":    {table, "gpt-5", mega, 11, true},
		"in whatever case":                       {table, "Claude-Opus-5", event.Usage{TokensIn: 1e6}, 5, true},
		"a star in the middle":                   {table, "openrouter/qwen3-coder", event.Usage{TokensIn: 1e7}, 1, true},
		"a star does not fit less than stands":   {table, "openrouter/qwen3", mega, 0, false},
		"an unknown model":                       {table, "gemini-3-pro", mega, 0, false},
		"a model that nobody named":              {table, "", mega, 0, false},
		"nobody named it, but all cost that":     {Prices{"*": {Input: 1, Output: 1}}, "", event.Usage{TokensIn: 1e6}, 1, true},
		"no tokens were reported":                {table, "gpt-5", event.Usage{}, 0, false},
		"a list price without any of the user's": {nil, "gpt-5", mega, 11.5, true},
		"a list price beside the user's":         {table, "o3", mega, 11, true},
		"of a model with a date":                 {nil, "claude-sonnet-4-20250514", mega, 18.6, true},
		"of a model with another kind of date":   {nil, "GPT-4o-mini-2024-07-18", mega, 0.9, true},
		"the newer opus costs less":              {nil, "claude-opus-4-5-20251101", mega, 31, true},
		"than the older one":                     {nil, "claude-opus-4-1-20250805", mega, 93, true},
		"any price of the user's wins":           {Prices{"*": {Input: 1, Output: 1}}, "gpt-5", event.Usage{TokensIn: 1e6}, 1, true},
		"a price of nothing is the user's, too":  {Prices{"gpt-*": {}}, "gpt-5", mega, 0, true},
		"no list price of a relative":            {nil, "gpt-5-pro", mega, 0, false},
		"no list price of a newer one":           {nil, "claude-opus-5", mega, 0, false},
		"no list price at another provider":      {nil, "openrouter/gpt-5", mega, 0, false},
		"no list price of what is no date":       {nil, "gpt-5-20259999", mega, 0, false},
		"no list price of a local model":         {nil, "qwen3", mega, 0, false},
		"nor of one with a tag":                  {nil, "llama3.2:latest", mega, 0, false},
		"nor of one that OpenAI gave away":       {nil, "gpt-oss:20b", mega, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // whatever the order of the table
				got, known := tc.table.estimate(tc.model, tc.used)
				if known != tc.known || got < tc.want-1e-9 || got > tc.want+1e-9 {
					t.Fatalf("got %v %v, want %v %v", got, known, tc.want, tc.known)
				}
			}
		})
	}
}
