package story

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attemptsOf is how many tries a worker began.
func attemptsOf(w *process) int {
	data, _ := os.ReadFile(w.log)
	return strings.Count(string(data), ": attempt a-")
}

// TestKills kills workers, the server and the home at random moments and starts each again. Nothing is lost, nothing lands
// twice, and everything is as after a local run of the same plan.
func TestKills(t *testing.T) {
	tasks, kills, workers := number(t, "RALPH_TEMPORAL_TASKS", 200), number(t, "RALPH_TEMPORAL_KILLS", 50), 4
	seed := number(t, "RALPH_TEMPORAL_SEED", int(time.Now().UnixNano()%1e6)+1)
	t.Logf("%d tasks, %d workers, %d kills, RALPH_TEMPORAL_SEED=%d", tasks, workers, kills, seed)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	local, p := newPlace(t), newPlace(t)
	for _, p := range []*place{local, p} {
		p.plan(chains(tasks, 300*time.Millisecond))
	}
	begun := time.Now()
	local.ralph("run", "--agent", "shell", "--jobs", "8")
	t.Logf("the local run with 8 jobs took %v", time.Since(begun).Round(time.Second))

	k := &killing{place: p, random: random, count: map[string]int{}}
	p.serve()
	for i := range workers {
		k.workers = append(k.workers, p.worker(fmt.Sprintf("w%d", i+1), 2))
	}
	begun = time.Now()
	k.home = p.run("--agent", "shell", "--jobs", "8")
	for n := range kills {
		goal := tasks * n / (kills + kills/5 + 1)
		awaitFor(t, 5*time.Minute, fmt.Sprintf("%d tasks to land", goal), func() bool { k.watch(); return len(p.landed()) >= goal })
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond) // a random moment
		k.strike()
	}
	awaitFor(t, 10*time.Minute, "the run to end", func() bool { k.watch(); return k.home.ended() })
	p.expect(k.home, 0, 0)
	took := time.Since(begun)
	lost, twice := p.settledWell(tasks)
	want, got := local.result(), p.result()
	equal(t, "the result", want, got)
	tries := 0
	for _, w := range k.workers {
		tries += attemptsOf(w)
		check(t, w.Process.Signal(syscall.SIGTERM))
		p.expect(w, 0, time.Minute)
	}
	p.noneBut(p.server)
	t.Logf("FIGURES: %d tasks, %d workers, %d kills %v (seed %d): %d lost, %d landed twice, %d tries, %v; homes joined: %d",
		tasks, workers, kills, k.count, seed, lost, twice, tries, took.Round(time.Second), strings.Count(readAll(k.home.log), "joined workflow"))
}

func readAll(file string) string {
	data, _ := os.ReadFile(file)
	return string(data)
}

type killing struct {
	*place
	random  *rand.Rand
	workers []*process
	home    *process
	count   map[string]int
}

// watch fails when something ended that nobody killed.
func (k *killing) watch() {
	k.t.Helper()
	if k.home.ended() && k.home.status() != 0 {
		k.t.Fatalf("the home ended by itself, with status %d:\n%s", k.home.status(), k.home.output())
	}
	for _, w := range k.workers {
		if w.ended() {
			k.t.Fatalf("a worker ended by itself, with status %d:\n%s", w.status(), w.output())
		}
	}
	if k.server.ended() {
		k.t.Fatalf("the server ended by itself:\n%s", k.server.output())
	}
}

// strike kills one process and starts it again.
func (k *killing) strike() {
	k.t.Helper()
	if k.home.ended() {
		k.t.Fatalf("the run ended after %v kills", k.count)
	}
	switch n := k.random.IntN(10); {
	case n < 6:
		i := k.random.IntN(len(k.workers))
		k.count["worker"]++
		k.workers[i].kill()
		k.workers[i] = k.worker(fmt.Sprintf("w%d", i+1), 2)
	case n < 8:
		k.count["server"]++
		k.server.kill()
		k.serve()
	case n < 9:
		k.count["home"]++
		k.home.kill()
		k.home = k.run("--agent", "shell", "--jobs", "8")
	default: // only what it started: then it leaves, too
		k.count["ralph at home"]++
		k.killChild(k.home, 137)
		k.home = k.run("--agent", "shell", "--jobs", "8")
	}
}

// killChild kills the ralph that a home has started, and waits for the home to leave.
func (p *place) killChild(home *process, status int) {
	p.t.Helper()
	for _, pid := range p.of("home") {
		if strings.Contains(commandLine(pid), " dispatch ") && parent(pid) == home.Process.Pid {
			check(p.t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	p.expect(home, status, 30*time.Second)
}

// TestHomeIsKilled kills the ralph of a home, and then the home itself, while attempts are under way. Each time another home
// joins, and the attempts that were made meanwhile land.
func TestHomeIsKilled(t *testing.T) {
	p := newPlace(t)
	p.plan([]task{p.waiting("000", "first"), p.waiting("001", "second"), p.waiting("002", "third"), p.waiting("003", "third", "000", "001")})
	p.serve()
	w := p.worker("one", 3)
	home := p.run("--agent", "shell")
	await(t, "three attempts", func() bool { return p.begun() == 3 })
	p.killChild(home, 137)
	p.touch("first") // ends while no home is there
	home = p.run("--agent", "shell")
	await(t, "the first to land", func() bool { return len(p.landed()) == 1 })
	home.kill()
	p.touch("second")
	home = p.run("--agent", "shell")
	await(t, "the second to land and the last to begin", func() bool { return p.begun() == 4 })
	p.touch("third")
	p.expect(home, 0, 2*time.Minute)
	p.settledWell(4)
	equal(t, "tries", 4, attemptsOf(w))
	equal(t, "runs", 1, len(p.runs()))
	p.noneBut(p.server, w)
}

func (p *place) runs() (list []struct{ Outcome string }) {
	p.t.Helper()
	p.unmarshal(&list, "runs", "--json")
	return list
}

func parent(pid int) int {
	text := readAll(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}
