package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ralph/internal/dispatch"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
	"ralph/loop/remote"
)

// far is a place whose attempts are made in a clone of it, as on another machine. It does what ralph-temporal does, without
// a server.
type far struct {
	*place
	clone *place

	mu        sync.Mutex
	home      *dispatch.Conn[dispatch.ToRun, dispatch.FromRun]
	orders    map[string]dispatch.Order
	made      map[string]dispatch.Delivery // and not settled
	joined    []string                     // the attempts that a run waits for which goes on
	cancelled []string
	attempts  map[string]*exec.Cmd
	hold      bool // nobody makes what is ordered
}

// goFar makes a place with a remote, and a clone for its attempts.
func goFar(t *testing.T, script fakeagent.Script, config ...string) *far {
	t.Helper()
	p := newPlace(t, script, config...)
	p.env = append(p.env, "RALPH_SANDBOX_MODE=off") // agents write into the ledger
	f := &far{place: p, orders: map[string]dispatch.Order{}, made: map[string]dispatch.Delivery{}, attempts: map[string]*exec.Cmd{}}
	p.repository()
	p.shell(`git config user.name t; git config user.email t@localhost; printf '/plan.jsonl\n/.local\n/.cache\n/.config\n/remote.git\n/clone\n' >> .git/info/exclude
		git init -q --bare remote.git; git remote add origin ./remote.git; git push -q origin main; git clone -q remote.git clone`) // a relative address is one, too
	f.clone = &place{TB: t, dir: filepath.Join(p.dir, "clone"), env: slices.Concat(p.env, []string{"XDG_STATE_HOME=" + t.TempDir()})}
	return f
}

// serve begins a run, or goes on with it.
func (f *far) serve(args ...string) *running {
	f.Helper()
	return f.serveWith(f.start, args...)
}

func (f *far) serveWith(start func(args ...string) *running, args ...string) *running {
	f.Helper()
	socket := filepath.Join(f.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	check.OK(f, err)
	r := start(append([]string{"dispatch", "--socket", socket, "--name", "a workflow"}, args...)...)
	go func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		c := dispatch.NewConn[dispatch.ToRun, dispatch.FromRun](conn)
		for {
			m, err := c.Receive()
			if err != nil {
				return
			}
			f.hear(c, m)
		}
	}()
	f.Cleanup(func() { l.Close() }) // if it never came
	return r
}

func (f *far) hear(c *dispatch.Conn[dispatch.ToRun, dispatch.FromRun], m dispatch.FromRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case m.Run != nil:
		f.home, f.joined = c, m.Run.Open
		for _, d := range f.made {
			_ = c.Send(dispatch.ToRun{Delivery: &d}) // it may be dead again
		}
	case m.Order != nil:
		_, known := f.orders[m.Order.Attempt]
		f.orders[m.Order.Attempt] = *m.Order
		if !known && !f.hold {
			go f.make(*m.Order, "1")
		}
	case m.Cancel != "":
		f.cancelled = append(f.cancelled, m.Cancel)
		if cmd := f.attempts[m.Cancel]; cmd != nil {
			_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
		}
	case m.Settled != "":
		delete(f.made, m.Settled)
	}
}

// make makes an attempt and delivers it.
func (f *far) make(o dispatch.Order, try string) {
	if d := f.attempt(o, try); d != nil {
		f.deliver(*d)
	}
}

func (f *far) deliver(d dispatch.Delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made[d.Attempt] = d
	if f.home != nil {
		_ = f.home.Send(dispatch.ToRun{Delivery: &d}) // the next one gets it
	}
}

// attempt has the real program make an attempt in the clone.
func (f *far) attempt(o dispatch.Order, try string) (made *dispatch.Delivery) {
	cmd := f.clone.command("attempt", "--try", try)
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Error(err)
		return nil
	}
	defer in.Close()
	out, _ := cmd.StdoutPipe()
	var said bytes.Buffer
	cmd.Stderr = &said
	f.mu.Lock()
	f.attempts[o.Attempt] = cmd
	err = cmd.Start()
	f.mu.Unlock()
	if err != nil {
		f.Error(err)
		return nil
	}
	_, _ = in.Write(o.Body) // what it reads it says
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var m dispatch.FromAttempt
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			f.Errorf("%s: %v", lines.Text(), err)
		}
		made = m.Delivery
	}
	if err := cmd.Wait(); err != nil {
		f.Errorf("ralph attempt: %v\n%s", err, said.String())
	}
	return made
}

// ordered waits until so many attempts were ordered, and returns them by task.
func (f *far) ordered(n int) map[string]dispatch.Order {
	f.Helper()
	list := map[string]dispatch.Order{}
	eventually(f, fmt.Sprintf("%d attempts are ordered", n), func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, o := range f.orders {
			list[o.Task] = o
		}
		return len(list) >= n
	})
	return list
}

// wantLanded wants that so many tasks are done, that each has one commit, and that nothing is left of it at either end.
func (f *far) wantLanded(tasks int) {
	f.Helper()
	f.awaitGone()
	var ids []string
	for i := range tasks {
		ids = append(ids, number(i+1))
		f.wantStatus(number(i+1), "done")
	}
	landed := strings.Fields(f.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' main`))
	slices.Sort(landed)
	check.Equal(f, "tasks on the target", ids, landed)
	check.Equal(f, "refs that are left", "", f.shell(`git for-each-ref refs/ralph`))
	check.Equal(f, "refs that the remote has", "refs/heads/main\n", f.shell(`git -C remote.git for-each-ref --format='%(refname)'`))
	check.Equal(f, "refs that the clone has", "", f.clone.shell(`git for-each-ref refs/ralph`))
	f.wantClean()
	f.wantSound()
	f.wantNobodyLanding()
}

// writes is an agent that writes a file of its own for each task.
func writes() fakeagent.Script {
	return say(step{Do: "run", Argv: []string{"sh", "-c", "echo {{session}} > {{task}}.txt"}}, step{Do: "mark", Text: "wrote {{task}}"}, saysDone())
}

const countingGate = "[verify]\ncommands = [\"test -f .ralph.toml\"]"

func TestAttemptsAreMadeElsewhere(t *testing.T) {
	t.Parallel()
	f := goFar(t, writes(), countingGate)
	f.imports(`{"ref":"t-00000001","title":"first"}
{"ref":"t-00000002","title":"second","after":["t-00000001"]}
{"ref":"t-00000003","title":"third","after":["t-00000001"]}
`)
	f.serve("--jobs", "4", "--junit", "junit.xml").wait(0)
	f.shell(`rm junit.xml`)
	f.wantLanded(3)
	check.Equal(t, "prompts", map[string]int{number(1): 1, number(2): 1, number(3): 1}, f.entered("prompted"))
	f.want(0, "logs", number(1)).inStdout("<task-done>t-00000001</task-done>")
	for _, o := range f.ordered(3) { // it is data: nothing is lost on the way
		var order remote.Job
		check.OK(t, json.Unmarshal(o.Body, &order))
		again, err := json.Marshal(order)
		check.OK(t, err)
		check.Equal(t, "an order that travelled", string(o.Body), string(again))
	}
	gates := map[string]int{}
	queued := ""
	for _, e := range f.events() {
		switch e.Type {
		case event.MergeQueued:
			queued = e.Task
		case event.GateEnded:
			if e.Task == queued {
				gates[e.Task]++
			}
		}
	}
	check.Equal(t, "gates that were run again for the first, which landed on what it was tested on", 0, gates[number(1)])
	check.Equal(t, "gates that were run again for the others: one landed on the other", 1, gates[number(2)]+gates[number(3)])
}

func TestARunGoesOnAfterItsProcessWasKilled(t *testing.T) {
	raced.Skip(t, "the program is killed here")
	t.Parallel()
	f := goFar(t, writes())
	f.plan("first", "second", "third")
	f.hold = true
	r := f.serve("--jobs", "4")
	orders := f.ordered(3)
	r.kill()

	f.make(orders[number(1)], "1") // nobody is there
	r = f.serve()                  // with the flags that it was begun with
	eventually(t, "what was delivered meanwhile lands", func() bool { return f.task(number(1)).Status == "done" })
	f.make(orders[number(2)], "1")
	r.kill() // at any moment of its landing

	go f.make(orders[number(3)], "1")
	f.hold = false
	f.serve().wait(0)
	f.wantLanded(3)
	check.Equal(t, "prompts: nothing was made again", map[string]int{number(1): 1, number(2): 1, number(3): 1}, f.entered("prompted"))
	runs := map[string]bool{}
	for _, e := range f.events() {
		runs[e.Run] = true
	}
	check.Equal(t, "runs", 1, len(runs))
}

func TestOnlyWhatWasDeliveredLands(t *testing.T) {
	t.Parallel()
	f := goFar(t, writes())
	f.plan("first")
	f.hold = true
	r := f.serve("--jobs", "2")
	order := f.ordered(1)[number(1)]
	late := f.attempt(order, "1") // its machine was taken for dead
	f.make(order, "2")
	f.deliver(*late)
	r.wait(0)
	f.deliver(*late)
	f.wantLanded(1)
	sessions := []string{}
	for _, e := range f.entries() {
		if e.Event == "prompted" {
			sessions = append(sessions, e.Session)
		}
	}
	check.Equal(t, "agents that worked", 2, len(sessions))
	check.That(t, len(sessions) == 2 && strings.TrimSpace(f.read(number(1)+".txt")) == sessions[1], "got the work of %s, want that of %v", f.read(number(1)+".txt"), sessions)
}

// TestARunThatIsKilledWhileItStoresAResultGoesOnThere dies after some of the records, and the same result arrives again.
func TestARunThatIsKilledWhileItStoresAResultGoesOnThere(t *testing.T) {
	notRaced(t)
	for _, stored := range []int{1, 4, 7} {
		t.Run(strconv.Itoa(stored), func(t *testing.T) {
			t.Parallel()
			f := goFar(t, writes(), countingGate)
			f.plan("first")
			dying := func(args ...string) *running { return f.dying(fmt.Sprintf("after-replay:%d", stored), args...) }
			f.serveWith(dying, "--jobs", "2").wait(-1)
			f.serve().wait(0)
			f.wantLanded(1)
			check.Equal(t, "prompts", 1, f.entered("prompted")[number(1)])
		})
	}
}

func TestNoOtherRunTakesWhatIsMadeElsewhere(t *testing.T) {
	raced.Skip(t, "the program is killed here")
	t.Parallel()
	f := goFar(t, writes())
	f.plan("first", "second")
	f.hold = true
	r := f.serve("--jobs", "2")
	f.ordered(2)
	f.want(1, "run").inStderr("other machines work on these tasks, for a workflow", "ralph-temporal run", "ralph recover --take-back")
	f.serve().wait(1).inStderr("already serves")
	f.want(0, "recover", "--take-back")
	check.Equal(t, "status of a task whose run is served", "in_progress", string(f.task(number(1)).Status))
	r.kill()
	f.want(1, "run").inStderr("other machines work on these tasks")
	f.want(0, "recover")
	check.Equal(t, "status of a task that another machine may work on", "in_progress", string(f.task(number(1)).Status))
	f.want(0, "recover", "--take-back").inStdout("2 tasks released")
	f.want(0, "run", "--jobs", "2")
	f.wantStatus(number(1), "done")
	f.shell(`git push -q origin --delete $(git -C remote.git for-each-ref --format='%(refname)' refs/ralph)`)
	f.wantLanded(2)
}

func TestStoppingARunEndsItsAttemptsElsewhere(t *testing.T) {
	t.Parallel()
	f := goFar(t, say(slices.Concat([]step{{Do: "run", Argv: []string{"sh", "-c", "echo half > half.txt"}}}, family(), []step{{Do: "hang"}})...))
	f.plan("first")
	r := f.serve("--jobs", "2")
	f.awaitMark("at work")
	f.want(0, "stop", "--now")
	r.wait(4)
	f.awaitGone()
	f.wantTask(number(1), "pending", 0)
	check.Equal(t, "attempts", []string{"interrupted"}, f.ended())
	check.Equal(t, "what it left, for the next attempt", "half\n", f.shell(`git show "$(git for-each-ref --format='%(refname)' refs/ralph/work)":half.txt`))
	f.wantSound()
}

// TestWhatWasStoppedBeforeItBeganCostsNothing: most of what is ordered waits for a slot of a worker.
func TestWhatWasStoppedBeforeItBeganCostsNothing(t *testing.T) {
	t.Parallel()
	f := goFar(t, writes())
	f.plan("first")
	f.hold = true
	r := f.serve("--jobs", "2")
	order := f.ordered(1)[number(1)]
	f.want(0, "stop", "--now")
	f.deliver(dispatch.Delivery{Attempt: order.Attempt, Vain: true})
	r.wait(4)
	f.wantTask(number(1), "pending", 0)
	check.Equal(t, "attempts", []string{"interrupted"}, f.ended())
}

func TestWorkThatConflictsIsDoneAgainElsewhere(t *testing.T) {
	t.Parallel()
	f := goFar(t, say(step{Do: "run", Argv: []string{"sh", "-c", "echo {{task}} >> shared.txt"}}, saysDone()))
	f.plan("first", "second")
	f.hold = true
	r := f.serve("--jobs", "2")
	orders := f.ordered(2)
	first, second := f.attempt(orders[number(1)], "1"), f.attempt(orders[number(2)], "1")
	f.hold = false
	f.deliver(*first)
	f.deliver(*second)
	r.wait(0)
	f.wantLanded(2)
	lines := strings.Fields(f.read("shared.txt"))
	slices.Sort(lines)
	check.Equal(t, "lines", []string{number(1), number(2)}, lines)
}

func TestAnAttemptEndsWithWhoeverOrderedIt(t *testing.T) {
	t.Parallel()
	f := goFar(t, say(append(family(), step{Do: "hang"})...))
	f.plan("first")
	f.hold = true
	r := f.serve("--jobs", "2")
	order := f.ordered(1)[number(1)]
	cmd := f.clone.command("attempt")
	in, err := cmd.StdinPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	_, err = in.Write(order.Body)
	check.OK(t, err)
	f.awaitMark("at work")
	check.OK(t, in.Close())
	_ = cmd.Wait() // it says nothing of that
	f.want(0, "stop", "--now")
	f.deliver(dispatch.Delivery{Attempt: order.Attempt, Error: "its machine is gone"})
	r.wait(4)
	f.awaitGone()
}

func TestARemoteThatTakesNothing(t *testing.T) {
	t.Parallel()
	f := goFar(t, writes())
	f.plan("first")
	check.OK(t, os.WriteFile(filepath.Join(f.dir, "remote.git/hooks/pre-receive"), []byte("#!/bin/sh\necho no room >&2\nexit 1\n"), 0o755))
	f.serve("--jobs", "2").wait(2).inStderr("no room", "other machines need it")
	f.wantTask(number(1), "pending", 0)
}
