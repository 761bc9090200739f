package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// givesUp is an agent that fails the second task.
func givesUp() fakeagent.Script {
	script := say(step{Do: "say", Text: "<task-failed>t-00000002</task-failed>\n"})
	script.Conversations[0].When.Task = "t-00000002"
	return script
}

// waits is an agent that marks that it is at work, and then waits for a file.
func waits() fakeagent.Script {
	return say(step{Do: "mark", Text: "at work"}, step{Do: "await", Path: "go"}, saysDone())
}

// outcomes are ways to get each exit status of docs/ci.md from the real program.
func outcomes() map[string]func(t *testing.T, status int) {
	simple := func(script fakeagent.Script, titles []string, args ...string) func(*testing.T, int) {
		return func(t *testing.T, status int) {
			p := newPlace(t, script)
			if titles != nil {
				p.plan(titles...)
			}
			p.want(status, append([]string{"run"}, args...)...)
		}
	}
	signal := func(s os.Signal) func(*testing.T, int) {
		return func(t *testing.T, status int) {
			p := newPlace(t, waits())
			p.plan("one")
			p.write("junit.xml", "of another run")
			r := p.atWork("at work", "run", "--junit", "junit.xml", "--summary", "summary.md")
			check.That(t, !p.has("junit.xml"), "a run that is killed now leaves the report of another one")
			r.signal(s)
			r.wait(status)
			p.holds("junit.xml", `type="interrupted"`)
			p.holds("summary.md", "ralph: interrupted")
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
			p.plan("one", "two", "three")
			p.want(0, "task", "deps", "add", "t-00000002", "t-00000003")
			p.want(status, "run")
		},
		"4 stopped": func(t *testing.T, status int) {
			p := newPlace(t, waits())
			p.plan("one", "two")
			r := p.atWork("at work", "run")
			p.want(0, "stop")
			p.write("ledger/go", "")
			r.wait(status)
		},
		"6 complete": func(t *testing.T, status int) {
			p := newPlace(t, fakeagent.Script{})
			p.shell("git init -q -b main && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm base && git remote add origin ./gone")
			p.want(0, "task", "add", "one", "-d", "```sh\necho one > one\n```")
			p.want(status, "run", "--agent", "shell", "--target", "main", "--push")
		},
		"70 error": func(t *testing.T, status int) {
			p := newPlace(t, waits())
			p.plan("one")
			r := p.atWork("at work", "run", "--summary", "summary.md")
			p.shell("rm .ralph/progress.db .ralph/progress.db-wal .ralph/progress.db-shm")
			p.write("ledger/go", "")
			r.wait(status)
			p.holds("summary.md", "ralph could not continue")
		},
	}
}

// TestEveryExitStatusOfTheDocumentationCanBeHad runs each row of the table.
func TestEveryExitStatusOfTheDocumentationCanBeHad(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| `?([a-z_]*)`? ?\\|")
	ways, seen := outcomes(), []string{}
	for _, m := range row.FindAllStringSubmatch(repoFile(t, "docs/ci.md"), -1) {
		name := m[1] + " " + m[2]
		seen = append(seen, name)
		way := ways[name]
		if way == nil {
			t.Errorf("nothing shows how to get %q", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, err := strconv.Atoi(m[1])
			check.OK(t, err)
			way(t, status)
		})
	}
	for name := range ways {
		check.That(t, slices.Contains(seen, name), "%q is not in docs/ci.md", name)
	}
}

// bash runs a script in the place, with the real program on its PATH.
func (p *place) bash(script string, env ...string) *running {
	p.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		p.Skip(err)
	}
	cmd := exec.Command(path, "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = p.dir, append(slices.Clone(p.env), env...)
	return p.run(cmd)
}

// TestTheShellExampleRuns, and ends with the status of the run.
func TestTheShellExampleRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, givesUp())
	p.write("plan.jsonl", `{"ref":"t-00000001","title":"one"}`+"\n"+`{"ref":"t-00000002","title":"two"}`+"\n")
	script := blocks(t, "docs/ci.md", "sh")[0]
	for range 2 { // the second finds the plan imported
		p.bash(script).wait(1).inStdout("ralph task reset t-00000002")
	}
	for _, name := range []string{"junit.xml", "summary.md", "report.html"} {
		check.That(t, p.read("out/"+name) != "", "%s is empty", name)
	}
}

// recipe is a pipeline of docs/ci.md as one script of its steps, without what installs programs, and with an agent that needs no model.
func recipe(text string) string {
	type step struct {
		Run  string
		Uses string
		With struct{ Arguments string }
	}
	var hub struct {
		Jobs map[string]struct{ Steps []step }
	}
	var lab map[string]struct {
		BeforeScript []string `yaml:"before_script"`
		Script       []string
		AfterScript  []string `yaml:"after_script"`
	}
	var lines []string
	if yaml.Unmarshal([]byte(text), &hub) == nil && len(hub.Jobs) > 0 {
		for _, s := range hub.Jobs["ralph"].Steps {
			if lines = append(lines, s.Run); strings.HasPrefix(s.Uses, "OWNER/ralph@") {
				lines = append(lines, "test -e .ralph/progress.db || ralph task import plan.jsonl", "ralph run "+strings.Join(strings.Fields(s.With.Arguments), " "))
			}
		}
	} else if yaml.Unmarshal([]byte(text), &lab) == nil {
		lines = slices.Concat(lab["ralph"].BeforeScript, lab["ralph"].Script, lab["ralph"].AfterScript)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "npm ") })
	return strings.ReplaceAll(strings.Join(lines, "\n"), " --agent claude", "")
}

// TestTheSecondJobOfARecipeHasTheWorkOfTheFirst plays the pipelines of docs/ci.md twice, each time in a fresh clone with the cached database.
func TestTheSecondJobOfARecipeHasTheWorkOfTheFirst(t *testing.T) {
	t.Parallel()
	all := blocks(t, "docs/ci.md", "yaml")
	check.Equal(t, "recipes", 3, len(all))
	for i, text := range all {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fakeagent.Script{})
			p.write("plan.jsonl", `{"ref":"t-00000001","title":"one","description":"`+"```sh\\necho one > one.txt\\n```"+`"}`+"\n")
			p.write("gitconfig", "[user]\nname = a\nemail = a@example.com\n[init]\ndefaultBranch = main\n")
			p.write("work.toml", "[agent]\nuse = \"shell\"\n")
			env := []string{"GIT_CONFIG_GLOBAL=" + p.dir + "/gitconfig", "RUNNER_TEMP=" + p.dir, "GITHUB_RUN_ID=1", "CI=true"}
			p.bash(`git init -q first && cd first && cp ../plan.jsonl . && cp ../work.toml .ralph.toml && printf '/.ralph/\n/out/\n' > .gitignore &&
				git add -A && git commit -qm base && git clone -q --bare . ../origin.git && mkdir -p ../cache`, env...).wait(0)
			var second printed
			for _, job := range []string{"one", "two"} {
				second = p.bash("git clone -q origin.git "+job+" && cd "+job+" && export CI_PROJECT_DIR=$PWD && mkdir -p .ralph && cp -r ../cache/. .ralph\n"+
					recipe(text)+"\nls one.txt\nfor name in progress.db progress.db-wal runs objects; do test ! -e .ralph/$name || cp -r .ralph/$name ../cache; done", env...).wait(0)
			}
			check.That(t, !strings.Contains(second.stderr, "done, and not"), "the second job lacks the work: %s", second.stderr)
		})
	}
}

// TestTheActionRuns plays the steps of action.yml that run ralph and report it.
func TestTheActionRuns(t *testing.T) {
	t.Parallel()
	var action struct {
		Runs struct {
			Steps []struct{ ID, Name, Run string }
		}
	}
	check.OK(t, yaml.Unmarshal([]byte(repoFile(t, "action.yml")), &action))
	script, afterwards := "", ""
	for _, s := range action.Runs.Steps {
		switch {
		case s.ID == "run":
			script = s.Run
		case s.Name == "Report":
			afterwards = s.Run
		}
	}
	play := func(p *place, env ...string) *running {
		check.OK(t, os.MkdirAll(filepath.Join(p.dir, "temp/ralph-report"), 0o700))
		return p.bash(script, append([]string{
			"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + p.dir + "/step.md", "GITHUB_OUTPUT=" + p.dir + "/output", "RUNNER_TEMP=" + p.dir + "/temp",
			"TARGET=", "AGENT=", "ARGUMENTS=",
		}, env...)...)
	}
	t.Run("with everything given", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, givesUp())
		p.plan("one", "two")
		out := play(p, "TARGET=t-00000002", "AGENT=fake", "ARGUMENTS=--limit=5\n--max-cost\n2.5\n").wait(1)
		p.holds("output", "status=1\n")
		p.holds("step.md", "t-00000002")
		p.holds("temp/ralph-report/junit.xml", `failures="1"`)
		for _, want := range []string{"\n::group::", "\n::endgroup::", "\n::error title=ralph%3A failed%3A two::"} {
			if strings.Count(out.stderr, want) != 1 {
				t.Errorf("got %s, want one %q", out.stderr, want)
			}
		}
	})
	t.Run("the report that is uploaded needs no other file", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, say(step{Do: "say", Text: "I looked everywhere.\n<task-failed>t-00000001</task-failed>\n"}))
		p.plan("one")
		play(p).wait(1)
		p.bash(afterwards, "RUNNER_TEMP="+p.dir+"/temp").wait(0)
		page := p.read("temp/ralph-report/report.html")
		check.That(t, strings.Contains(page, "I looked everywhere."), "it does not have what the agent said")
		links := regexp.MustCompile(`(?i)\b(?:href|src|action)=["']?([^"'\s>]*)`).FindAllStringSubmatch(page, -1)
		check.That(t, len(links) > 0, "it has no link: the test is blind")
		for _, m := range links {
			check.That(t, strings.HasPrefix(m[1], "#"), "it leads to %s", m[1])
		}
	})
	t.Run("with nothing given", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, fakeagent.Script{})
		p.plan("one")
		play(p).wait(0)
		p.holds("output", "status=0\n")
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, waits())
		p.plan("one")
		r := play(p)
		p.awaitMark("at work")
		r.signal(syscall.SIGINT)
		r.wait(143)
		p.holds("output", "status=143\n")
		p.holds("temp/ralph-report/summary.md", "ralph: interrupted")
	})
}
