package story

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// TestCancel ends a run whose attempts are under way. No process is left on a worker, and the tasks are ready again.
func TestCancel(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		cancel func(p *place, run *process)
	}{
		"stop --now": {4, func(p *place, _ *process) {
			p.t.Helper()
			p.must(p.command(p.clone("one"), "ralph-temporal", "stop", "--now"))
		}},
		"Ctrl-C": {130, func(p *place, run *process) {
			p.t.Helper()
			check(p.t, run.Process.Signal(syscall.SIGINT))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			var plan []task
			for i := range 4 {
				plan = append(plan, script(fmt.Sprint(i), fmt.Sprintf("echo %d >> %s/begun; sleep 1000 & sleep 1000", i, p.dir)))
			}
			p.plan(plan)
			p.serve()
			one, two := p.worker("one", 2), p.worker("two", 2)
			run := p.run("--agent", "shell")
			await(t, "four attempts", func() bool { return p.begun() == 4 })
			busy := len(p.processes())
			begun := time.Now()
			tt.cancel(p, run)
			p.expect(run, tt.status, 2*time.Minute)
			p.noneBut(p.server, one, two)
			t.Logf("FIGURES: %d processes of the run and its agents were gone after %v", busy-3, time.Since(begun).Round(10*time.Millisecond))
			var r result
			p.unmarshal(&r, "status", "--json")
			equal(t, "the tasks", 4, r.Counts["pending"])
			if refs := p.git(p.home, "ls-remote", "origin", "refs/ralph/*"); refs != "" {
				t.Logf("refs on the remote, for what was begun:\n%s", refs)
			}
			p.healthy()
		})
	}
}
