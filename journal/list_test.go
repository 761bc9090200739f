package journal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/journal"
)

func ptr[T any](v T) *T { return &v }

func TestEveryFieldComesBack(t *testing.T) {
	t.Parallel()
	full := journal.Entry{
		N: 1, At: morning, Run: "r-1", Attempt: "a-1", Iteration: 3, Task: "t-1", Feature: "auth", Title: "Log in", Outcome: "failed",
		Reason: "red", Notes: "try harder", Agent: "claude", Model: "opus", ModelEffective: "big", StopReason: "end_turn",
		Duration: 1500 * time.Millisecond,
		Usage:    event.Usage{TokensIn: 1, TokensOut: 3, CostUSD: ptr(0.0), Estimated: true, Unknown: true}, Files: []string{"a.go", "b \"c\".go"},
	}
	bare := journal.Entry{N: 2, At: morning, Run: "r-1", Task: "t-2", Title: "Bare", Outcome: "released"}
	d := openMemory(t)
	remember(t, d, full, bare)
	got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{}) })
	check.Equal(t, "unlike what was added", []journal.Entry{full, bare}, got)
	one := view(t, d, func(tx *db.Tx) (journal.Entry, error) { return journal.Get(tx, 2) })
	check.Equal(t, "unknown is not nil", bare, one)
}

func TestEveryWayToEndIsRemembered(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	for _, outcome := range event.AttemptOutcomes() {
		remember(t, d, journal.Entry{Run: "r-1", Task: "t-1", Title: string(outcome), Outcome: outcome})
		got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{Outcome: outcome}) })
		check.Equal(t, string(outcome), []string{string(outcome)}, titles(got))
	}
}

func TestListKeepsToItsFilter(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	for i := range 12 {
		e := journal.Entry{Run: fmt.Sprintf("r-%d", i%2), Task: fmt.Sprintf("t-%d", i%3), Title: fmt.Sprint(i)}
		if i%4 == 0 {
			e.Feature, e.Outcome = "auth", "failed"
		}
		remember(t, d, e)
	}
	for name, tt := range map[string]struct {
		filter journal.Filter
		want   []string
	}{
		"the newest of a run, oldest first": {journal.Filter{Run: "r-1", Limit: 2}, []string{"9", "11"}},
		"a task":                            {journal.Filter{Task: "t-2"}, []string{"2", "5", "8", "11"}},
		"a task in a run":                   {journal.Filter{Task: "t-2", Run: "r-0"}, []string{"2", "8"}},
		"a feature":                         {journal.Filter{Feature: "auth"}, []string{"0", "4", "8"}},
		"an outcome":                        {journal.Filter{Outcome: "failed", Limit: 1}, []string{"8"}},
		"all four":                          {journal.Filter{Run: "r-0", Task: "t-1", Feature: "auth", Outcome: "failed"}, []string{"4"}},
		"nothing fits":                      {journal.Filter{Run: "r-9"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, tt.filter) })
			check.Equal(t, "result", tt.want, titles(got))
		})
	}
}

func TestANumberThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	err := openMemory(t).View(t.Context(), func(tx *db.Tx) error {
		_, err := journal.Get(tx, 7)
		return err
	})
	if !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}
