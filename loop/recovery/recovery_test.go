package recovery_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/merge"
	"ralph/internal/slot"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/loop/land"
	"ralph/loop/recovery"
)

// TestRecoveringTwiceIsTheSameAsOnce recovers in several processes at once.
func TestRecoveringTwiceIsTheSameAsOnce(t *testing.T) {
	t.Parallel()
	store, task, _ := died(t, dag.ClaimOptions{})
	const recoverers = 4
	var looked, recovering sync.WaitGroup
	looked.Add(recoverers)
	r := recovery.Recoverer{
		Store: store, Now: time.Now,
		Life: func(dag.Process) dag.Life { return dag.Dead },
		Sweep: func(string) (int, error) { // all have seen the claim before any releases it
			looked.Done()
			looked.Wait()
			return 0, nil
		},
	}
	found := make([]recovery.Recovery, recoverers)
	for i := range found {
		recovering.Go(func() {
			var err error
			if found[i], err = r.Recover(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	recovering.Wait()
	tasks := 0
	for _, rec := range found {
		tasks += len(rec.Tasks)
	}
	check.That(t, tasks == 1, "got %d recoveries, want 1", tasks)
	err := store.View(t.Context(), func(g *dag.Graph) error {
		got, err := g.History.Attempts(task)
		check.That(t, len(got) == 1 && got[0].Outcome == "interrupted", "got %+v, want one interrupted attempt", got)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// died is a graph with one task, whose run is dead.
func died(t *testing.T, opts dag.ClaimOptions) (store *dag.Store, task dag.Task, claim dag.Claim) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	file, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { file.Close() })
	store = dag.New(file, dag.Options{})
	check.OK(t, store.Update(t.Context(), func(g *dag.Graph) error {
		id, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "mine"}})
		if err != nil {
			return err
		}
		if task, err = g.Tasks.Get(id); err != nil {
			return err
		}
		if opts.Run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, Start: 1, BootID: "elsewhere"}); err != nil {
			return err
		}
		opts.Lease, opts.Iteration = -1, 1
		claim, _, err = g.Queue.Claim(opts)
		return err
	}))
	return store, task, claim
}

// TestARecoveryThatIsLateLeavesTheSlotAlone: another one has released the task meanwhile, so that the next attempt may
// be at work in it.
func TestARecoveryThatIsLateLeavesTheSlotAlone(t *testing.T) {
	t.Parallel()
	store, _, claim := died(t, dag.ClaimOptions{Slots: true})
	dir := t.TempDir()
	sh := exec.CommandContext(t.Context(), "sh", "-ec", `git init -q -b main; git config user.name A; git config user.email a@localhost
		echo a > a; git add a; git commit -qm first`)
	sh.Dir = dir
	said, err := sh.CombinedOutput()
	check.That(t, err == nil, "%v: %s", err, said)
	repo, err := git.OpenRepo(t.Context(), dir)
	check.OK(t, err)
	first, err := repo.Commit(t.Context(), "HEAD")
	check.OK(t, err)
	state := t.TempDir()
	slots := slot.Open(slot.Options{Dir: t.TempDir(), State: state, Project: dir, Name: "p", Repo: repo})
	s, err := slots.Take(t.Context(), claim.Slot, claim.Attempt, first, first)
	check.OK(t, err)
	check.OK(t, os.WriteFile(filepath.Join(s.Top(), "a"), []byte("changed"), 0o600))
	index := func() os.FileInfo {
		info, err := os.Stat(filepath.Join(state, "1", "index"))
		check.OK(t, err)
		return info
	}
	alone, err := merge.Lock(t.Context(), repo, "slot-1") // as the other one has
	check.OK(t, err)
	defer alone.Close()
	looked, ended := make(chan bool), make(chan error, 1)
	r := recovery.Recoverer{
		Store: store, Now: time.Now, Dir: dir,
		Life:  func(dag.Process) dag.Life { return dag.Dead },
		Sweep: func(string) (int, error) { close(looked); return 0, nil },
		Parallel: func(context.Context) (land.Site, error) {
			return land.Site{Repo: repo, Slots: slots}, nil
		},
	}
	var rec recovery.Recovery
	go func() {
		var err error
		rec, err = r.Recover(t.Context())
		ended <- err
	}()
	<-looked
	_, err = s.Tree(t.Context()) // a look at the files, which takes as long as one by the recovery would
	check.OK(t, err)
	before := index()
	check.OK(t, store.Update(t.Context(), func(g *dag.Graph) error {
		return recovery.Reclaim(g, claim.Task, dag.ReclaimOptions{Reason: "released"}, time.Now())
	}))
	check.OK(t, alone.Close())
	check.OK(t, <-ended)
	check.That(t, len(rec.Tasks) == 0, "the late one has recovered %+v", rec.Tasks)
	check.That(t, os.SameFile(before, index()), "the slot's index was replaced")
	refs, err := merge.ListRefs(t.Context(), repo)
	check.OK(t, err)
	check.That(t, len(refs) == 0, "got %v, want no refs", refs)
}

// TestAcceptedWorkIsNeverTooOld: a person has said that it is good, so no agent does it again, however long ago the run
// died that was to check it.
func TestAcceptedWorkIsNeverTooOld(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]bool{"accepted": true, "not accepted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, task, claim := died(t, dag.ClaimOptions{})
			check.OK(t, store.Update(t.Context(), func(g *dag.Graph) error {
				err := g.History.NoteAttempt(claim.Attempt, dag.Note{Rejected: event.RejectedTampering})
				if err == nil && accept {
					_, err = g.Queue.Retry(claim, "tampering: a_test.go", 0)
				} else if err == nil {
					err = g.Queue.Release(claim, dag.Release{Outcome: event.AttemptInterrupted, Finished: true})
				}
				if err == nil && accept {
					err = g.Queue.Accept(task.ID, "")
				}
				if err != nil {
					return err
				}
				run, err := g.History.RunOf(claim.Attempt)
				if err == nil {
					_, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: -1, Iteration: 2})
				}
				return err
			}))
			r := recovery.Recoverer{
				Store: store, Now: func() time.Time { return time.Now().Add(48 * time.Hour) }, Rules: recovery.Rules{MaxAge: 24 * time.Hour},
				Life: func(dag.Process) dag.Life { return dag.Dead },
			}
			want := map[bool]recovery.Action{true: recovery.Resumed, false: recovery.Abandoned}[accept]
			preview, err := r.Preview(t.Context())
			check.That(t, err == nil && len(preview.Tasks) == 1 && preview.Tasks[0].Action == want, "got %+v, %v", preview, err)
			got, err := r.Recover(t.Context())
			check.That(t, err == nil && len(got.Tasks) == 1 && got.Tasks[0].Action == want, "got %+v, %v", got, err)
		})
	}
}

// TestFinishedWorkOutlivesAnyNumberOfDeaths: only its verdict is missing, so no run that dies before that costs an attempt.
func TestFinishedWorkOutlivesAnyNumberOfDeaths(t *testing.T) {
	t.Parallel()
	store, task, claim := died(t, dag.ClaimOptions{})
	r := recovery.Recoverer{
		Store: store, Now: time.Now, Rules: recovery.Rules{MaxInterruptions: 3, MaxAttempts: 2},
		Life: func(dag.Process) dag.Life { return dag.Dead },
	}
	finished := claim.Attempt
	for _, phase := range []dag.Phase{dag.Answered, dag.Claimed, dag.Verifying, dag.Verifying, dag.Claimed, dag.Verifying} {
		check.OK(t, store.Update(t.Context(), func(g *dag.Graph) error { return g.History.NoteAttempt(claim.Attempt, dag.Note{Phase: phase}) }))
		got, err := r.Recover(t.Context())
		check.That(t, err == nil && len(got.Tasks) == 1 && got.Tasks[0].Action == recovery.Resumed, "got %+v, %v; want it resumed", got, err)
		check.OK(t, store.Update(t.Context(), func(g *dag.Graph) error {
			now, err := g.Tasks.Get(task.ID)
			check.That(t, now.Unverified == finished && now.Attempts == 0, "got %+v, want the finished work and no attempt charged", now)
			run, rerr := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, Start: 1, BootID: "elsewhere"})
			claim, _, _ = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: -1, Iteration: 1})
			return errors.Join(err, rerr)
		}))
	}
}
