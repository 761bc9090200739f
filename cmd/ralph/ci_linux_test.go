package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// givesUp is an agent that fails tasks whose title asks for it.
func givesUp() fakeagent.Script {
	return fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Task: "t-00000002"}, Steps: []fakeagent.Step{{Do: "say", Text: "<task-failed>t-00000002</task-failed>\n"}}},
	}}
}

// outcomes are ways to get each exit status of docs/ci.md from the real program.
func outcomes() map[string]func(t *testing.T, status int) {
	simple := func(script fakeagent.Script, titles []string, args ...string) func(*testing.T, int) {
		return func(t *testing.T, status int) {
			p := newPlace(t, script)
			if titles != nil {
				p.plan(t, titles...)
			}
			p.want(t, status, append([]string{"run"}, args...)...)
		}
	}
	signal := func(s os.Signal) func(*testing.T, int) {
		return func(t *testing.T, status int) {
			p := newPlace(t, hangsOnce())
			p.plan(t, "one")
			p.write(t, "junit.xml", "of another run")
			r := p.start(t, "run", "--junit", "junit.xml", "--summary", "summary.md")
			p.awaitMark(t, "at work")
			if _, err := os.Stat(filepath.Join(p.dir, "junit.xml")); err == nil {
				t.Error("a run that is killed now leaves the report of another one")
			}
			check.OK(t, r.cmd.Process.Signal(s))
			r.wait(t, status)
			for name, want := range map[string]string{"junit.xml": `type="interrupted"`, "summary.md": "ralph: interrupted"} {
				if data, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || !strings.Contains(string(data), want) {
					t.Errorf("%s: got %s, %v; want %s", name, data, err, want)
				}
			}
		}
	}
	return map[string]func(t *testing.T, status int){
		"0 complete":          simple(fakeagent.Script{}, []string{"one"}),
		"1 complete":          simple(givesUp(), []string{"one", "two"}),
		"1 failure":           simple(givesUp(), []string{"one", "two", "three"}, "--fail-fast"),
		"3 no_plan":           simple(fakeagent.Script{}, nil),
		"4 limit":             simple(fakeagent.Script{}, []string{"one", "two"}, "--once"),
		"5 agent_unavailable": simple(fakeagent.Script{}, []string{"one"}, "--agent", "no-such-agent-anywhere"),
		"64 ":                 simple(fakeagent.Script{}, []string{"one"}, "--limit", "-1"),
		"130 interrupted":     signal(syscall.SIGINT),
		"143 interrupted":     signal(syscall.SIGTERM),
		"2 blocked": func(t *testing.T, status int) {
			p := newPlace(t, givesUp())
			p.plan(t, "one", "two", "three")
			p.want(t, 0, "task", "deps", "add", "t-00000002", "t-00000003")
			p.want(t, status, "run")
		},
		"4 stopped": func(t *testing.T, status int) {
			p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, saysDone()))
			p.plan(t, "one", "two")
			r := p.start(t, "run")
			p.awaitMark(t, "at work")
			p.want(t, 0, "stop")
			p.write(t, "go", "")
			r.wait(t, status)
		},
		"70 error": func(t *testing.T, status int) {
			p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, saysDone()))
			p.plan(t, "one")
			r := p.start(t, "run", "--summary", "summary.md")
			p.awaitMark(t, "at work")
			for _, name := range []string{"progress.db", "progress.db-wal", "progress.db-shm"} {
				check.OK(t, os.Remove(filepath.Join(p.dir, ".ralph", name)))
			}
			p.write(t, "go", "")
			r.wait(t, status)
			if data, err := os.ReadFile(filepath.Join(p.dir, "summary.md")); err != nil || !strings.Contains(string(data), "ralph could not continue") {
				t.Errorf("got %s, %v; want that it could not continue", data, err)
			}
		},
	}
}

// TestEveryExitStatusOfTheDocumentationCanBeHad runs each row of the table.
func TestEveryExitStatusOfTheDocumentationCanBeHad(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/ci.md")
	check.OK(t, err)
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| `?([a-z_]*)`? ?\\|")
	ways, seen := outcomes(), []string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		name := m[1] + " " + m[2]
		seen = append(seen, name)
		way := ways[name]
		if way == nil {
			t.Errorf("nothing shows how to get %q", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := 0
			for _, digit := range m[1] {
				status = 10*status + int(digit-'0')
			}
			way(t, status)
		})
	}
	for name := range ways {
		if !slices.Contains(seen, name) {
			t.Errorf("%q is not in docs/ci.md", name)
		}
	}
}

// sh runs a script in the place, with the real program on its PATH.
func (p *place) sh(t *testing.T, script string, env ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script), ended: make(chan struct{})}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = p.dir, append(slices.Clone(p.env), env...), &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Skipf("no bash here: %v", err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	return r
}

// TestTheShellExampleRuns, and ends with the status of the run.
func TestTheShellExampleRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, givesUp())
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"one"}`+"\n"+`{"ref":"t-00000002","title":"two"}`+"\n")
	script := blocks(t, "../../docs/ci.md", "sh")[0]
	for range 2 { // the second finds the plan imported
		out := p.sh(t, script).wait(t, 1)
		out.inStdout(t, "ralph task reset t-00000002")
	}
	for _, name := range []string{"junit.xml", "summary.md", "report.html"} {
		if info, err := os.Stat(filepath.Join(p.dir, "out", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheActionRuns plays the step of action.yml that runs ralph.
func TestTheActionRuns(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../action.yml")
	check.OK(t, err)
	var action struct {
		Runs struct {
			Steps []struct{ ID, Run string }
		}
	}
	check.OK(t, yaml.Unmarshal(data, &action))
	script := ""
	for _, s := range action.Runs.Steps {
		if s.ID == "run" {
			script = s.Run
		}
	}
	play := func(p *place, env ...string) *running {
		check.OK(t, os.MkdirAll(filepath.Join(p.dir, "temp/ralph-report"), 0o700))
		return p.sh(t, script, append([]string{
			"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + p.dir + "/step.md", "GITHUB_OUTPUT=" + p.dir + "/output", "RUNNER_TEMP=" + p.dir + "/temp",
			"TARGET=", "AGENT=", "ARGUMENTS=",
		}, env...)...)
	}
	holds := func(t *testing.T, p *place, name, want string) {
		t.Helper()
		if data, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: got %s, %v; want %s", name, data, err, want)
		}
	}
	t.Run("with everything given", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, givesUp())
		p.plan(t, "one", "two")
		out := play(p, "TARGET=t-00000002", "AGENT=fake", "ARGUMENTS=--limit=5\n--max-cost\n2.5\n").wait(t, 1)
		holds(t, p, "output", "status=1\n")
		holds(t, p, "step.md", "t-00000002")
		holds(t, p, "temp/ralph-report/junit.xml", `failures="1"`)
		for _, want := range []string{"\n::group::", "\n::endgroup::", "\n::error title=ralph%3A failed%3A two::"} {
			if strings.Count(out.stderr, want) != 1 {
				t.Errorf("got %s, want one %q", out.stderr, want)
			}
		}
	})
	t.Run("with nothing given", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, fakeagent.Script{})
		p.plan(t, "one")
		play(p).wait(t, 0)
		holds(t, p, "output", "status=0\n")
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, hangsOnce())
		p.plan(t, "one")
		r := play(p)
		p.awaitMark(t, "at work")
		r.signal(t, syscall.SIGINT)
		r.wait(t, 143)
		holds(t, p, "output", "status=143\n")
		holds(t, p, "temp/ralph-report/summary.md", "ralph: interrupted")
	})
}
