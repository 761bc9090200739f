package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"zombiezen.com/go/sqlite"         //nolint:depguard // internal/db makes no file of an old version
	"zombiezen.com/go/sqlite/sqlitex" //nolint:depguard // as above

	"ralph/internal/cli"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
)

// failpointRalph is the program with its failpoints, built once.
var failpointRalph = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(builds, "ralph")
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build with failpoints: %w\n%s", err, out)
	}
	return bin, nil
})

// dying is the program that kills itself at a point.
func (p *place) dying(point string, args ...string) *running {
	p.Helper()
	bin, err := failpointRalph()
	check.OK(p, err)
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Env = p.dir, append(slices.Clone(p.env), "RALPH_FAILPOINT="+point)
	return p.run(cmd)
}

// worker is an agent with a family, a bill, a change and something learned. It
// waits for a file before it says a word.
func worker() fakeagent.Script {
	cost := 0.5
	verify := false
	steps := append([]step{{Do: "usage", N: 10, Cost: &cost}}, family()...)
	return fakeagent.Script{Conversations: []fakeagent.Conversation{{
		When: fakeagent.When{Verify: &verify}, Steps: append(steps,
			step{Do: "mark", Text: "waits {{task}}"},
			step{Do: "await", Path: "go-{{task}}"},
			step{Do: "file", Path: "{{task}}.txt", Text: "work"},
			step{Do: "say", Text: "<knowledge title=\"About {{task}}\" tags=\"crash\">\nIt can be mended.\n</knowledge>\n"},
			saysDone()),
	}}}
}

// crash is a place with three tasks, a gate and a repository.
func newCrash(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, worker(), "[verify]", `commands = ["echo gate >> ../gates.log"]`)
	p.env = append(p.env, "RALPH_VERIFY_ENABLED=true") // another agent verifies, too
	p.prestarts()
	p.want(0, "knowledge", "add", "Known", "--tag", "first", "-d", "It was known before.")
	p.repository()
	p.append(".git/info/exclude", "/go-*\n")
	return p
}

// planTwo plans two tasks whose agents need not wait.
func (p *place) planTwo() {
	p.Helper()
	p.plan("first", "second")
	p.write("go-t-00000001", "")
	p.write("go-t-00000002", "")
}

func notRaced(t *testing.T) {
	t.Helper()
	raced.Skip(t, "the program is killed here")
	t.Parallel()
}

// crashes is the matrix: what the agent of the first task was asked, over both
// runs, and by which phase the second run knew what to do.
var crashes = map[string]struct {
	point   string
	prompts int    // of the first task's worker
	action  string // what recovery made of it; "" if there was nothing to take back
}{
	"after choosing":                 {"after-choice", 1, ""},
	"inside the claim":               {"in-claim", 1, ""},
	"claimed, agent not started":     {"after-claim", 1, "released"},
	"agent started":                  {"agent-started", 1, "released"},
	"handshake":                      {"in-handshake", 1, "released"},
	"in the middle of a prompt":      {"in-prompt", 2, "released"},
	"answer received, not settled":   {"after-answer", 2, "released"},
	"done claimed, not verified":     {"after-done", 1, "resumed"},
	"verifying":                      {"in-gate", 1, "resumed"},
	"inside settle":                  {"in-settlement", 1, "landed"},
	"settled, knowledge not written": {"after-settlement", 1, ""},
	"knowledge file half written":    {"in-knowledge", 1, ""},
}

// TestCrashMatrix kills a run at every point. The next one finishes the work.
func TestCrashMatrix(t *testing.T) {
	notRaced(t)
	for name, tt := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newCrash(t)
			p.planTwo()
			p.dying(tt.point, "run", "--in-place").wait(-1)
			p.awaitGone()
			p.want(0, "run", "--in-place")
			p.wantMended(2, tt.prompts, tt.action)
		})
	}
}

// TestARevertOfWorkInTheFolderThatDies: what landed stays landed, its files follow, and nobody takes them for a person's change.
func TestARevertOfWorkInTheFolderThatDies(t *testing.T) {
	notRaced(t)
	p := newCrash(t)
	p.plan("first")
	p.write("go-t-00000001", "")
	p.want(0, "run", "--in-place")
	p.dying("before-folder-follows", "undo", "t-00000001").wait(-1)
	p.holds("t-00000001.txt", "work")
	p.want(0, "run", "--in-place")
	p.holds("t-00000001.txt", "work")
	subjects := strings.Split(strings.TrimSpace(p.shell("git log --format=%s refs/ralph/folder/HEAD")), "\n")
	check.Equal(t, "what landed", []string{"first", `Revert "first"`, "first"}, subjects[:3])
}

// TestLessonsAreAskedForOnce: a run is killed while it asks for lessons. The task is done without them, also if what its agent said is gone.
func TestLessonsAreAskedForOnce(t *testing.T) {
	notRaced(t)
	for name, gone := range map[string]bool{"all is there": false, "its answer is gone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedWhileLearning(t, gone)
		})
	}
}

func killedWhileLearning(t *testing.T, gone bool) {
	t.Helper()
	steps := func(prompt int, when string, list ...step) fakeagent.Conversation {
		return fakeagent.Conversation{When: fakeagent.When{Prompt: prompt, Contains: when}, Steps: list}
	}
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		steps(0, "# Ralph: lessons", step{Do: "say", Text: "<knowledge title=\"Late\" tags=\"x\">y</knowledge>\n"}),
		steps(1, "", step{Do: "file", Path: "value.txt", Text: "bad"}, saysDone()),
		steps(2, "", step{Do: "file", Path: "value.txt", Text: "good"}, saysDone()),
	}}, "[verify]", `commands = ["! grep -qs bad value.txt"]`, "[knowledge]", "extract = true")
	p.repository()
	p.plan("first")
	p.dying("in-lessons", "run", "--in-place").wait(-1)
	p.awaitGone()
	if gone {
		list, err := filepath.Glob(filepath.Join(p.dir, ".ralph/runs/*/*/finished.json"))
		check.That(t, err == nil && len(list) == 1, "got %q, %v", list, err)
		check.OK(t, os.Remove(list[0]))
	}
	p.want(0, "run", "--in-place")
	p.wantStatus("t-00000001", "done")
	asked, err := filepath.Glob(filepath.Join(p.dir, ".ralph/runs/*/*/lessons"))
	check.That(t, err == nil && len(asked) == 1, "got %q, %v; want that it was asked once", asked, err)
	check.Equal(t, "prompts of the task", 2, p.entered("prompted")["t-00000001"])
	p.want(0, "knowledge", "list").inStderr("there are no entries yet")
}

// TestASecondPanicEndsTheRunAsABug: nothing of the agent lives, the task is free, and the
// next run does it.
func TestASecondPanicEndsTheRunAsABug(t *testing.T) {
	notRaced(t)
	p := newCrash(t)
	p.plan("first")
	p.write("go-t-00000001", "")
	p.dying("after-answer:panic", "run", "--in-place").wait(cli.ExitBug).inStderr("attempt at t-00000001 panicked twice: at after-answer")
	p.awaitGone()
	p.wantStatus("t-00000001", "pending")
	p.want(0, "run", "--in-place")
}

// TestFinishedWorkOfADeadRunIsShownAsSuch: who looks sees that only the verdict is
// missing, and until a run gives it that stays so.
func TestFinishedWorkOfADeadRunIsShownAsSuch(t *testing.T) {
	notRaced(t)
	for _, point := range []string{"after-done", "in-gate"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newCrash(t)
			p.planTwo()
			p.dying(point, "run", "--in-place").wait(-1)
			p.awaitGone()
			p.want(0, "recover")
			const line = ": its work is finished and waits for verification"
			out := p.want(0, "status")
			out.inStdout("t-00000001" + line)
			check.Equal(t, "tasks that wait for verification", 1, strings.Count(out.stdout, line))
			p.want(0, "run", "--in-place")
			check.Equal(t, "tasks that wait for verification after a run", 0, strings.Count(p.want(0, "status").stdout, line))
		})
	}
}

// TestCrashMatrixBesideALiveRun has another run at work meanwhile: it is not
// disturbed, and when it has nothing else to do it recovers what the dead one left.
func TestCrashMatrixBesideALiveRun(t *testing.T) {
	notRaced(t)
	for name, tt := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newCrash(t)
			p.imports(`{"ref":"t-00000003","title":"the other's","priority":-1}` + "\n")
			live := p.atWork("waits t-00000003", "run", "--sandbox", "off")
			p.planTwo()
			p.dying(tt.point, "run", "--in-place").wait(-1)
			p.wantStatus("t-00000003", "in_progress")
			p.write("go-t-00000003", "")
			status := 0
			if tt.point == "in-gate" { // its work is about to land in the folder, and nowhere else
				status = 2
			}
			live.wait(status)
			p.want(0, "run", "--in-place")
			p.wantMended(3, tt.prompts, tt.action)
		})
	}
}

// TestCrashK0 dies between two statements of the migration, alone and with another
// process that opens the file, too.
func TestCrashK0(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"in-migration", "in-migration:7", "in-migration:20"} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, beside another: %t", point, beside), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, fakeagent.Script{})
				p.hasOldDatabase()
				if beside {
					other := p.start("status")
					dies := p.dying(point, "task", "add", "lost")
					other.wait(0)
					<-dies.ended // unless the other was faster
				} else {
					p.dying(point, "task", "add", "lost").wait(-1)
				}
				p.want(0, "doctor")
				p.plan("kept")
				p.want(0, "run", "--in-place")
			})
		}
	}
}

// hasOldDatabase gives the project a file that lacks every migration, as the first version of ralph made it.
func (p *place) hasOldDatabase() {
	p.Helper()
	check.OK(p, os.Mkdir(filepath.Join(p.dir, ".ralph"), 0o700))
	conn, err := sqlite.OpenConn(filepath.Join(p.dir, ".ralph/progress.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	check.OK(p, err)
	check.OK(p, sqlitex.ExecuteTransient(conn, "PRAGMA application_id = 0x524c5048;", nil))
	check.OK(p, conn.Close())
}

// TestCrashK13 dies while it shuts down: the task is as the phase it was in says.
func TestCrashK13(t *testing.T) {
	t.Parallel()
	for _, beside := range []bool{false, true} {
		t.Run(fmt.Sprintf("beside a live run: %t", beside), func(t *testing.T) {
			t.Parallel()
			p := newCrash(t)
			p.plan("first")
			r := p.dying("in-shutdown", "run", "--in-place")
			p.awaitMark("waits t-00000001")
			var live *running
			if beside {
				p.plan("the other's")
				live = p.start("run", "--sandbox", "off")
				p.awaitMark("waits t-00000002")
			}
			check.OK(t, r.cmd.Process.Signal(syscall.SIGTERM))
			r.wait(-1)
			p.write("go-t-00000001", "")
			p.write("go-t-00000002", "")
			tasks := 1
			if beside {
				live.wait(0)
				tasks = 2
			}
			p.want(0, "run", "--in-place")
			p.wantMended(tasks, 2, "released")
		})
	}
}

// TestCrashK14 dies while it recovers, before, inside and after a release, with one
// and with two who recover at once: that is the same as recovering once.
func TestCrashK14(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"in-recovery", "in-recovery:2", "in-recovery:3"} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, beside another: %t", point, beside), func(t *testing.T) {
				t.Parallel()
				p := newCrash(t)
				p.planTwo()
				p.dying("in-prompt", "run", "--in-place").wait(-1)
				dies := p.dying(point, "recover")
				if beside {
					p.want(0, "recover")
				}
				<-dies.ended // it may have found nothing to do
				p.want(0, "recover")
				check.Equal(t, "recover", "nothing to recover\n", p.want(0, "recover").stdout)
				p.want(0, "run", "--in-place")
				p.wantMended(2, 2, "")
			})
		}
	}
}

// TestKilledWhileTheOldTestsRun: neither they nor the copy that they ran in are left in the folder, in no repository and
// in no temporary folder, and the next run verifies the same work again.
func TestKilledWhileTheOldTestsRun(t *testing.T) {
	notRaced(t)
	for name, args := range map[string][]string{
		"in the room of the folder": {"run", "--sandbox", "off", "--in-place"},
		"in the room of a slot":     {"run", "--sandbox", "off", "--target", "main"}, // the ledger of agents is not in a slot
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, say(step{Do: "file", Path: "work.txt", Text: "work"}, step{Do: "file", Path: "a_test.sh", Text: "test -e work.txt -o -e a_test.sh\n"}, saysDone()),
				"[verify]", `commands = ["sh a_test.sh"]`)
			temp := t.TempDir()
			p.env = append(p.env, "TMPDIR="+temp, "XDG_STATE_HOME="+t.TempDir())
			p.write("a_test.sh", "test -e a_test.sh\n")
			p.repository()
			p.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
			p.plan("first")
			p.dying("in-old-tests", args...).wait(-1)
			p.awaitGone()
			if slices.Contains(args, "--target") {
				check.Equal(t, "changed files", "", p.shell("git status --porcelain"))
			} else {
				check.Equal(t, "changed files", " M a_test.sh\n?? work.txt\n", p.shell("git status --porcelain"))
				p.holds("a_test.sh", "-o -e")
			}
			p.want(0, args...)
			check.Equal(t, "prompts", 1, p.entered("prompted")["t-00000001"])
			old := 0
			for _, e := range p.events() {
				if e.Type == event.GateEnded && e.Reason == "with the old tests" && e.Gate.Passed {
					old++
				}
			}
			check.Equal(t, "runs of the old tests that ended", 1, old)
			left, err := filepath.Glob(filepath.Join(temp, "ralph-*"))
			check.That(t, err == nil && len(left) == 0, "left in the temporary folder: %v, %v", left, err)
			check.Equal(t, "what is below refs/ralph", "", p.shell("git for-each-ref refs/ralph/work refs/ralph/candidate"))
		})
	}
}

// wantMended checks all that must hold after a crash and the next run.
func (p *place) wantMended(tasks, prompts int, action string) {
	p.Helper()
	p.wantNothingLeft()
	p.wantNoOverlap()
	asked := p.entered("prompted")
	check.Equal(p, "prompts of the first task", prompts, asked["t-00000001"])
	for i := range tasks {
		id := number(i + 1)
		p.wantVerified(id)
		check.That(p, i == 0 || asked[id] == 1, "the agent of %s was prompted %d times, want once", id, asked[id])
		p.holds(".ralph/knowledge/about-"+id+".md", "It can be mended.") // written once, whole
	}
	files, err := filepath.Glob(filepath.Join(p.dir, ".ralph/knowledge/*.md"))
	check.That(p, err == nil && len(files) == tasks+1, "got %q, %v; want %d files", files, err, tasks+1)
	var known struct{ Used, Done int }
	check.OK(p, json.Unmarshal([]byte(p.want(0, "knowledge", "show", "Known", "--json").stdout), &known))
	check.That(p, known.Used == 1 && known.Done == 1, "what the prompt of the first task had was counted %d times, %d as done; want 1 and 1", known.Used, known.Done)
	got, summaries := "", 0
	for _, e := range p.events() {
		if e.Type == event.Recovered {
			got = e.Outcome
		}
		if e.Type == event.RecoveryDone {
			summaries++
		}
	}
	check.That(p, action == "" || got == action, "recovery: got %q, want %q", got, action)
	check.That(p, summaries > 0, "no run said what it recovered")
	p.want(0, "doctor")
	status := p.overview()
	check.That(p, len(status.Running)+len(status.Stale)+len(status.Runs) == 0, "still claimed: %v, stale %v, open runs %v", status.Running, status.Stale, status.Runs)
}

// TestEveryPointOfTheMatrixIsInThePageAndInTheCode compares the README of failpoints, the
// failpoints in the code, and the points that these tests use.
func TestEveryPointOfTheMatrixIsInThePageAndInTheCode(t *testing.T) {
	t.Parallel()
	inPage := points(regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|"), between(t, "internal/testing/failpoint/README.md", "\n## The crash matrix\n", "\n## "))
	var code strings.Builder
	check.OK(t, fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			var text []byte
			text, err = os.ReadFile("../../" + path)
			code.Write(text)
		}
		return err
	}))
	inCode := points(regexp.MustCompile(`failpoint\.Hit\("(.+)"\)`), code.String())
	inCode = slices.DeleteFunc(inCode, func(point string) bool { return slices.Contains(otherPoints, point) })
	check.Equal(t, "points in the README", inCode, inPage)
	var self strings.Builder
	names, err := filepath.Glob("crash_*linux_test.go")
	check.OK(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		check.OK(t, err)
		self.Write(text)
	}
	inTests := points(regexp.MustCompile(`"([a-z-]+)(?::\d+)?"`), self.String())
	unused := slices.DeleteFunc(inCode, func(point string) bool { return slices.Contains(inTests, point) })
	check.Equal(t, "points that no test uses", []string{}, unused)
}

// otherPoints are those with tests of their own: of commands of the pages, of conversations and of attempts on other machines.
var otherPoints = []string{"before-command", "after-command", "before-record", "after-record", "after-replay"}

func points(re *regexp.Regexp, text string) []string {
	var list []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
