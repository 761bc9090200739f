package story

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// begun is how many lines scripts have written to the file when they began.
func (p *place) begun() int { return strings.Count(readAll(filepath.Join(p.dir, "begun")), "\n") }

// waiting is a script that says that it has begun and then waits for a file before it writes its line.
func (p *place) waiting(ref, file string, after ...string) task {
	return script(ref, fmt.Sprintf("mkdir -p lines; echo %s $$ >> %s/begun; while [ ! -e %s/%s ]; do sleep 0.05; done; echo %s >> lines/%s", ref, p.dir, p.dir, file, ref, ref), after...)
}

func (p *place) touch(file string) {
	p.t.Helper()
	check(p.t, os.WriteFile(filepath.Join(p.dir, file), nil, 0o600))
}

// TestLateWorker stops all processes of a worker beyond its heartbeat. Its attempt is made by another worker and lands; when
// the first wakes up, nothing more lands.
func TestLateWorker(t *testing.T) {
	p := newPlace(t)
	p.plan([]task{p.waiting("000", "go"), p.waiting("001", "end", "000")})
	p.serve()
	late := p.worker("late", 1)
	run := p.run("--agent", "shell")
	await(t, "the attempt on the first worker", func() bool { return p.begun() == 1 })
	stopped := p.of("late")
	for _, pid := range stopped {
		check(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	other := p.worker("other", 1)
	await(t, "the attempt on the second worker", func() bool { return p.begun() == 2 })
	p.touch("go")
	await(t, "its work to land and the next to begin", func() bool { return p.begun() == 3 })
	head := p.git(p.home, "rev-parse", "HEAD")
	for _, pid := range stopped {
		check(t, syscall.Kill(pid, syscall.SIGCONT))
	}
	await(t, "the late attempt to end", func() bool { return len(p.of("late")) == 1 })
	equal(t, "the branch after the late worker", head, p.git(p.home, "rev-parse", "HEAD"))
	p.touch("end")
	p.expect(run, 0, time.Minute)
	p.settledWell(2)
	t.Logf("stopped %d processes; late worker said:\n%s", len(stopped), late.output())
	p.noneBut(p.server, late, other)
}
