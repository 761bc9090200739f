package loop

import (
	"context"
	"os"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/prompt"
)

// BenchmarkIteration prints how much longer a whole iteration takes, from claim to
// settled, than a bare SDK client that does the same handshake and prompt with the
// same agent. The two take turns, so that both see the same machine.
func BenchmarkIteration(b *testing.B) {
	s := newStage(b, fakeagent.Script{})
	exe, err := os.Executable()
	check.OK(b, err)
	env := append(os.Environ(), beEnv+"=1", fakeagent.ScriptEnv+"="+s.script.JSON(), fakeagent.LedgerEnv+"="+s.ledger)
	s.opts.Limits.Iterations = 1
	s.launcher = &proc.Launcher{Owner: "bench"} // as cmd/ralph has it
	defer s.launcher.Close()
	s.launcher.Warm()
	var bare, ours time.Duration
	n := 0
	for b.Loop() {
		n++
		var id string
		err := s.store.Update(b.Context(), func(g *dag.Graph) (err error) { id, err = g.Add(dag.NewTask{Title: "x"}); return err })
		check.OK(b, err)
		text := prompt.Build(prompt.Input{Task: prompt.Task{ID: id, Title: "x"}})
		start := time.Now()
		check.OK(b, fakeagent.Bare(b.Context(), exe, s.dir, env, text))
		bare += time.Since(start)
		r, err := Start(context.Background(), s.opts)
		check.OK(b, err)
		start = time.Now()
		out, err := r.Run(context.Background())
		if err != nil || out.Counts.Remaining > 0 {
			b.Fatal(out, err)
		}
		ours += time.Since(start)
		check.OK(b, r.Finish(context.Background(), out))
	}
	b.ReportMetric(float64(ours)/float64(bare), "x-bare")
	b.ReportMetric(float64(bare.Microseconds())/1000/float64(n), "bare-ms")
	b.ReportMetric(float64(ours.Microseconds())/1000/float64(n), "ours-ms")
}
