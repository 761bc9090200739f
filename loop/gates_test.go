package loop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestTheBaselineIsTakenAnewWhenTheHeadMovesUnderUs: somebody else committed
// between two tasks, so what the gates said before no longer holds.
func TestTheBaselineIsTakenAnewWhenTheHeadMovesUnderUs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		moves bool
		want  int
	}{"it stays": {false, 1}, "it moves": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, say(
				fakeagent.Step{Do: "file", Path: "{{task}}.txt", Text: "x"}, fakeagent.Step{Do: "commit", Text: "work"}, done(),
			))
			s.repository(t)
			s.opts.Verify.Gates = []string{"true"}
			s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}}, dag.NewTask{Detail: dag.Detail{Title: "two"}})
			observe, baselines, ended := s.opts.Host.Observe, 0, 0
			s.opts.Host.Observe = func(e event.Event) {
				switch {
				case e.Type == event.GateStarted && e.Reason == "before the work":
					baselines++
				case e.Type == event.AttemptEnded:
					if ended++; ended == 1 && tt.moves {
						commitAll(t, s.dir)
					}
				}
				observe(e)
			}
			s.run(t)
			check.That(t, ended == 2 && baselines == tt.want, "got %d baselines in %d attempts, want %d in 2", baselines, ended, tt.want)
		})
	}
}

func commitAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "theirs"), []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "theirs"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("git: %v\n%s", err, out)
		}
	}
}
