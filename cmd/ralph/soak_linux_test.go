package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/internal/term"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// soakKills is how many random kills there are: those that .ci/run does, or what the variable says, which the recipes of the
// justfile set.
func soakKills(t *testing.T, variable string, ordinary int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return ordinary
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is a number of kills, not %q", variable, text)
	}
	return n
}

// soak is what is counted; what stands in the last line must stay 0.
type soak struct {
	mu      sync.Mutex
	left    int // kills that are still to be done
	kills   int
	helpers int // together with their helpers, so that their agents are orphaned
	tasks   int
	resets  int // of tasks that ran, by another process

	lost, twice, stuck, survivors, integrity int
}

// TestSoak kills runs at random times, alone and beside others, and counts what
// must never happen. The witness of two at once is the agents' own ledger.
func TestSoak(t *testing.T) {
	raced.Skip(t, "the program is killed here")
	t.Parallel()
	s := &soak{left: soakKills(t, "RALPH_SOAK", 100)}
	total := s.left
	const lanes = 3
	t.Run("lanes", func(t *testing.T) {
		for i := range lanes {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				s.lane(t, i)
			})
		}
	})
	table := s.table()
	t.Log("\n" + table)
	if path := os.Getenv("RALPH_SOAK_TABLE"); path != "" {
		check.OK(t, os.WriteFile(path, []byte(table), 0o600))
	}
	if s.kills < total {
		t.Errorf("got %d kills, want %d", s.kills, total)
	}
	if s.lost+s.twice+s.stuck+s.survivors+s.integrity > 0 {
		t.Error("what must never happen has happened")
	}
}

// lane kills runs in one place until all kills are done, and then lets a run finish.
func (s *soak) lane(t *testing.T, number int) {
	p := newPlace(t, say(step{Do: "fork", Argv: []string{"session"}}, saysDone()),
		"max_attempts = 1000", "[verify]", `commands = ["true"]`, "[recovery]", "max_interruptions = 1000000000")
	p.prestarts()
	if number < 2 {
		p.env = append(p.env, "RALPH_VERIFY_ENABLED=true") // another agent verifies, too
	}
	if number > 0 {
		p.env = append(p.env, "RALPH_SANDBOX_MODE=off") // in a PID namespace nobody outlives the helper
	}
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(number)))
	for {
		if p.tasks < 20 || s.open(p) < 10 {
			p.plan(slices.Repeat([]string{"task"}, 20)...)
		}
		n := 1 + random.IntN(3) // at times several at once
		if !s.take(n) {
			break
		}
		var runs sync.WaitGroup
		for range n {
			how := death{
				after: time.Duration(random.IntN(300)) * time.Millisecond, helpers: random.IntN(3) == 0,
				working: random.IntN(2) == 0, size: p.booked(),
			}
			r := p.start("run")
			runs.Go(func() { s.kill(p, r, how) })
		}
		if random.IntN(4) == 0 {
			s.meddle(p)
		}
		runs.Wait()
	}
	s.count(t, p)
}

// take reserves kills.
func (s *soak) take(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left <= 0 {
		return false
	}
	s.left -= n
	return true
}

// death is how a run is killed.
type death struct {
	working bool // wait until an agent is at work first
	after   time.Duration
	helpers bool  // kill its helpers, too
	size    int64 // of the ledger when it began
}

// kill ends a run as the kernel would.
func (s *soak) kill(p *place, r *running, how death) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for how.working && p.booked() == how.size {
		select {
		case <-tick.C:
			continue
		case <-r.ended: // it had nothing to do
		}
		break
	}
	timer := time.NewTimer(how.after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ended: // it was done before
	}
	orphaned := 0
	if how.helpers {
		orphaned = min(r.killWithHelpers(), 1)
	} else {
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.cmd.ProcessState.ExitCode() == -1 {
		s.kills++
		s.helpers += orphaned
	} else {
		s.left++ // it does not count
	}
}

// meddle resets a task that runs, as a person might at any time.
func (s *soak) meddle(p *place) {
	if running := p.overview().Running; len(running) > 0 {
		p.want(0, "task", "reset", running[0].ID)
		s.mu.Lock()
		s.resets++
		s.mu.Unlock()
	}
}

// booked is how much the agents have written into their ledger.
func (p *place) booked() int64 {
	info, err := os.Stat(filepath.Join(p.ledger, "ledger.jsonl"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// open is how many tasks are still to be done.
func (s *soak) open(p *place) int {
	status := p.overview()
	return status.Total - status.Counts["done"] - status.Counts["failed"]
}

// count lets a run finish and counts what must not be.
func (s *soak) count(t *testing.T, p *place) {
	t.Helper()
	last := p.start("run")
	<-last.ended
	status := p.overview()
	doctor := p.start("doctor", "--json")
	<-doctor.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks += p.tasks
	s.lost += p.tasks - status.Counts["done"]
	s.stuck += len(status.Running) + len(status.Stale) + len(status.Runs)
	last.wait(0)
	if code := doctor.cmd.ProcessState.ExitCode(); code != 0 {
		s.integrity++
		t.Errorf("doctor:\n%s", doctor.stdout.String())
	}
	s.twice += len(p.entered("overlap"))
	p.wantNoOverlap()
	s.survivors += len(p.processes())
	p.wantNothingLeft()
}

func (s *soak) table() string {
	var b strings.Builder
	table := &term.Table{}
	for _, row := range []struct {
		what string
		n    int
	}{
		{"kills", s.kills},
		{"of those with their helpers", s.helpers},
		{"tasks", s.tasks},
		{"resets of running tasks by another process", s.resets},
		{"lost", s.lost},
		{"executed twice at once", s.twice},
		{"stuck", s.stuck},
		{"survivors", s.survivors},
		{"integrity_check, foreign_key_check, derived columns", s.integrity},
	} {
		table.Add(term.Cell{Text: row.what}, term.Cell{Text: strconv.Itoa(row.n)})
	}
	b.WriteString(table.String())
	return b.String()
}

// childrenOf are the processes that a process has started.
func childrenOf(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var list []int
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}
