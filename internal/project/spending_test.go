package project

import (
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestBudgetsAndPricesAreMergedKeyByKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[budget.day]\nmax_cost_usd = 9\nmax_tokens = 5\n[prices.'a*']\ninput = 1\noutput = 2\n")
	proj := write(t, filepath.Join(dir, "project.toml"), "[agent]\nfallback = ['codex']\n[budget.day]\nmax_tokens = 7\n[prices]\n'b.1' = { input = 3, cached = 0, output = 4 }\n[drift]\nrepeats = 0\n")
	l, err := Load(user, proj, func(name string) string {
		return map[string]string{"RALPH_BUDGET_TASK_MAX_ITERATIONS": "3", "RALPH_RUN_WAIT": "2h", "RALPH_BUDGET_UNTIL": "07:00"}[name]
	})
	check.OK(t, err)
	free := 0.0
	want := Default()
	want.Agent.Fallback, want.Run.Wait, want.Drift.Repeats = []string{"codex"}, "2h", 0
	want.Budget = BudgetConfig{Until: "07:00", Task: TaskBudget{MaxIterations: 3}, Day: SharedBudget{MaxCostUSD: 9, MaxTokens: 7}}
	want.Prices = map[string]PriceConfig{"a*": {Input: 1, Output: 2}, "b.1": {Input: 3, Cached: &free, Output: 4}}
	check.Equal(t, "result", want, l.Config)
	for key, origin := range map[string]string{
		"budget.day.max_cost_usd": user, "budget.day.max_tokens": proj, "prices.a*": user, "prices.b.1": proj,
		"agent.fallback": proj, "drift.repeats": proj, "drift.tokens": "default", "budget.task.max_iterations": "RALPH_BUDGET_TASK_MAX_ITERATIONS",
	} {
		if got := l.Origin(key); got != origin {
			t.Errorf("origin of %s: got %s, want %s", key, got, origin)
		}
	}
}

func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Waiting{
		"auto": {}, "never": {Never: true}, "0s": {Never: true}, "90m": {Most: 90 * time.Minute},
	} {
		if got, err := ParseWait(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "-1h", "AUTO"} {
		if got, err := ParseWait(text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
