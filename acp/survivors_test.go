package acp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

var family = step{Do: "fork", Argv: []string{"child", "session", "daemon"}}

// beRalph is a process that prompts an agent and waits to be killed.
func beRalph() {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s, err := Start(context.Background(), Config{
		Owner: "ralph", Argv: []string{exe}, Env: append(os.Environ(), beEnv+"=1"), Dir: os.TempDir(),
		Observe: func(e Event) { fmt.Println("seen") },
	})
	if err != nil {
		panic(err)
	}
	s.Prompt(context.Background(), "x")
}

func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	hang := step{Do: "hang", Ignore: true}
	for name, tc := range map[string]struct {
		steps []step
		keep  bool // ignores SIGTERM and the end of stdin
		end   func(*bench, context.CancelFunc)
		want  Kind
	}{
		"idle timeout":    {[]step{family, hang}, false, func(b *bench, _ context.CancelFunc) { b.cfg.IdleTimeout = time.Millisecond }, IdleTimeout},
		"turn timeout":    {[]step{family, hang}, false, func(b *bench, _ context.CancelFunc) { b.cfg.TurnTimeout = time.Millisecond }, TurnTimeout},
		"cancel, ignored": {[]step{family, {Do: "say", Text: "up"}, hang}, true, func(b *bench, cancel context.CancelFunc) { b.cfg.Observe = func(Event) { cancel() } }, Cancelled},
		"cancel, heard": {[]step{family, {Do: "say", Text: "up"}, {Do: "hang"}}, false, func(b *bench, cancel context.CancelFunc) {
			b.cfg.Grace = long
			b.cfg.Observe = func(Event) { cancel() }
		}, Cancelled},
		"the agent exits":           {[]step{family, {Do: "exit", Code: 3}}, false, func(*bench, context.CancelFunc) {}, Died},
		"the agent closes stdout":   {[]step{{Do: "close_stdout"}, hang}, true, func(*bench, context.CancelFunc) {}, Protocol},
		"close after a good answer": {[]step{family}, true, func(*bench, context.CancelFunc) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := say(tc.steps...)
			script.KeepRunning = tc.keep
			b := newBench(t, script)
			b.cfg.Grace = 20 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tc.end(b, cancel)
			// The family is complete before the limit can strike.
			if b.cfg.IdleTimeout > 0 || b.cfg.TurnTimeout > 0 {
				b.cfg.IdleTimeout, b.cfg.TurnTimeout = b.cfg.IdleTimeout*500, b.cfg.TurnTimeout*500
			}
			s := b.start(t)
			_, err := s.Prompt(ctx, "x")
			if tc.want != "" {
				wantKind(t, err, tc.want)
			} else if err != nil {
				t.Fatal(err)
			}
			check.OK(t, s.Close())
			b.wantNothingLeft(t)
		})
	}
}

// Kill from beside ends a prompt at once, whatever the grace is.
func TestKillEndsAPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t, keepRunning(say(family, step{Do: "say", Text: "up"}, step{Do: "hang", Ignore: true})))
	up := make(chan struct{}, 10)
	b.cfg.Observe = func(Event) { up <- struct{}{} }
	s := b.start(t)
	killed := make(chan error)
	go func() {
		<-up
		killed <- s.Kill()
	}()
	turn, err := s.Prompt(t.Context(), "x")
	if e := wantKind(t, err, Died); e.Exit.Signal != "SIGKILL" || textOf(turn) != "up" {
		t.Errorf("got %v and %q", e.Exit, textOf(turn))
	}
	check.OK(t, <-killed)
	b.wantNothingLeft(t)
	check.OK(t, s.Close())
	_, err = s.Prompt(t.Context(), "x")
	wantKind(t, err, Closed)
}

// Ralph itself is killed with SIGKILL. The agent and its family hold a pipe; its
// end says that all of them are gone.
func TestNothingSurvivesRalph(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(family, step{Do: "say", Text: "up"}, step{Do: "hang", Ignore: true}))
	r, w, err := os.Pipe()
	check.OK(t, err)
	held, holder, err := os.Pipe()
	check.OK(t, err)
	ralph := exec.Command(b.cfg.Argv[0])
	ralph.Env = slices.Concat(b.cfg.Env, []string{beEnv + "=ralph"})
	ralph.Stdout, ralph.Stderr = w, os.Stderr
	ralph.ExtraFiles = []*os.File{holder}
	check.OK(t, ralph.Start())
	w.Close()
	holder.Close()
	if _, err := io.ReadFull(r, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	ralph.Process.Kill()
	ralph.Wait()
	r.Close()
	io.Copy(io.Discard, held)
	held.Close()
	for alive := true; alive; {
		alive = false
		entries, err := fakeagent.ReadLedger(b.ledger)
		check.OK(t, err)
		for _, e := range entries {
			id, err := proc.Of(e.Pid)
			alive = alive || err == nil && proc.Liveness(id) == proc.Alive
		}
	}
	b.wantNothingLeft(t)
}
