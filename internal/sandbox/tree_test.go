//go:build linux

package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

// forest starts a child, one in another session, one that cleared its
// environment and a daemon; all hold stdout open until they are gone.
const forest = `
sleep 1000 & setsid sleep 1000 & env -i sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &)
kill -9 1 $PPID 2>/dev/null; kill -STOP 1 2>/dev/null
echo ready; sleep 1000
`

// Whoever starts it is killed with SIGKILL: nothing of the tree is left.
func TestNothingSurvivesTheStarter(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w := newWorld(t)
	r, out, err := os.Pipe()
	must(err)
	defer r.Close()
	starter := exec.Command("/proc/self/exe")
	starter.Env = append(os.Environ(), append(w.env(), roleEnv+"=starter")...)
	starter.Stdout = out
	must(starter.Start())
	out.Close()
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	starter.Process.Kill()
	starter.Wait()
	// The end of the stream comes when the last process is gone.
	rest, err := io.ReadAll(lines)
	check.That(t, err == nil && len(rest) == 0, "got %q, %v, want the end", rest, err)
}

// startForest is a ralph that waits to be killed.
func startForest(w *world) {
	data, err := w.profile(Namespaces, Work).Encode()
	must(err)
	p, err := proc.Start(proc.Spec{Argv: []string{"sh", "-c", forest}, Env: os.Environ(), Dir: w.Project, Stdout: os.Stdout, Confine: data})
	must(err)
	p.Wait()
}

func TestKillAndTerminateReachInside(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w := newWorld(t)
	data, err := w.profile(Namespaces, Work).Encode()
	must(err)
	for name, tc := range map[string]struct {
		script string
		end    func(*proc.Process) error
		want   proc.Exit
	}{
		"killed":     {forest, (*proc.Process).Kill, proc.Exit{Code: -1, Signal: "SIGKILL"}},
		"terminated": {"trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", func(p *proc.Process) error { return p.Terminate(1 << 40) }, proc.Exit{Code: 7}},
		"exit":       {"echo ready; exit 9", func(p *proc.Process) error { <-p.Done(); return nil }, proc.Exit{Code: 9}},
		"signal":     {"echo ready; kill -SEGV $$", func(p *proc.Process) error { <-p.Done(); return nil }, proc.Exit{Code: -1, Signal: "SIGSEGV"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, out, err := os.Pipe()
			must(err)
			defer r.Close()
			p, err := proc.Start(proc.Spec{Argv: []string{"sh", "-c", tc.script}, Env: os.Environ(), Dir: w.Project, Stdout: out, Confine: data})
			out.Close()
			check.OK(t, err)
			lines := bufio.NewReader(r)
			lines.ReadString('\n')
			check.OK(t, tc.end(p))
			check.Equal(t, "exit", tc.want, p.Exit())
			rest, _ := io.ReadAll(lines)
			check.That(t, len(rest) == 0 || strings.Contains(string(rest), "Terminated"), "left: %q", rest)
		})
	}
}
