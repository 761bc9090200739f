package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/doctor"
	"ralph/internal/event"
	"ralph/internal/report"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// place is a project in which the real program runs with the fake agent.
type place struct {
	testing.TB
	dir    string
	ledger string
	env    []string
	tasks  int // that were planned
}

func newPlace(t *testing.T, script fakeagent.Script, config ...string) *place {
	t.Helper()
	return placeIn(t, t.TempDir(), script, config...)
}

// placeIn makes a place of a folder.
func placeIn(t *testing.T, dir string, script fakeagent.Script, config ...string) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	check.OK(t, err)
	p := &place{TB: t, dir: dir, env: append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+t.TempDir(), "NO_COLOR=1", "RALPH_VERIFY_ENABLED=false", "TZ=UTC", "GORACE=atexit_sleep_ms=0")}
	p.furnish(script.JSON(), strings.Join(config, "\n"))
	return p
}

// furnish writes what the agent does and the configuration; config continues its section run.
func (p *place) furnish(script, config string) {
	p.Helper()
	p.ledger = p.TempDir() // agents in all slots write it; the link is for tests
	check.OK(p, os.Symlink(p.ledger, filepath.Join(p.dir, "ledger")))
	p.env = append(p.env, "RALPH_SANDBOX_WRITE="+p.ledger)
	check.OK(p, os.WriteFile(filepath.Join(p.ledger, fakeagent.Changes), nil, 0o600))
	p.write("script.json", script)
	p.write(".ralph.toml", fmt.Sprintf(`
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
`, p.ledger, config))
	p.Cleanup(p.wantNothingLeft)
}

// prestarts has the agent started before it is needed.
func (p *place) prestarts() {
	p.Helper()
	p.write(".ralph.toml", strings.Replace(p.read(".ralph.toml"), "[agents.fake]\n", "[agents.fake]\nprestart = true\n", 1))
}

func (p *place) write(name, text string) {
	p.Helper()
	check.OK(p, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
}

func (p *place) append(name, text string) {
	p.Helper()
	p.write(name, p.read(name)+text)
}

func (p *place) read(name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	check.OK(p, err)
	return string(data)
}

// holds looks for parts of a file.
func (p *place) holds(name string, parts ...string) {
	p.Helper()
	wantParts(p, p.read(name), parts)
}

func (p *place) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

// plan imports tasks with these titles: t-00000001 and so on, the next call the next numbers.
func (p *place) plan(titles ...string) {
	p.Helper()
	var lines strings.Builder
	for _, title := range titles {
		p.tasks++
		fmt.Fprintf(&lines, `{"ref":%q,"title":%q}`+"\n", number(p.tasks), title)
	}
	p.imports(lines.String())
}

// imports imports tasks, one a line.
func (p *place) imports(lines string) {
	p.Helper()
	p.write("plan.jsonl", lines)
	p.want(0, "task", "import", "plan.jsonl")
}

// number is the ID of the nth planned task.
func number(n int) string { return fmt.Sprintf("t-%08d", n) }

// repository makes the place a git repository.
func (p *place) repository() {
	p.Helper()
	check.OK(p, os.Remove(filepath.Join(p.ledger, fakeagent.Changes))) // what agents change matters here
	p.want(0, "init")
	p.shell(`git init -q -b main; echo /ledger >> .git/info/exclude; git add -A; git -c user.name=t -c user.email=t@localhost commit -qm first`)
}

// shell runs a script in the project, and returns what it prints.
func (p *place) shell(script string, args ...string) string {
	p.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("%s %v: %v\n%s", script, args, err, out)
	}
	return string(out)
}

func (p *place) wantStatus(task, want string) {
	p.Helper()
	check.Equal(p, "status of "+task, want, string(p.task(task).Status))
}

// wantTask wants a task to have a status, and so many attempts charged.
func (p *place) wantTask(task, status string, attempts int) {
	p.Helper()
	got := p.task(task)
	check.That(p, string(got.Status) == status && got.Attempts == attempts, "%s is %s with %d attempts charged, want %s with %d", task, got.Status, got.Attempts, status, attempts)
}

// wantVerified wants a task to be done at the first attempt, and verified.
func (p *place) wantVerified(task string) {
	p.Helper()
	p.wantTask(task, "done", 1)
	check.Equal(p, "verification of "+task, "passed", p.task(task).Verification)
}

// wantInterrupted wants what an interruption leaves: one attempt that costs nothing.
func (p *place) wantInterrupted() {
	p.Helper()
	p.wantNothingLeft()
	check.Equal(p, "attempts", []string{"interrupted"}, p.ended())
	p.wantTask("t-00000001", "pending", 0)
	check.Equal(p, "claimed by", "", p.task("t-00000001").ClaimedBy)
	p.want(0, "doctor")
}

func (p *place) wantNoOverlap() {
	p.Helper()
	check.Equal(p, "tasks that two agents had at once", map[string]int{}, p.entered("overlap"))
}

func (p *place) entries() []fakeagent.Entry {
	p.Helper()
	entries, err := fakeagent.ReadLedger(p.ledger)
	check.OK(p, err)
	return entries
}

// entered counts what the agents entered into their ledger, by task or by the name of a mark.
func (p *place) entered(what string) map[string]int {
	p.Helper()
	count := map[string]int{}
	for _, e := range p.entries() {
		if e.Event == what && (what != "prompted" || !e.Verify) {
			count[cmp.Or(e.Name, e.Task)]++
		}
	}
	return count
}

// awaitMark waits until an agent has made its mark in the ledger.
func (p *place) awaitMark(name string) {
	p.Helper()
	eventually(p, "an agent marks "+name, func() bool { return p.entered("mark")[name] > 0 })
}

// shownTask is what tests read of `ralph task show --json`.
type shownTask struct {
	Status                   dag.Status
	Attempts                 int
	Verification, Unverified string
	ClaimedBy                string `json:"claimed_by"`
	LastFailure              string `json:"last_failure"`
}

func (p *place) task(id string) (task shownTask) {
	p.Helper()
	p.json(&task, "task", "show", id)
	return task
}

// json is what a command says with --json.
func (p *place) json(into any, args ...string) {
	p.Helper()
	out := p.want(0, append(args, "--json")...)
	check.OK(p, json.Unmarshal([]byte(out.stdout), into))
}

// overview is what `ralph status --json` says.
func (p *place) overview() report.Overview {
	p.Helper()
	var status struct {
		report.Overview
		Asked json.RawMessage `json:"questions"` // objects that only a list of keys and values makes
	}
	p.json(&status, "status")
	return status.Overview
}

// wantSound wants that doctor has nothing to complain of but the agent, which a test
// may have meant to be unusable.
func (p *place) wantSound() {
	p.Helper()
	r := p.start("doctor", "--json")
	<-r.ended
	var findings []doctor.Finding
	if err := json.Unmarshal([]byte(r.stdout.String()), &findings); err != nil {
		p.Fatalf("doctor: %v\n%s", err, r.stderr.String())
	}
	for _, f := range findings {
		if !f.OK && f.Check != "agent" {
			p.Errorf("doctor: %s: %s %v", f.Check, f.Text, f.Found)
		}
	}
}

// events are those of all runs, in order; every line must be one.
func (p *place) events() []event.Event {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, ".ralph/runs/*/events.jsonl"))
	check.OK(p, err)
	var list []event.Event
	for _, file := range files {
		data, err := os.ReadFile(file)
		check.OK(p, err)
		for line := range strings.Lines(string(data)) {
			var e event.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.V != event.Version {
				p.Fatalf("bad event %q: %v", line, err)
			}
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b event.Event) int { return a.At.Compare(b.At) })
	return list
}

// ended are the outcomes of all attempts, in order.
func (p *place) ended() []string {
	p.Helper()
	var list []string
	for _, e := range p.events() {
		if e.Type == event.AttemptEnded {
			list = append(list, e.Outcome)
		}
	}
	return list
}

// prompts are those of all attempts, the oldest first.
func (p *place) prompts() []string {
	p.Helper()
	var list []string
	for _, e := range p.events() {
		if e.Type != event.TaskClaimed {
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.dir, ".ralph/runs", e.Run, e.Attempt, "prompt.md"))
		check.OK(p, err)
		list = append(list, string(data))
	}
	return list
}

// wantNothingLeft fails for every process that was started in this place and lives.
func (p *place) wantNothingLeft() {
	p.Helper()
	for _, left := range p.processes() {
		p.Errorf("still running: %s", left)
	}
}

// awaitGone waits until nothing that was started in this place lives.
func (p *place) awaitGone() {
	p.Helper()
	eventually(p, "nothing of it lives", func() bool { return len(p.processes()) == 0 })
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
		// with what ends the path: the folder of r11 begins as that of r1 does
		ours := func(text string) bool {
			return strings.Contains(text, p.dir+"/") || strings.Contains(text, p.dir+"\x00")
		}
		if ours(cwd+"\x00") || ours(string(environ)) {
			line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			found = append(found, filepath.Base(folder)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// step is one thing that the agent of a script does.
type step = fakeagent.Step

// say is a script that answers every prompt with these steps.
func say(steps ...step) fakeagent.Script {
	return fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: steps}}}
}

func saysDone() step {
	return step{Do: "say", Text: "<task-done>{{task}}</task-done>\n"}
}

// family is an agent that starts a child, a child in a session of its own and a
// daemon, and then marks that it is at work.
func family() []step {
	return []step{{Do: "fork", Argv: []string{"child", "session", "daemon"}}, {Do: "mark", Text: "at work"}}
}
