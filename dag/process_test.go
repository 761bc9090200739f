package dag_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// work is what a worker process does; the ledger is its own word for what it did.
func work(job, path, ledger string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, path, db.Options{BusyTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer d.Close()
	out, err := os.Create(ledger)
	if err != nil {
		return err
	}
	defer out.Close()
	s := dag.New(d, dag.Options{})
	if job == "add" {
		return addMany(ctx, s, out)
	}
	if strings.HasPrefix(job, "lock") {
		return lockAll(ctx, s, filepath.Dir(path), job, out)
	}
	err = claimAll(ctx, s, out)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the adders, if there are any, are through
	return errors.Join(err, claimAll(ctx, s, out))
}

// claimAll claims and completes until nothing is ready, one transaction each.
func claimAll(ctx context.Context, s *dag.Store, ledger io.Writer) error {
	var run dag.Run
	err := s.Update(ctx, func(g *dag.Graph) (err error) {
		run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: int64(os.Getpid())})
		return err
	})
	if err != nil {
		return err
	}
	for {
		var c dag.Claim
		var ok bool
		err := s.Update(ctx, func(g *dag.Graph) (err error) {
			c, ok, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: lease})
			return err
		})
		if err != nil || !ok {
			return err
		}
		if _, err := fmt.Fprintln(ledger, c.Task.ID); err != nil {
			return err
		}
		if err := s.Update(ctx, func(g *dag.Graph) error { return g.Queue.Complete(c, "skipped") }); err != nil {
			return err
		}
	}
}

const addedGroups, leavesEach = 30 / raced.Scale, 3

// addMany adds groups, in each a chain of leaves.
func addMany(ctx context.Context, s *dag.Store, ledger io.Writer) error {
	for i := range addedGroups {
		var group string
		var last []string
		for range leavesEach {
			err := s.Update(ctx, func(g *dag.Graph) (err error) { // the group may be done by now: it reopens
				if group == "" {
					group, err = g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: fmt.Sprint("group ", i)}})
				}
				leaf, added := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "leaf"}, Parent: group, After: last})
				last = []string{leaf}
				return errors.Join(err, added)
			})
			if err != nil {
				return err
			}
			fmt.Fprintln(ledger, last[0])
		}
	}
	return nil
}

// process starts the test binary as a worker.
type process struct {
	*exec.Cmd
	ledger string
	stderr strings.Builder
	stdin  io.WriteCloser
}

func startWorker(t *testing.T, job, path string, n int) *process {
	t.Helper()
	exe, err := os.Executable()
	check.OK(t, err)
	p := &process{Cmd: exec.CommandContext(t.Context(), exe), ledger: filepath.Join(filepath.Dir(path), fmt.Sprintf("%s-%d", job, n))}
	p.Env = append(os.Environ(), "RALPH_TEST_JOB="+job, "RALPH_TEST_DB="+path, "RALPH_TEST_LEDGER="+p.ledger)
	p.Stderr = &p.stderr
	p.stdin, err = p.StdinPipe()
	check.OK(t, err)
	check.OK(t, p.Start())
	return p
}

// lines waits for the process and returns its ledger.
func (p *process) lines(t *testing.T) []string {
	t.Helper()
	_ = p.stdin.Close()
	if err := p.Wait(); err != nil {
		t.Fatalf("worker: %v: %s", err, p.stderr.String())
	}
	text, err := os.ReadFile(p.ledger)
	check.OK(t, err)
	return strings.Fields(string(text))
}

func TestEightProcessesClaimTwoThousandTasksEachExactlyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, ids := w.importMany(2000/raced.Scale, func([]dag.Spec, int) {})
	var workers []*process
	for i := range 8 {
		workers = append(workers, startWorker(t, "claim", w.path, i))
	}
	times := map[string]int{}
	for _, p := range workers {
		for _, id := range p.lines(t) {
			times[id]++
		}
	}
	for _, id := range ids {
		check.Equal(t, "claims of "+id, 1, times[id])
	}
	w.wantTally(map[dag.Status]int{dag.Done: len(ids)}, nil)
}

func TestTrapProcessesAddAndClaimAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	specs, _ := w.importMany(300/raced.Scale, func([]dag.Spec, int) {}) // so that the claimers have work from the start
	var adders, claimers []*process
	for i := range 3 {
		claimers = append(claimers, startWorker(t, "claim", w.path, i))
		adders = append(adders, startWorker(t, "add", w.path, i))
	}
	var added []string
	for _, p := range adders {
		added = append(added, p.lines(t)...)
	}
	times, claimed := map[string]int{}, 0
	for _, p := range claimers {
		for _, id := range p.lines(t) {
			times[id]++
			claimed++
		}
	}
	check.Equal(t, "added tasks", 3*addedGroups*leavesEach, len(added))
	check.Equal(t, "claims", len(added)+len(specs), claimed)
	for _, id := range added {
		check.Equal(t, "claims of "+id, 1, times[id])
	}
	w.wantTally(map[dag.Status]int{dag.Done: claimed}, map[dag.Status]int{dag.Done: 3 * addedGroups})
	w.sound()
}
