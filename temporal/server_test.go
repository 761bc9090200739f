package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"ralph/internal/proc"
)

// world is a project, a real server, and processes of this program with a ralph that is a fake.
type world struct {
	t       *testing.T
	dir     string
	address string
	env     []string
	server  *exec.Cmd
}

// newWorld needs the temporal binary, and is only for -update and RALPH_TEMPORAL_SERVER=1.
func newWorld(t *testing.T, config string) *world {
	t.Helper()
	if !*update && os.Getenv("RALPH_TEMPORAL_SERVER") == "" {
		t.Skip("RALPH_TEMPORAL_SERVER is not set: it needs a real server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "app"), address: l.Addr().String()}
	l.Close()
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	config = fmt.Sprintf("[temporal]\naddress = %q\nheartbeat = '3s'\n", w.address) + config
	if err := os.WriteFile(filepath.Join(w.dir, ".ralph.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "RALPH="+self, "RALPH_TEST_BE=ralph-temporal", "FAKE_BUILD=b1",
		"FAKE_LOG="+w.file("log"), "FAKE_STATE="+w.file("state"), "HOME="+t.TempDir())
	w.serve()
	return w
}

func (w *world) file(name string) string { return filepath.Join(filepath.Dir(w.dir), name) }

func (w *world) serve() {
	_, port, _ := net.SplitHostPort(w.address)
	w.server = exec.Command("temporal", "server", "start-dev", "--headless", "--port", port, "--db-filename", w.file("temporal.db"), "--log-level", "never")
	w.server.Stderr = w.output("server")
	if err := w.server.Start(); err != nil {
		w.t.Fatal(err)
	}
	server := w.server
	w.t.Cleanup(func() { server.Process.Kill(); server.Wait() })
}

func (w *world) output(name string) *os.File {
	f, err := os.OpenFile(w.file(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

type process struct {
	*exec.Cmd
	done chan struct{}
}

func (w *world) start(env []string, args ...string) *process {
	w.t.Helper()
	self, _ := os.Executable()
	p := &process{Cmd: exec.Command(self, args...), done: make(chan struct{})}
	out := w.output(args[0])
	p.Dir, p.Env, p.Stdout, p.Stderr = w.dir, slices.Concat(w.env, env), out, out
	proc.Apart(p.Cmd) // no terminal
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.Wait(); close(p.done) }()
	w.t.Cleanup(func() { p.Process.Kill(); <-p.done })
	return p
}

var waitTime = 90 * time.Second

func (w *world) wait(p *process, status int) {
	w.t.Helper()
	select {
	case <-p.done:
	case <-time.After(waitTime):
		w.t.Fatalf("it hangs\n%s", w.said())
	}
	if got := p.ProcessState.ExitCode(); got != status {
		w.t.Fatalf("exit status %d, want %d\n%s", got, status, w.said())
	}
}

func (w *world) said() string {
	var all strings.Builder
	for _, name := range []string{"server", "worker", "run", "status", "stop", "log"} {
		data, _ := os.ReadFile(w.file(name))
		if len(data) > 4000 {
			data = data[len(data)-4000:]
		}
		fmt.Fprintf(&all, "-- %s --\n%s", name, data)
	}
	return all.String()
}

// until waits for a line that a process writes.
func (w *world) until(file, text string, times int) {
	w.t.Helper()
	for end := time.Now().Add(waitTime); ; time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(w.file(file))
		if bytes.Count(data, []byte(text)) >= times {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s never has %q %d times\n%s", file, text, times, w.said())
		}
	}
}

// working waits until the run knows of so many attempts that they are made.
func (w *world) working(n int) {
	w.t.Helper()
	for i := 1; i <= n; i++ {
		w.until("log", fmt.Sprintf("progress a-%d working", i), 1)
	}
}

// landed checks that each of n attempts landed once.
func (w *world) landed(n int) {
	w.t.Helper()
	data, _ := os.ReadFile(w.file("log"))
	for i := 1; i <= n; i++ {
		if got := strings.Count(string(data), fmt.Sprintf("landed a-%d ", i)); got != 1 {
			w.t.Errorf("a-%d landed %d times", i, got)
		}
	}
}

// histories are those of the workflow and of those that it continued as.
func (w *world) histories(id string) (list []*historypb.History) {
	w.t.Helper()
	c, err := client.Dial(client.Options{HostPort: w.address})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	d, err := c.DescribeWorkflowExecution(w.t.Context(), id, "")
	if err != nil {
		w.t.Fatal(err)
	}
	for run := d.GetWorkflowExecutionInfo().GetExecution().GetRunId(); run != ""; {
		h := &historypb.History{}
		events := c.GetWorkflowHistory(w.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				w.t.Fatal(err)
			}
			h.Events = append(h.Events, e)
		}
		list = append([]*historypb.History{h}, list...)
		run = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
	}
	return list
}

// record keeps histories for TestReplay.
func (w *world) record(name, id string) {
	w.t.Helper()
	if !*update {
		return
	}
	for i, h := range w.histories(id) {
		h.Events[0].GetWorkflowExecutionStartedEventAttributes().Memo = nil // it has the name of this machine
		data, err := protojson.Marshal(h)
		data = regexp.MustCompile(`"[0-9]+@[^"]*"`).ReplaceAll(data, []byte(`"worker"`))
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("testdata/history-%s-%d.json", name, i+1), data, 0o644)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestServerRun(t *testing.T) {
	w := newWorld(t, "")
	for range 4 {
		w.start(nil, "worker", "--slots", "2")
	}
	w.until("worker", "polling", 4)
	begun := time.Now()
	p := w.start([]string{"FAKE_TASKS=200"}, "run")
	w.wait(p, 0)
	w.landed(200)
	events := 0
	for _, h := range w.histories("ralph/app/all") {
		events += len(h.Events)
	}
	t.Logf("200 tasks in %s, %.1f events each", time.Since(begun).Round(time.Millisecond), float64(events)/200)
	if events > 14*200 {
		t.Errorf("%d events for 200 tasks, more than 14 each", events)
	}
	w.start([]string{"FAKE_TASKS=5", "FAKE_STATE=" + w.file("state2"), "FAKE_LOG=" + w.file("log2")}, "run", "small")
	w.until("log2", "landed", 5)
	w.record("run", "ralph/app/small")
}

func TestServerKills(t *testing.T) {
	w := newWorld(t, "")
	first := w.start(nil, "worker", "--slots", "4")
	w.until("worker", "polling", 1)
	home := w.start([]string{"FAKE_TASKS=12", "FAKE_HANG=4", "FAKE_SLEEP=1s"}, "run", "--jobs", "4")
	w.working(4)
	killed := time.Now()
	first.Process.Kill()
	w.until("log", "orphaned", 4)
	w.start(nil, "worker", "--slots", "4")
	w.until("log", "2 --lost-usage {\"tokens_in\":7,\"cost_usd\":0.5}", 4)
	t.Logf("taken over %s after kill -9, with a heartbeat of 3s", time.Since(killed).Round(time.Millisecond))
	w.until("log", "landed", 2)
	home.Process.Kill()
	<-home.done
	again := w.start([]string{"FAKE_TASKS=12", "FAKE_SLEEP=1s"}, "run", "--jobs", "4")
	w.until("run", "joined workflow ralph/app/all", 1)
	w.until("log", "landed", 6)
	w.server.Process.Kill()
	w.server.Wait()
	w.until("run", "cannot reach the Temporal server", 1)
	w.until("worker", "cannot reach the Temporal server", 1)
	w.serve()
	w.wait(again, 0)
	w.landed(12)
	w.record("kills", "ralph/app/all")
}

func TestServerStop(t *testing.T) {
	w := newWorld(t, "")
	worker := w.start(nil, "worker", "--slots", "4")
	home := w.start([]string{"FAKE_TASKS=12", "FAKE_SLEEP=1h"}, "run", "--jobs", "4")
	w.working(4)
	w.wait(w.start(nil, "status"), 0)
	w.until("status", "working on", 4)
	w.until("status", "all is well", 1)
	w.wait(w.start(nil, "stop", "--now"), 1) // of the fake: how many arguments it had
	w.until("log", "command stop --now", 1)
	w.wait(w.start(nil, "answer", "q", "--credential"), 64)
	home.Process.Signal(os.Interrupt)
	w.wait(home, 130)
	w.landed(4)
	w.until("log", "interrupted", 4)
	w.wait(w.start(nil, "stop"), 3)
	worker.Process.Signal(syscall.SIGTERM)
	w.wait(worker, 0)
	w.record("stop", "ralph/app/all")
}

// The first attempts meet a limit, so the worker holds those back that wait for its slot. Later the history is full, and somebody cancels
// the workflow in Temporal's pages.
func TestServerLimits(t *testing.T) {
	w := newWorld(t, "")
	w.start(nil, "worker")
	w.until("worker", "polling", 1)
	home := w.start([]string{"FAKE_TASKS=8", "FAKE_SLEEP=1500ms", "FAKE_LIMIT=1", "FAKE_EVENTS=50"}, "run", "--jobs", "3")
	w.until("log", "landed", 5)
	c, err := client.Dial(client.Options{HostPort: w.address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CancelWorkflow(t.Context(), "ralph/app/all", ""); err != nil {
		t.Fatal(err)
	}
	w.until("log", "command stop --now", 1)
	w.wait(home, 0)
	w.landed(8)
	data, _ := os.ReadFile(w.file("log"))
	if n := len(w.histories("ralph/app/all")); n < 2 || !bytes.Contains(data, []byte("h1\n")) {
		t.Errorf("it has %d histories, or held nothing back\n%s", n, data)
	}
	w.record("limits", "ralph/app/all")
}
