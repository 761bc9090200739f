package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain is also the agent of these tests: under the name claude it does what the model says.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "claude" {
		os.Exit(m.Run())
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = obey(string(prompt))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// obey talks with the model until it orders nothing more.
func obey(prompt string) error {
	said := []object{{"role": "user", "content": "<system-reminder>Assigned Task job-none</system-reminder>" + prompt}}
	for {
		body, err := json.Marshal(object{
			"messages": said, "metadata": object{"user_id": fmt.Sprint(os.Getpid())}, "tools": []object{{"name": "Bash"}},
		})
		if err != nil {
			return err
		}
		res, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		var answer struct {
			Content []struct {
				ID    string
				Type  string
				Input struct{ Command string }
			}
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		if err != nil || res.StatusCode != 200 {
			return fmt.Errorf("status %d: %w", res.StatusCode, err)
		}
		if len(answer.Content) < 2 {
			return nil
		}
		call := answer.Content[1]
		out, _ := exec.Command("sh", "-c", call.Input.Command).CombinedOutput() // what the model makes of it is its own
		said = append(said,
			object{"role": "assistant", "content": []object{{"type": "tool_use", "id": call.ID}}},
			object{"role": "user", "content": []object{{"type": "tool_result", "content": string(out)}}})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// agentPath is a PATH with an agent of ours.
func agentPath(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: processes are counted in /proc")
	}
	bin := t.TempDir()
	self, err := os.Executable()
	check(t, err)
	raw, err := os.ReadFile(self)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(bin, "claude"), raw, 0o755))
	return bin
}

// raced takes a contestant through a plan.
func raced(t *testing.T, c contestant, name string) score {
	t.Helper()
	for _, p := range plans() {
		if p.name != name {
			continue
		}
		r, err := newRace(c, p, agentPath(t), t.TempDir())
		check(t, err)
		r.grace, r.model.limit = 300*time.Millisecond, 100*time.Millisecond
		s, err := r.finish()
		check(t, err)
		if left := r.left(patience); len(left) > 0 {
			t.Errorf("the race left %v", left)
		}
		return s
	}
	t.Fatal("there is no plan " + name)
	return score{}
}

func loop() contestant { return contestants()[1] }

func TestTheOracleKnowsLiesFromWork(t *testing.T) {
	for _, p := range plans() {
		dir := t.TempDir()
		check(t, p.write(dir))
		test := func(j job) bool {
			cmd := exec.Command("sh", j.test())
			cmd.Dir = dir
			return cmd.Run() == nil
		}
		for _, j := range p.jobs {
			if test(j) || oracle(dir, j) {
				t.Errorf("%s, %s: passes before anything is done", p.name, j.name)
			}
			for _, l := range []lie{wrong, deletes, fits} {
				check(t, writeFile(filepath.Join(dir, j.path()), j.source(l)))
				if oracle(dir, j) {
					t.Errorf("%s, %s: the oracle believes one that %s", p.name, j.name, l)
				}
				if test(j) != (l == fits) {
					t.Errorf("%s, %s: the test passes %v with one that %s", p.name, j.name, test(j), l)
				}
			}
			check(t, writeFile(filepath.Join(dir, j.path()), j.source(honest)))
			if !test(j) || !oracle(dir, j) {
				t.Errorf("%s, %s: honest work does not pass", p.name, j.name)
			}
		}
	}
}

// script is a contestant that runs a script, and says that those jobs are done whose titles are in said.txt.
func script(text string) contestant {
	start := []string{"sh", "-c", text}
	files := func(plan) map[string]string { return map[string]string{"said.txt": ""} }
	return contestant{name: "script", files: files, start: start, again: [][]string{start}, done: []string{"cat", "said.txt"}}
}

func TestALyingContestantIsCounted(t *testing.T) {
	lie := "for j in sum double square; do echo \"Write src/$j.sh (job-$j)\"; done > said.txt"
	for name, c := range map[string]struct {
		text string
		want score
	}{
		"one that lies":      {lie, score{falseDone: 3}},
		"one that gives up":  {"exit 1", score{notDone: 3, actions: starts - 1}},
		"one that does some": {"mkdir -p src; echo 'echo $(($1 + $2))' > src/sum.sh; " + lie, score{falseDone: 2, wasted: -callsPerJob}},
	} {
		if got := raced(t, script(c.text), "chain"); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestALoopIsCountedInEveryPlan(t *testing.T) {
	for plan, want := range map[string]score{
		"chain": {},
		"fan":   {},
		"lies":  {falseDone: 4, wasted: 4 * callsPerJob},
		// Two are at the second job: the one whose loop was killed, and that of the next loop.
		"kills": {lost: 1, survivors: 1, killed: true, wasted: callsPerJob, actions: 2},
	} {
		if got := raced(t, loop(), plan); got != want {
			t.Errorf("%s: got %+v, want %+v", plan, got, want)
		}
	}
}

func TestEveryCallDuringALimitIsWasted(t *testing.T) {
	got := raced(t, loop(), "limit")
	if got.wasted < 2 || got.falseDone+got.notDone+got.lost+got.actions > 0 {
		t.Errorf("got %+v, want the first look and what was refused, and nothing else", got)
	}
}

// Work that is undone after the agent has seen it is done again, which counts.
func TestLostWorkIsCounted(t *testing.T) {
	c := loop()
	c.start = []string{"sh", "-c", "claude < PROMPT.md; git reset -q --hard begin; exec bash loop.sh"}
	if got, want := raced(t, c, "chain"), (score{lost: 1, wasted: callsPerJob}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAPromptIsFoundInACall(t *testing.T) {
	var c call
	check(t, json.Unmarshal([]byte(`{"messages": [
		{"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "## Assigned Task\nt-0000000a job-sum"}]},
		{"role": "assistant", "content": [{"type": "tool_use"}]},
		{"role": "user", "content": [{"type": "tool_result", "content": "derby: sum fails"}, {"type": "text", "text": "<system-reminder>y</system-reminder>"}]},
		{"role": "assistant", "content": "Done."},
		{"role": "user", "content": "A check is red."},
		{"role": "assistant", "content": [{"type": "tool_use"}]},
		{"role": "user", "content": [{"type": "tool_result", "content": "derby: sum passes"}]}
	], "metadata": {"user_id": "me"}}`), &c))
	got := c.read()
	want := conversation{key: "me 2", prompt: "A check is red.", task: "## Assigned Task\nt-0000000a job-sum", tools: "\"derby: sum passes\"\n", step: 1}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := word(got.prompt + got.task); got != "<task-done>t-0000000a</task-done>\n" {
		t.Errorf("got %q", got)
	}
}

func TestTheTableSaysWhatWasNotMeasured(t *testing.T) {
	got := table([]row{{"a", "chain", score{wasted: 3, checks: 2}}, {"a", "kills", score{killed: true, lost: 1, actions: 2}}})
	for _, want := range []string{"| a | chain | 0 | 0 | 0 | n/a | 3 (2 verify) | 0 |\n", "| a | kills | 0 | 0 | 1 | 0 | 0 | 2 |\n", "| **a** | **all** | 0 | 0 | 1 | 0 | 3 (2 verify) | 2 |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	}
}

// What the script does not know how to answer must not look like a contestant's failure.
func TestAModelThatDoesNotUnderstandIsNoScore(t *testing.T) {
	c := loop()
	c.start = []string{"sh", "-c", "echo Hello | claude; exec bash loop.sh"}
	r, err := newRace(c, plans()[0], agentPath(t), t.TempDir())
	check(t, err)
	if _, err := r.finish(); err == nil || !strings.Contains(err.Error(), "Hello") {
		t.Errorf("got %v, want the prompt", err)
	}
}
