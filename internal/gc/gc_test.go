package gc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

// newCollector makes a project at noon in which one run is open, of a process with that life.
func newCollector(t *testing.T, life dag.Life) Collector {
	t.Helper()
	p, _, err := project.Create(t.TempDir(), project.Found{})
	check.OK(t, err)
	emptydb.Write(t, p.DB())
	d, err := db.Open(t.Context(), p.DB(), db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	store := dag.New(d, dag.Options{})
	check.OK(t, store.Update(t.Context(), func(g *dag.Graph) error {
		_, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, BootID: "boot"})
		return err
	}))
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	return Collector{Project: p, DB: d, Store: store, Life: func(dag.Process) dag.Life { return life }, Now: func() time.Time { return noon }}
}

// TestAutomaticCollectsAtMostOnceADay, and never beside a run that may be alive.
func TestAutomaticCollectsAtMostOnceADay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		last string // what the file says; empty if there is none
		life dag.Life
		want bool
	}{
		"never yet":                 {"", dag.Dead, true},
		"an hour ago":               {"2026-05-04T11:00:00Z\n", dag.Dead, false},
		"a day ago":                 {"2026-05-03T12:00:00Z\n", dag.Dead, true},
		"in the future, by a clock": {"2026-05-05T12:00:00Z\n", dag.Dead, true},
		"a file that is damaged":    {"yesterday", dag.Dead, true},
		"a run is alive":            {"", dag.Alive, false},
		"a run may be alive":        {"", dag.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, tc.life)
			last := filepath.Join(c.Project.State(), "last-gc")
			if tc.last != "" {
				check.OK(t, os.WriteFile(last, []byte(tc.last), 0o600))
			}
			_, ran, err := c.Automatic(t.Context(), time.Hour)
			check.OK(t, err)
			check.Equal(t, "ran", tc.want, ran)
			if said, _ := os.ReadFile(last); ran {
				check.Equal(t, "last-gc", "2026-05-04T12:00:00Z\n", string(said))
			}
		})
	}
}

// TestTreesOfAnOlderRalphGoWithTheWork that is compared with them.
func TestTreesOfAnOlderRalphGoWithTheWork(t *testing.T) {
	t.Parallel()
	c := newCollector(t, dag.Dead)
	tree := strings.Repeat("12", 20)
	stored := filepath.Join(c.Project.Objects(), "objects", tree[:2], tree[2:])
	var claim dag.Claim
	check.OK(t, c.Store.Update(t.Context(), func(g *dag.Graph) error {
		_, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "mine"}})
		if err == nil {
			var run dag.Run
			if run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 2, BootID: "boot"}); err == nil {
				claim, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour, Iteration: 1})
			}
		}
		return errors.Join(err, g.History.NoteAttempt(claim.Attempt, dag.Note{Tree: tree}))
	}))
	for _, kept := range []bool{true, false} {
		check.OK(t, os.MkdirAll(filepath.Dir(stored), 0o700))
		if kept {
			check.OK(t, os.WriteFile(stored, nil, 0o600))
		} else {
			check.OK(t, os.Remove(stored)) // the repository has it
		}
		_, err := c.Collect(t.Context(), time.Hour, false)
		check.OK(t, err)
		_, err = os.Stat(c.Project.Objects())
		check.Equal(t, "kept", kept, err == nil)
	}
}
