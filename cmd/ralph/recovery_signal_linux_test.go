package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestR8StoppingLetsBothTasksFinish, and ends cleanly.
func TestR8StoppingLetsBothTasksFinish(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two", "three")
	r := p.start(t, "run", "--jobs", "2", "--json")
	p.awaitMark(t, "t-00000001")
	p.awaitMark(t, "t-00000002")
	p.want(t, 0, "stop")
	p.write(t, "go-t-00000001", "")
	p.write(t, "go-t-00000002", "")
	r.wait(t, 4).inStdout(t, `"done":2`)
	p.wantNothingToRecover(t)
}

// awaitDrain waits until a run has said that no further task begins.
func (r *running) awaitDrain(t *testing.T) {
	t.Helper()
	eventually(t, "the run says that it lets what runs finish", func() bool { return strings.Contains(r.heard(t), "no new one starts") })
}

// TestR8SIGTERMLetsBothTasksFinishWithinTheGrace, and begins no other.
func TestR8SIGTERMLetsBothTasksFinishWithinTheGrace(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated(), `grace = "10m"`)
	p.plan(t, "one", "two", "three")
	r := p.startHeard(t, "run", "--jobs", "2", "--json")
	p.awaitMark(t, "t-00000001")
	p.awaitMark(t, "t-00000002")
	r.signal(t, syscall.SIGTERM)
	r.awaitDrain(t)
	p.write(t, "go-t-00000001", "")
	p.write(t, "go-t-00000002", "")
	r.wait(t, 143).inStdout(t, `"outcome":"interrupted"`, `"done":2,"failed":0,"remaining":1`)
	check.Equal(t, "attempts", []string{"done", "done"}, p.ended(t))
	p.wantNothingToRecover(t)
}

// TestSIGTERMInTheLastTaskLeavesACompleteRun: nothing was interrupted.
func TestSIGTERMInTheLastTaskLeavesACompleteRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated(), `grace = "10m"`)
	p.plan(t, "one")
	r := p.startHeard(t, "run")
	p.awaitMark(t, "t-00000001")
	r.signal(t, syscall.SIGTERM)
	r.awaitDrain(t)
	p.write(t, "go-t-00000001", "")
	r.wait(t, 0)
}

// TestR9ASlowTaskIsGivenBackAfterTheGrace, or at once if a second signal comes or there is none;
// its agent does not listen, and the next run takes it up.
func TestR9ASlowTaskIsGivenBackAfterTheGrace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		grace string
		again bool
	}{
		"no grace":          {grace: "0s"},
		"the grace is over": {grace: "50ms"},
		"a second signal":   {grace: "10m", again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := say(append(family(), fakeagent.Step{Do: "hang", Ignore: true})...)
			script.Conversations[0].When.Attempt = 1
			script.KeepRunning = true
			p := newPlace(t, script, fmt.Sprintf("grace = %q", tt.grace))
			p.plan(t, "slow")
			r := p.startHeard(t, "run")
			p.awaitMark(t, "at work")
			r.signal(t, syscall.SIGTERM)
			if tt.grace != "0s" {
				r.awaitDrain(t)
			}
			if tt.again {
				r.signal(t, syscall.SIGTERM)
			}
			r.wait(t, 143)
			p.wantNothingLeft(t)
			p.wantInterrupted(t)
			p.want(t, 0, "run")
		})
	}
}

// startHeard starts the program with its stderr in a file that can be read meanwhile.
func (p *place) startHeard(t *testing.T, args ...string) *running {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	check.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return p.run(t, p.command(args...), f)
}

// heard is what it has written to stderr so far.
func (r *running) heard(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.said)
	check.OK(t, err)
	return string(text)
}

func (r *running) signal(t *testing.T, s os.Signal) {
	t.Helper()
	check.OK(t, r.cmd.Process.Signal(s))
}

// TestASignalWhileVerifying keeps what is finished: the next run only verifies it.
func TestASignalWhileVerifying(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "file", Path: "finished", Text: "x"}, saysDone()))
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"finished","gates":["test ! -e finished || { touch in-gate; until test -e go; do sleep 0.02; done; }"]}`+"\n")
	p.want(t, 0, "task", "import", "plan.jsonl")
	r := p.start(t, "run")
	eventually(t, "the gate is reached", func() bool { _, err := os.Stat(filepath.Join(p.dir, "in-gate")); return err == nil })
	r.signal(t, syscall.SIGTERM)
	r.wait(t, 143)
	p.write(t, "go", "")
	p.want(t, 0, "run")
	check.Equal(t, "prompts", map[string]int{"t-00000001": 1}, p.prompted(t))
}
