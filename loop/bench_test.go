package loop

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/prompt"
)

// BenchmarkIteration prints how much longer a whole iteration takes, from claim to
// settled, than a bare client that does the same handshake and prompt with the
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
	var theirs, ours time.Duration
	n := 0
	for b.Loop() {
		n++
		var id string
		err := s.store.Update(b.Context(), func(g *dag.Graph) (err error) { id, err = g.Add(dag.NewTask{Title: "x"}); return err })
		check.OK(b, err)
		text := prompt.Build(prompt.Input{Task: prompt.Task{ID: id, Title: "x"}})
		start := time.Now()
		check.OK(b, bare(b.Context(), exe, s.dir, env, text))
		theirs += time.Since(start)
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
	b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
	b.ReportMetric(float64(theirs.Microseconds())/1000/float64(n), "bare-ms")
	b.ReportMetric(float64(ours.Microseconds())/1000/float64(n), "ours-ms")
}

// bare is one prompt with a plain process and nothing but the protocol.
func bare(ctx context.Context, exe, dir string, env []string, text string) error {
	cmd := exec.CommandContext(ctx, exe)
	cmd.Dir, cmd.Env = dir, env
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return err
	}
	requests, answers := json.NewEncoder(stdin), json.NewDecoder(stdout)
	var answer struct {
		ID     int
		Result struct{ SessionID string }
	}
	call := func(id int, method string, params map[string]any) error {
		err := requests.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		for answer.ID = 0; err == nil && answer.ID != id; {
			err = answers.Decode(&answer)
		}
		return err
	}
	err1 = call(1, "initialize", map[string]any{"protocolVersion": 1})
	err2 = call(2, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}})
	err3 := call(3, "session/prompt", map[string]any{
		"sessionId": answer.Result.SessionID, "prompt": []any{map[string]any{"type": "text", "text": text}},
	})
	stdin.Close()
	return errors.Join(err1, err2, err3, cmd.Wait())
}
