package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/fakeagent"
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
	if out := r.wait(t, 4); !strings.Contains(out.stdout, `"done":2`) {
		t.Errorf("got %s, want both done", out.stdout)
	}
	if out := p.want(t, 0, "recover"); out.stdout != "nothing to recover\n" {
		t.Errorf("got %q, want a clean end", out.stdout)
	}
}

// TestR9ASlowTaskIsGivenBack when SIGTERM comes and its agent does not listen; the
// next run takes it up.
func TestR9ASlowTaskIsGivenBack(t *testing.T) {
	t.Parallel()
	script := say(append(family(), fakeagent.Step{Do: "hang", Ignore: true})...)
	script.Conversations[0].When.Attempt = 1
	script.KeepRunning = true
	p := newPlace(t, script)
	p.plan(t, "slow")
	r := p.start(t, "run")
	p.awaitMark(t, "at work")
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 143)
	p.wantNothingLeft(t)
	p.wantInterrupted(t)
	p.want(t, 0, "run")
}

// TestASignalWhileVerifying keeps what is finished: the next run only verifies it.
func TestASignalWhileVerifying(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "file", Path: "finished", Text: "x"}, saysDone()))
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"finished","gates":["test ! -e finished || { touch in-gate; until test -e go; do sleep 0.02; done; }"]}`+"\n")
	p.want(t, 0, "task", "import", "plan.jsonl")
	r := p.start(t, "run")
	eventually(t, "the gate is reached", func() bool { _, err := os.Stat(filepath.Join(p.dir, "in-gate")); return err == nil })
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 143)
	p.write(t, "go", "")
	p.want(t, 0, "run")
	prompts := 0
	for _, e := range p.entries(t) {
		if e.Event == "prompted" {
			prompts++
		}
	}
	if prompts != 1 {
		t.Errorf("its agent was prompted %d times, want once", prompts)
	}
}
