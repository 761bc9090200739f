package dag_test

import (
	"bufio"
	"context"
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
)

// work is what a worker process does; the ledger is its own word for what it did.
func work(job, path, ledger string) int {
	ctx := context.Background()
	d, err := db.Open(ctx, path, db.Options{BusyTimeout: time.Minute})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer d.Close()
	out, err := os.Create(ledger)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer out.Close()
	s := dag.New(d, dag.Options{})
	switch job {
	case "claim":
		err = claimAll(ctx, s, out)
	case "claim until told":
		if err = claimAll(ctx, s, out); err == nil {
			_, _ = io.Copy(io.Discard, os.Stdin) // until the adders are through
			err = claimAll(ctx, s, out)
		}
	case "add":
		err = addMany(ctx, s, out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// claimAll claims and completes until nothing is ready, one transaction each.
func claimAll(ctx context.Context, s *dag.Store, ledger io.Writer) error {
	var run dag.Run
	err := s.Update(ctx, func(g *dag.Graph) (err error) {
		run, err = g.StartRun(dag.Scope{}, dag.Process{PID: int64(os.Getpid())})
		return err
	})
	if err != nil {
		return err
	}
	for {
		var c dag.Claim
		var ok bool
		err := s.Update(ctx, func(g *dag.Graph) (err error) {
			c, ok, err = g.Claim(dag.ClaimOptions{Run: run, Lease: lease})
			return err
		})
		if err != nil || !ok {
			return err
		}
		if _, err := fmt.Fprintln(ledger, c.Task.ID); err != nil {
			return err
		}
		if err := s.Update(ctx, func(g *dag.Graph) error { return g.Complete(c, "skipped") }); err != nil {
			return err
		}
	}
}

const addedGroups, leavesEach = 30 / scale, 3

// addMany adds groups, in each a chain of leaves.
func addMany(ctx context.Context, s *dag.Store, ledger io.Writer) error {
	for i := range addedGroups {
		var group, last string
		err := s.Update(ctx, func(g *dag.Graph) (err error) {
			group, err = g.Add(dag.NewTask{Title: fmt.Sprint("group ", i)})
			if err != nil {
				return err
			}
			last, err = g.Add(dag.NewTask{Title: "leaf", Parent: group})
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(ledger, last)
		for range leavesEach - 1 {
			err := s.Update(ctx, func(g *dag.Graph) (err error) { // the group may be done by now: it reopens
				last, err = g.Add(dag.NewTask{Title: "leaf", Parent: group, After: []string{last}})
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintln(ledger, last)
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
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	check.OK(t, p.Start())
	return p
}

// lines waits for the process and returns its ledger.
func (p *process) lines(t *testing.T) (lines []string) {
	t.Helper()
	_ = p.stdin.Close()
	if err := p.Wait(); err != nil {
		t.Fatalf("worker: %v: %s", err, p.stderr.String())
	}
	f, err := os.Open(p.ledger)
	check.OK(t, err)
	defer f.Close()
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return lines
}

func TestEightProcessesClaimTwoThousandTasksEachExactlyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, ids := w.importMany(2000/scale, func([]dag.Spec, int) {})
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
		if times[id] != 1 {
			t.Errorf("%s was claimed %d times", id, times[id])
		}
	}
	w.wantTally(map[dag.Status]int{dag.Done: len(ids)}, nil)
}

func TestTrapProcessesAddAndClaimAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	specs, _ := w.importMany(300/scale, func([]dag.Spec, int) {}) // so that the claimers have work from the start
	var adders, claimers []*process
	for i := range 3 {
		claimers = append(claimers, startWorker(t, "claim until told", w.path, i))
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
	if want := 3 * addedGroups * leavesEach; len(added) != want || claimed != want+len(specs) {
		t.Errorf("got %d added and %d claimed, want %d and %d", len(added), claimed, want, want+len(specs))
	}
	for _, id := range added {
		if times[id] != 1 {
			t.Errorf("%s was claimed %d times", id, times[id])
		}
	}
	w.wantTally(map[dag.Status]int{dag.Done: claimed}, map[dag.Status]int{dag.Done: 3 * addedGroups})
	w.sound()
}
