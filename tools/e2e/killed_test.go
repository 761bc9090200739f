package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestKilled kills agents, and runs, at every point of a turn. The next run goes on, in the same session if ralph was
// killed, and no call that has had an effect has another one that the model did not ask for.
func TestKilled(t *testing.T) {
	const effect = "echo effect >> effects.txt"
	held := func(_ *testing.T, p *place) bool { return p.server.Held() > 0 }
	for name, tt := range map[string]struct {
		rules   string // of the first run
		first   []Answer
		reached func(t *testing.T, p *place) bool
		told    string // to the model that goes on
	}{
		"while the model answers": {
			"", []Answer{always(Fault{Stall: true})}, held, "",
		},
		"before a tool": {
			"[permissions]\nask = [\"execute:echo *\"]\n[inbox]\nwait = \"1m\"\n",
			[]Answer{{Text: "Now.", Shell: effect}},
			func(t *testing.T, p *place) bool {
				return strings.Contains(p.run(t, "ralph", "inbox", "--json").stdout, "effects.txt")
			}, "",
		},
		"while a tool runs": {
			"",
			[]Answer{{Text: "Now.", Shell: effect + "; exec sleep 1000"}},
			func(t *testing.T, p *place) bool { return p.read(t, "effects.txt") == "effect\n" }, "unknown: the agent was stopped while this ran",
		},
		"after a tool": {
			"", []Answer{{Text: "Now.", Shell: effect}, always(Fault{Hang: true})}, held, "effects.txt",
		},
		"while the model answers again": {
			"", []Answer{{Text: "Now.", Shell: effect}, always(Fault{Stall: true})}, held, "effects.txt",
		},
	} {
		for victim, kill := range map[string]func(*testing.T, *place, *exec.Cmd, string){
			"the agent": func(t *testing.T, p *place, _ *exec.Cmd, task string) {
				t.Helper()
				check(t, syscall.Kill(p.agentAtWork(t, task), syscall.SIGKILL))
			},
			"ralph": func(t *testing.T, _ *place, cmd *exec.Cmd, _ string) {
				t.Helper()
				check(t, cmd.Process.Kill())
			},
		} {
			t.Run(victim+" "+name, func(t *testing.T) {
				eachOwn(t, func(t *testing.T, open func(*testing.T) *place) {
					p := open(t)
					config := p.read(t, ".ralph.toml")
					p.write(t, filepath.Join(p.dir, ".ralph.toml"), config+tt.rules)
					p.server.Play(inTurn(tt.first...))
					task := strings.TrimSpace(p.want(t, 0, "task", "add", "Have one effect").stdout)
					cmd, stdout, stderr := p.command("ralph", "run", task, "--in-place", "--once", "--json", "--idle-timeout", "2m")
					check(t, cmd.Start())
					waitFor(t, "the moment to kill it", func() bool { return tt.reached(t, p) })
					kill(t, p, cmd, task)
					_ = cmd.Wait() // its status is that of the kill, or says that there is no agent
					t.Logf("status %d\n%s%s", cmd.ProcessState.ExitCode(), stdout, stderr)
					waitFor(t, "nothing is left", func() bool { return len(p.processes(t)) == 0 })

					p.write(t, filepath.Join(p.dir, ".ralph.toml"), config)
					p.server.Play(func(pr Prompt) Answer {
						switch {
						case pr.Kind == Verify:
							return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
						case !isFile(filepath.Join(p.dir, "effects.txt")) && pr.Turn == 0:
							return Answer{Text: "Now, then.", Shell: effect}
						}
						return Answer{Text: "All is well.\n<task-done>" + pr.Task + "</task-done>\n"}
					})
					out := p.want(t, 0, "run", "-v", task, "--in-place", "--idle-timeout", "2m")
					if got := p.read(t, "effects.txt"); got != "effect\n" {
						t.Errorf("got %q, want one effect\n%s", got, out.stderr)
					}
					if victim == "ralph" { // else the attempt has ended, and the next one is a new session, as with every agent
						contains(t, out.stderr, "continues in the session of the interrupted attempt")
						contains(t, p.server.Seen()[0].Body, tt.told)
					}
					p.wantScriptPlayed(t)
				})
			})
		}
	}
}

// agentAtWork finds the process of the agent that works on a task.
func (p *place) agentAtWork(t *testing.T, task string) int {
	t.Helper()
	all := p.processes(t)
	at := slices.IndexFunc(all, func(pr process) bool {
		return len(pr.args) > 1 && pr.args[1] == "agent" && slices.Contains(pr.env, "RALPH_TASK="+task)
	})
	if at < 0 {
		t.Fatalf("no agent works on %s: %v", task, all)
	}
	return all[at].id
}

// process is one of a place.
type process struct {
	id        int
	args, env []string
}

// processes are those that have the place's home.
func (p *place) processes(t *testing.T) (list []process) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	check(t, err)
	for _, path := range found {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("HOME="+p.home+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // a process that is gone has none
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		check(t, err)
		list = append(list, process{id, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), strings.Split(string(env), "\x00")})
	}
	return list
}
