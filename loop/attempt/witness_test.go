package attempt

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/loop/policy"
	"ralph/sigils"
	"ralph/strategy"
	"ralph/verify"
)

// TestAWitnessFailsBeforeTheWork by an assertion: all else drops it.
func TestAWitnessFailsBeforeTheWork(t *testing.T) {
	t.Parallel()
	w := witness{File: "fence_test.go", Run: "go test -run TestFenceHolds .", Text: "package a\n\nfunc TestFenceHolds(t *testing.T) { t.Fatal(1) }\n"}
	script := witness{File: "w_test.sh", Run: "sh w_test.sh", Text: "grep -q x out || { echo not ok - out has x; exit 1; }\n"}
	named := func(passed map[string]bool) verify.Result {
		return verify.Result{Exit: "exit status 1", Reported: &verify.Report{Passed: passed, Any: true}}
	}
	fails, why := w.before(named(map[string]bool{"TestFenceHolds": false, "TestOther": false, "TestFine": true}))
	check.That(t, why == "" && slices.Equal(fails, []string{"TestFenceHolds"}), "got %q, %q", fails, why)
	for name, res := range map[string]verify.Result{
		"it passes":                  {Passed: true, Reported: &verify.Report{Passed: map[string]bool{"TestFenceHolds": true}}},
		"it does not build":          {Exit: "exit status 1", Failures: "./fence_test.go:3: undefined: Fence", Reported: &verify.Report{Passed: map[string]bool{}}},
		"it does not end":            {Killed: true, Exit: "still running after 1m"},
		"it cannot start":            {Unstartable: true, Exit: "exit status 127"},
		"the project's test fails":   named(map[string]bool{"TestOther": false}),
		"names are not known at all": {Exit: "exit status 1", Reported: &verify.Report{}},
		"it does not load": {
			Exit: "exit status 1", Tail: "FAILED x.py::TestFenceHolds - ImportError: cannot import name 'fence'",
			Reported: &verify.Report{Passed: map[string]bool{"TestFenceHolds": false}},
		},
	} {
		_, why := w.before(res)
		check.That(t, why != "" && w.refutes(res) == "", "%s: got %q, %q", name, why, w.refutes(res))
	}
	fails, why = script.before(named(map[string]bool{"out has x": false}))
	check.That(t, why == "" && slices.Equal(fails, []string{"out has x"}), "of a script: got %q, %q", fails, why)
	_, why = script.before(verify.Result{Exit: "exit status 1", Reported: &verify.Report{}})
	check.That(t, why != "", "a script that fails without an assertion counts")

	w.Fails = []string{"TestFenceHolds"}
	check.Equal(t, "it fails with the work", "fence_test.go: TestFenceHolds", w.refutes(named(map[string]bool{"TestFenceHolds": false})))
	check.Equal(t, "it passes with the work", "", w.refutes(named(map[string]bool{"TestFenceHolds": true, "TestOther": false})))
}

// TestAWitnessIsAFileOfTheProject that is new.
func TestAWitnessIsAFileOfTheProject(t *testing.T) {
	t.Parallel()
	wrote := func(file, text string) witness {
		return newWitness("sum", sigils.Set{Witness: sigils.Witness{File: file, Run: "true", Text: text}})
	}
	for _, file := range []string{"", "/etc/x", "../x", "a/../../x", ".git/hooks/x", "sub/.GIT/x", ".ralph/x", "a\nb", `a\b`} {
		check.That(t, wrote(file, "x").Dropped != "", "%q is taken", file)
	}
	good := wrote("./a/../b/it's_test.sh", "```sh\nexit 1\n```")
	check.Equal(t, "file", "b/it's_test.sh", good.File)
	check.Equal(t, "text", "exit 1\n", good.Text)
	check.Equal(t, "why", "", good.Dropped)
}

// TestAWitnessLeavesNothing in the folder.
func TestAWitnessLeavesNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"test -e made\n": 1, "exit 0\n": 0, "if then (\n": 2, "cat <<'END'\n$x `y`\nEND\nexit 3\n": 3} {
		dir := t.TempDir()
		w := newWitness("", sigils.Set{Witness: sigils.Witness{File: "new/w_test.sh", Run: "sh new/w_test.sh", Text: text}})
		cmd := exec.CommandContext(t.Context(), "sh", "-c", w.command())
		cmd.Dir = dir
		_ = cmd.Run()
		check.Equal(t, text, want, cmd.ProcessState.ExitCode())
		_, err := os.Stat(filepath.Join(dir, w.File))
		check.That(t, os.IsNotExist(err), "the file of %q is left: %v", text, err)
	}
}

// TestAWitnessHidesItsSource where a runner prints it.
func TestAWitnessHidesItsSource(t *testing.T) {
	t.Parallel()
	w := witness{Text: "def test_half():\n    assert half(4) == 2\n    x\n"}
	got := w.hide("    def test_half():\n>       assert half(4) == 2\nE       assert 3 == 2\nx.py:3: AssertionError")
	check.Equal(t, "hidden", "[a line of the check]\nE       assert 3 == 2\nx.py:3: AssertionError", got)
}

// TestAWitnessOnlyHolds: it is written once for all attempts at a task, out of the worker's sight; what it prints is sent back, and then
// the work waits for a person. Work that it does not refute is done, and so is all that it says nothing about.
func TestAWitnessOnlyHolds(t *testing.T) {
	t.Parallel()
	const wants = "<witness file=\"words_test.sh\" run=\"sh words_test.sh\">\n# secret thoughts\ngrep -q hello words || { echo not ok - no hello; exit 1; }\n</witness>\n"
	write := func(text, says string) func(string) string {
		return func(dir string) string {
			if err := os.WriteFile(filepath.Join(dir, "words"), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
			return says + "\n<task-done>t-1</task-done>\n"
		}
	}
	try := func(t *testing.T, secret string, change func(*Job), turns ...func(string) string) (Result, []string, *memory) {
		t.Helper()
		var warned []string
		w, s := machine(t, turns...)
		w.Observe = func(e event.Event) {
			if e.Type == event.Warned {
				warned = append(warned, e.Text)
			}
		}
		w.Open = func(_ context.Context, op Opening) (Session, error) {
			session := &scripted{turns: s.turns[:1], dir: op.Dir}
			if s.turns = s.turns[1:]; !op.Verifier {
				session.turns, s.turns = append(session.turns, s.turns...), nil
			} else if !strings.HasPrefix(op.Folder, secret) {
				t.Errorf("the witness works in %s", op.Folder)
			} else if op.Model != "opus" {
				t.Errorf("the witness has the model %s", op.Model)
			}
			return session, op.Started("scripted", proc.Identity{Pid: 1})
		}
		j := job(t, "true")
		j.Place.Secret, j.Verify.Witness, j.Agent.Choice = secret, ByVerifier, strategy.Choice{Model: "haiku", Tier: strategy.Haiku}
		change(&j)
		m := &memory{}
		res, err := w.Run(t.Context(), j, alone(t, m, &j))
		check.OK(t, err)
		found, _ := filepath.Glob(filepath.Join(j.Place.Folder, "slots", "*", "words_test.sh"))
		check.That(t, len(found) == 0, "the check is left in %s", found)
		return res, warned, m
	}
	same := func(*Job) {}

	secret := filepath.Join(t.TempDir(), "t-1")
	res, warned, m := try(t, secret, same, says(wants), write("bye\n", ""), write("bye\n", "<journal>bye is a word, too</journal>"))
	d := res.Decision
	check.That(t, d.Action == policy.Hold && strings.Contains(d.Reason, "words_test.sh") && strings.Contains(d.Reason, "bye is a word, too") &&
		!strings.Contains(d.Reason, "secret thoughts"), "got %+v", d)
	check.That(t, len(warned) == 0, "warned %q", warned)
	check.That(t, m.used.Cost() == 0.75, "got %v, want the witness's 0.25 counted", m.used.Cost())
	log, err := os.ReadFile(filepath.Join(secret, witnessLog))
	check.That(t, err == nil && strings.Contains(string(log), "secret thoughts") && strings.Count(string(log), "no hello\n") >= 3, "got %s, %v", log, err)

	res, _, _ = try(t, secret, same, write("hello\n", "")) // nobody is asked for another one
	check.Equal(t, "the second attempt", policy.Complete, res.Decision.Action)
	_, err = os.Stat(secret)
	check.That(t, os.IsNotExist(err), "what was hidden stays: %v", err)

	res, _, _ = try(t, filepath.Join(t.TempDir(), "t-1"), same, says(wants), write("bye\n", ""), write("hello\n", ""))
	check.Equal(t, "repaired", policy.Complete, res.Decision.Action)

	for name, text := range map[string]string{
		"it passes before the work": strings.ReplaceAll(wants, "exit 1", "exit 0"), "the agent wrote none": "I cannot.", "it does not build or load": strings.ReplaceAll(wants, "echo not ok - no hello", "( ;"),
	} {
		res, warned, _ := try(t, filepath.Join(t.TempDir(), "t-1"), same, says(text), write("bye\n", ""))
		check.That(t, res.Decision.Action == policy.Complete && len(warned) == 1 && strings.Contains(warned[0], name), "got %+v, warned %q; want %s", res.Decision, warned, name)
	}

	for name, change := range map[string]func(*Job){
		"a check": func(j *Job) { j.Task.Kind = dag.Check }, "off": func(j *Job) { j.Verify.Witness = "" }, "on another machine": func(j *Job) { j.Place.Secret = "" },
		"without verification": func(j *Job) { j.Verify.Skip = true },
	} {
		res, _, _ := try(t, filepath.Join(t.TempDir(), "t-1"), change, write("bye\n", ""))
		check.Equal(t, name, policy.Complete, res.Decision.Action)
	}
}
