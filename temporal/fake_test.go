package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph/internal/dispatch"
)

var update = flag.Bool("update", false, "record the histories anew, with a real server")

// TestMain lets the test binary be ralph-temporal and a ralph that only knows what this program uses of it.
func TestMain(m *testing.M) {
	switch os.Getenv("RALPH_TEST_BE") {
	case "ralph-temporal":
		os.Setenv("RALPH_TEST_BE", "ralph")
		fmt.Sscan(os.Getenv("FAKE_EVENTS"), &maxEvents)
		main()
	case "ralph":
		os.Exit(fakeRalph(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fakeWork is the body of an order for the fake.
type fakeWork struct {
	Sleep  time.Duration
	Hang   bool // for ever, in the first try
	Deaf   bool // never ends by itself
	Refuse int  // ends with this status and without a delivery
	Size   int  // of the delivery
	Limit  bool // the agent is limited for some seconds
	Log    string
}

func fakeRalph(args []string) int {
	switch args[0] {
	case "version":
		fmt.Printf("{\"build\": %q}\n", os.Getenv("FAKE_BUILD"))
	case "attempt":
		return fakeAttempt(args)
	case "dispatch":
		return fakeRun(args)
	case "run":
		fmt.Println("  --jobs N   run N agents at once")
	case "status":
		fmt.Println("all is well")
	case "stop", "pause", "send":
		note(os.Getenv("FAKE_LOG"), "command "+strings.Join(args, " "))
		return len(args) - 1
	}
	return 0
}

// note appends a line in one write, so that processes can share the file.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		f.WriteString(line + "\n")
		f.Close()
	}
}

func fakeAttempt(args []string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	var work fakeWork
	if err != nil || json.Unmarshal(line, &work) != nil {
		fmt.Fprintln(os.Stderr, "the body makes no sense")
		return 1
	}
	gone := make(chan struct{})
	go func() { in.ReadByte(); close(gone) }()
	note(work.Log, "begun "+strings.Join(args, " "))
	out := json.NewEncoder(os.Stdout)
	cost := 0.5
	p := dispatch.Progress{Phase: "working", Text: "hello"}
	p.Usage.TokensIn, p.Usage.CostUSD = 7, &cost
	out.Encode(dispatch.FromAttempt{Progress: &p})
	if work.Refuse != 0 {
		fmt.Fprintln(os.Stderr, "the disk is full")
		return work.Refuse
	}
	if work.Deaf {
		exec.Command("sleep", "3").Start() // holds our output
		select {}
	}
	if work.Hang && strings.HasSuffix(args[4], "1") {
		work.Sleep = time.Hour
	}
	outcome := "done"
	select {
	case <-time.After(work.Sleep):
	case <-signals:
		outcome = "interrupted"
	case <-gone:
		note(work.Log, "orphaned")
		return 1
	}
	note(work.Log, outcome)
	body, _ := json.Marshal(outcome + strings.Repeat("x", work.Size))
	d := dispatch.Delivery{Body: body}
	if work.Limit {
		d.Limited = &dispatch.Limit{Agent: "shell", For: 3 * time.Second}
	}
	out.Encode(dispatch.FromAttempt{Delivery: &d})
	return 0
}

// fakeRun is a run of FAKE_TASKS attempts, --jobs at once. What is settled is in a file, so that another process can join.
func fakeRun(args []string) int {
	opts := map[string]string{}
	for i, arg := range args {
		if strings.HasPrefix(arg, "--") && i+1 < len(args) {
			opts[arg] = args[i+1]
		}
	}
	c, err := net.Dial("unix", opts["--socket"])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	r := &fakeRunner{conn: dispatch.NewConn[dispatch.FromRun, dispatch.ToRun](c), log: os.Getenv("FAKE_LOG"), settled: map[string]bool{}, open: map[string]bool{}}
	fmt.Sscan(os.Getenv("FAKE_TASKS"), &r.tasks)
	fmt.Sscan(opts["--jobs"], &r.jobs)
	data, _ := os.ReadFile(os.Getenv("FAKE_STATE")) // there is none at first
	for _, id := range strings.Fields(string(data)) {
		r.settled[id] = true
	}
	r.send(dispatch.FromRun{Run: &dispatch.Run{ID: "r-1"}})
	note(os.Getenv("FAKE_STATE"), "")
	lines := make(chan dispatch.ToRun)
	go func() {
		for {
			line, err := r.conn.Receive()
			if err != nil {
				os.Exit(9) // the home is gone
			}
			lines <- line
		}
	}()
	return r.loop(lines, signals)
}

type fakeRunner struct {
	conn        *dispatch.Conn[dispatch.FromRun, dispatch.ToRun]
	log         string
	tasks, jobs int
	settled     map[string]bool
	open        map[string]bool
	stopped     bool
}

func (r *fakeRunner) send(line dispatch.FromRun) {
	if r.conn.Send(line) != nil {
		os.Exit(9)
	}
}

func (r *fakeRunner) order() {
	sleep, _ := time.ParseDuration(os.Getenv("FAKE_SLEEP"))
	hang := 0
	fmt.Sscan(os.Getenv("FAKE_HANG"), &hang)
	for i := 1; i <= r.tasks && len(r.open) < r.jobs && !r.stopped; i++ {
		id := fmt.Sprintf("a-%d", i)
		if r.settled[id] || r.open[id] {
			continue
		}
		r.open[id] = true
		body, _ := json.Marshal(fakeWork{Sleep: sleep, Hang: i <= hang, Limit: i <= 3 && os.Getenv("FAKE_LIMIT") != "", Log: r.log})
		r.send(dispatch.FromRun{Order: &dispatch.Order{Attempt: id, Task: fmt.Sprintf("t-%d", i), Title: "a task", Agent: "shell", Build: os.Getenv("FAKE_BUILD"), Body: body}})
	}
	r.send(dispatch.FromRun{Idle: true})
}

func (r *fakeRunner) loop(lines <-chan dispatch.ToRun, signals <-chan os.Signal) int {
	for r.order(); len(r.open) > 0; {
		select {
		case <-signals:
			r.stopped = true
			for id := range r.open {
				r.send(dispatch.FromRun{Cancel: id})
			}
		case line := <-lines:
			d := line.Delivery
			if d == nil {
				note(r.log, fmt.Sprintf("progress %s %s", line.Progress.Attempt, line.Progress.Phase))
				continue
			}
			if !r.settled[d.Attempt] {
				note(os.Getenv("FAKE_STATE"), d.Attempt)
				note(r.log, fmt.Sprintf("landed %s %s%s", d.Attempt, d.Body, d.Error))
			}
			r.settled[d.Attempt] = true
			delete(r.open, d.Attempt)
			r.send(dispatch.FromRun{Settled: d.Attempt})
			r.order()
		}
	}
	outcome, status := "success", 0
	if r.stopped {
		outcome, status = "interrupted", 130
	}
	r.send(dispatch.FromRun{Ended: &dispatch.Outcome{Outcome: outcome}})
	return status
}
