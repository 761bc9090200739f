package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ralph/event"
	"ralph/internal/doctor"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// place is a project in which the real program runs with the fake agent.
type place struct {
	dir    string
	ledger string
	env    []string
}

func newPlace(t *testing.T, script fakeagent.Script, config ...string) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	p := &place{dir: dir, ledger: filepath.Join(dir, "ledger")}
	p.env = append(os.Environ(), "HOME="+dir, "NO_COLOR=1", "RALPH_VERIFY_ENABLED=false", "TZ=UTC", "GORACE=atexit_sleep_ms=0")
	check.OK(t, os.Mkdir(p.ledger, 0o700))
	p.write(t, "script.json", script.JSON())
	p.write(t, ".ralph.toml", fmt.Sprintf(`
[agent]
use = "fake"
[agents.fake]
command = "fakeagent"
env = { FAKEAGENT_SCRIPT = "script.json", FAKEAGENT_LEDGER = %q, GORACE = "atexit_sleep_ms=0" }
[agents.shell]
env = { GORACE = "atexit_sleep_ms=0" }
[run]
backoff = "0s"
%s
`, p.ledger, strings.Join(config, "\n")))
	t.Cleanup(func() { p.wantNothingLeft(t) })
	return p
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	check.OK(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
}

// plan imports tasks t-00000001 and so on, with these titles.
func (p *place) plan(t *testing.T, titles ...string) {
	t.Helper()
	var lines strings.Builder
	for i, title := range titles {
		fmt.Fprintf(&lines, `{"ref":"t-%08d","title":%q}`+"\n", i+1, title)
	}
	p.write(t, "plan.jsonl", lines.String())
	p.want(t, 0, "task", "import", "plan.jsonl")
}

// command is the real program in this place.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command("ralph", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// told is what a command printed.
type told struct{ stdout, stderr string }

func (o told) inStdout(t *testing.T, parts ...string) { t.Helper(); wantParts(t, o.stdout, parts) }
func (o told) inStderr(t *testing.T, parts ...string) { t.Helper(); wantParts(t, o.stderr, parts) }

func wantParts(t *testing.T, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %s\nwant %q in it", text, part)
		}
	}
}

// want runs the program to its end and wants that exit status.
func (p *place) want(t *testing.T, status int, args ...string) told {
	t.Helper()
	r := p.start(t, args...)
	out := r.wait(t, status)
	if strings.Contains(out.stderr, "panic") || strings.Contains(out.stderr, "goroutine ") {
		t.Errorf("it panicked:\n%s", out.stderr)
	}
	return out
}

func (p *place) wantStatus(t *testing.T, task, want string) {
	t.Helper()
	if got := p.task(t, task).Status; string(got) != want {
		t.Errorf("%s is %s, want %s", task, got, want)
	}
}

func (p *place) wantNoOverlap(t *testing.T) {
	t.Helper()
	for _, e := range p.entries(t) {
		if e.Event == "overlap" {
			t.Errorf("two agents at once had %s", e.Task)
		}
	}
}

// running is a program that was started.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	said           string // the file that stderr goes to, if it does
	ended          chan struct{}
	err            error
}

func (p *place) start(t *testing.T, args ...string) *running {
	t.Helper()
	return p.run(t, p.command(args...))
}

// run starts a command; its stderr goes to a file, if there is one.
func (p *place) run(t *testing.T, cmd *exec.Cmd, stderr ...*os.File) *running {
	t.Helper()
	r := &running{cmd: cmd, ended: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	for _, f := range stderr {
		r.cmd.Stderr, r.said = f, f.Name()
	}
	check.OK(t, r.cmd.Start())
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-r.ended:
		default:
			_ = r.cmd.Process.Kill()
			<-r.ended
		}
	})
	return r
}

func (r *running) wait(t *testing.T, status int) told {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Fatalf("%v does not end", r.cmd.Args)
	}
	out := told{r.stdout.String(), r.stderr.String()}
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		t.Fatal(r.err)
	}
	if got := r.cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("%v: exit status %d, want %d\n%s%s", r.cmd.Args, got, status, out.stdout, out.stderr)
	}
	return out
}

// kill ends the program without a warning.
func (r *running) kill(t *testing.T) {
	t.Helper()
	check.OK(t, r.cmd.Process.Kill())
	r.wait(t, -1)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never happened: %s", what)
		}
	}
}

func (p *place) entries(t *testing.T) []fakeagent.Entry {
	t.Helper()
	entries, err := fakeagent.ReadLedger(p.ledger)
	check.OK(t, err)
	return entries
}

// awaitMark waits until an agent has made its mark in the ledger.
func (p *place) awaitMark(t *testing.T, name string) {
	t.Helper()
	eventually(t, "an agent marks "+name, func() bool { return p.marked(t, name) })
}

func (p *place) marked(t *testing.T, name string) bool {
	t.Helper()
	return slices.ContainsFunc(p.entries(t), func(e fakeagent.Entry) bool { return e.Event == "mark" && e.Name == name })
}

// task is what `ralph task show --json` says.
func (p *place) task(t *testing.T, id string) report.TaskView {
	t.Helper()
	var task report.TaskView
	p.json(t, &task, "task", "show", id)
	return task
}

// json is what a command says with --json.
func (p *place) json(t *testing.T, into any, args ...string) {
	t.Helper()
	out := p.want(t, 0, append(args, "--json")...)
	check.OK(t, json.Unmarshal([]byte(out.stdout), into))
}

// wantSound wants that doctor has nothing to complain of but the agent, which a test
// may have meant to be unusable.
func (p *place) wantSound(t *testing.T) {
	t.Helper()
	r := p.start(t, "doctor", "--json")
	<-r.ended
	var findings []doctor.Finding
	if err := json.Unmarshal(r.stdout.Bytes(), &findings); err != nil {
		t.Fatalf("doctor: %v\n%s", err, r.stderr.String())
	}
	for _, f := range findings {
		if !f.OK && f.Check != "agent" {
			t.Errorf("doctor: %s: %s %v", f.Check, f.Text, f.Found)
		}
	}
}

// events are those of all runs, in order; every line must be one.
func (p *place) events(t *testing.T) []event.Event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, ".ralph/runs/*/events.jsonl"))
	check.OK(t, err)
	var list []event.Event
	for _, file := range files {
		data, err := os.ReadFile(file)
		check.OK(t, err)
		for line := range strings.Lines(string(data)) {
			var e event.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.V != event.Version {
				t.Fatalf("bad event %q: %v", line, err)
			}
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b event.Event) int { return a.At.Compare(b.At) })
	return list
}

// ended are the outcomes of all attempts, in order.
func (p *place) ended(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, e := range p.events(t) {
		if e.Type == event.AttemptEnded {
			list = append(list, e.Outcome)
		}
	}
	return list
}

// prompts are those of all attempts, the oldest first.
func (p *place) prompts(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, e := range p.events(t) {
		if e.Type != event.TaskClaimed {
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.dir, ".ralph/runs", e.Run, e.Attempt, "prompt.md"))
		check.OK(t, err)
		list = append(list, string(data))
	}
	return list
}

// wantNothingLeft fails for every process that was started in this place and lives.
func (p *place) wantNothingLeft(t *testing.T) {
	t.Helper()
	for _, left := range p.processes() {
		t.Errorf("still running: %s", left)
	}
}

// processes are those whose folder or whose environment is of this place.
func (p *place) processes() []string {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, folder := range folders {
		if pid, _ := strconv.Atoi(filepath.Base(folder)); pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(folder, "cwd"))
		environ, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if cwd == p.dir || strings.HasPrefix(cwd, p.dir+"/") || bytes.Contains(environ, []byte(p.dir)) {
			line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			found = append(found, filepath.Base(folder)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// say is a script that answers every prompt with these steps.
func say(steps ...fakeagent.Step) fakeagent.Script {
	return fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: steps}}}
}

func saysDone() fakeagent.Step {
	return fakeagent.Step{Do: "say", Text: "<task-done>{{task}}</task-done>\n"}
}

// family is an agent that starts a child, a child in a session of its own and a
// daemon, and then marks that it is at work.
func family() []fakeagent.Step {
	return []fakeagent.Step{{Do: "fork", Argv: []string{"child", "session", "daemon"}}, {Do: "mark", Text: "at work"}}
}
