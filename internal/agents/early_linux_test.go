package agents

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/mcp"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/redact"
	"ralph/internal/sandbox"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// beEnv makes the test binary be a fake agent.
const beEnv = "RALPH_TEST_BE_AGENT"

func TestMain(m *testing.M) {
	proc.RunHelper(sandbox.Confine)
	if os.Getenv(beEnv) != "" {
		fakeagent.Main()
		return
	}
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// desk is an opener whose agent runs a line of the shell before it plays its script.
type desk struct {
	*Opener
	t            *testing.T
	home, ledger string
}

// newDesk makes one for a worker in the best sandbox.
func newDesk(t *testing.T, line string) *desk {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	d := &desk{t: t, home: home, ledger: filepath.Join(home, "ledger")}
	check.OK(t, errors.Join(os.Mkdir(d.ledger, 0o700), os.Mkdir(filepath.Join(home, "project"), 0o700), os.Mkdir(filepath.Join(home, ".claude"), 0o700)))
	root, environ := filepath.Join(home, "project"), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	confiner, err := sandbox.New(sandbox.Options{
		Mode: "auto", Project: project.Project{Root: root}, Environ: environ, Most: sandbox.Namespaces, Write: []string{d.ledger},
	})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, confiner.Close()) })
	if level := confiner.Verification.Level; level != sandbox.Namespaces {
		t.Skipf("SKIPPED: verifiers get %s here, and no overlay", level)
	}
	exe, err := os.Executable()
	check.OK(t, err)
	agent := filepath.Join(root, "agent.sh")
	check.OK(t, os.WriteFile(agent, []byte(line+"\nexec "+exe+"\n"), 0o600))
	d.Opener = &Opener{Sandbox: confiner, Dir: root, Settings: Settings{
		Finder: Finder{Environ: environ}, Client: acp.Client{Now: time.Now}, Prestart: true,
		Chosen: Agent{Preset: Preset{Name: "fake", Command: []string{"sh"}, Unknown: true, Prestart: true, Set: []Variable{
			{Name: beEnv, Value: "1"}, {Name: fakeagent.LedgerEnv, Value: d.ledger}, {Name: "GORACE", Value: "atexit_sleep_ms=0"},
		}}, Argv: []string{"sh", agent}},
	}}
	t.Cleanup(d.Close)
	return d
}

func (d *desk) request() SessionSpec {
	return SessionSpec{
		Run: RunRef{ID: "r-1", Owner: "r-1/x"}, Task: dag.Task{ID: "t-00000001"}, Conversation: acp.Conversation{Folder: d.t.TempDir()},
	}
}

// open opens a session, closes it, and reports whether its agent had been started early.
func (d *desk) open(r SessionSpec) (early bool) {
	d.t.Helper()
	var pids []int
	r.Started = func(_ string, id proc.Identity) error { pids = append(pids, id.Pid); return nil }
	s, err := d.Open(d.t.Context(), r)
	check.OK(d.t, err)
	_, err = s.Prompt(d.t.Context(), "Assigned Task: t-00000001")
	check.OK(d.t, errors.Join(err, s.Close()))
	transcript, err := os.ReadFile(filepath.Join(r.Folder, "transcript.jsonl"))
	check.OK(d.t, err)
	check.Equal(d.t, "beginnings in the transcript", 1, strings.Count(string(transcript), `"initialize"`))
	check.That(d.t, len(pids) > 0 && pids[0] > 0, "no process is on record")
	entries, err := fakeagent.ReadLedger(d.ledger)
	check.OK(d.t, err)
	at := slices.IndexFunc(entries, func(e fakeagent.Entry) bool { return e.Event == "prompted" })
	who := slices.IndexFunc(entries, func(e fakeagent.Entry) bool { return e.Event == "started" && e.Process == entries[at].Process })
	check.Equal(d.t, "run", "r-1", entries[who].Env["RALPH_RUN"])
	_, told := entries[who].Env["RALPH_TASK"]
	return !told
}

// TestAnAgentStartedEarlyIsTakenOnlyIfNothingChanged: what changes is all that it was
// started with.
func TestAnAgentStartedEarlyIsTakenOnlyIfNothingChanged(t *testing.T) {
	t.Parallel()
	write := func(d *desk, name string) {
		check.OK(d.t, os.WriteFile(filepath.Join(d.home, name), []byte("{}"), 0o600))
	}
	for name, tt := range map[string]struct {
		change func(*desk, *SessionSpec)
		early  bool
	}{
		"nothing":                  {func(*desk, *SessionSpec) {}, true},
		"data of the agent's own":  {func(d *desk, _ *SessionSpec) { write(d, ".claude/history.db") }, true},
		"a credential":             {func(d *desk, _ *SessionSpec) { write(d, ".claude/.credentials.json") }, false},
		"a variable":               {func(d *desk, _ *SessionSpec) { d.Environ = append(d.Environ, "LANG=C") }, false},
		"a setting in the project": {func(d *desk, _ *SessionSpec) { write(d, "project/opencode.json") }, false},
		"another command":          {func(d *desk, _ *SessionSpec) { d.Chosen.Argv = append(d.Chosen.Argv, "--more") }, false},
		"another role":             {func(_ *desk, r *SessionSpec) { r.Verifier = !r.Verifier }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "")
			r := d.request()
			d.Warm(d.request())
			<-d.spare.ready
			tt.change(d, &r)
			check.Equal(t, "started early", tt.early, d.open(r))
		})
	}
}

// TestAnAgentStartedEarlyGetsTools: those of its task, which is known only when it is taken.
func TestAnAgentStartedEarlyGetsTools(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	d.Redact, d.Self, d.ToolFolders = &redact.Redactor{}, "/bin/true", []string{d.ledger}
	d.Warm(d.request())
	<-d.spare.ready
	r := d.request()
	r.Tools = mcp.New(mcp.Options{Now: time.Now})
	check.Equal(t, "started early", true, d.open(r))
	entries, err := fakeagent.ReadLedger(d.ledger)
	check.OK(t, err)
	given := func(e fakeagent.Entry) bool {
		return e.Event == "mark" && e.Name == "mcp" && strings.Contains(e.Text, mcp.SocketVariable)
	}
	check.That(t, slices.ContainsFunc(entries, given), "the session has no server of ralph's: %v", entries)
}

// TestAnAgentStartedEarlyHasTheTimeoutOfItsTask, which is known only when it is taken.
func TestAnAgentStartedEarlyHasTheTimeoutOfItsTask(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	hangs := fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: []fakeagent.Step{{Do: "hang"}}}}}
	d.Chosen.Set = append(d.Chosen.Set, Variable{Name: fakeagent.ScriptEnv, Value: hangs.JSON()})
	d.Warm(d.request())
	<-d.spare.ready
	early, r := d.spare.session, d.request()
	r.TurnTimeout = time.Millisecond
	s, err := d.Open(t.Context(), r)
	check.That(t, err == nil && s == early, "got another agent, %v", err)
	_, err = s.Prompt(t.Context(), "Assigned Task: t-00000001")
	check.That(t, errors.Is(err, acp.TurnTimeout), "got %v", err)
	check.OK(t, s.Close())
}

// TestAnAgentStartedEarlyMaySayMoreThanFitsIntoMemory: the folder of its beginning is gone
// by then, and that of the session holds the rest.
func TestAnAgentStartedEarlyMaySayMoreThanFitsIntoMemory(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	flood := fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: []fakeagent.Step{{Do: "flood", Kind: "line", Text: "word ", Chunk: 10_000, N: 40}}}}}
	d.Chosen.Set = append(d.Chosen.Set, Variable{Name: fakeagent.ScriptEnv, Value: flood.JSON()})
	d.Warm(d.request())
	<-d.spare.ready
	early := d.spare.session
	s, err := d.Open(t.Context(), d.request())
	check.That(t, err == nil && s == early, "got another agent, %v", err)
	turn, err := s.Prompt(t.Context(), "Assigned Task: t-00000001")
	check.OK(t, err)
	text, err := turn.Text()
	check.OK(t, errors.Join(err, s.Close()))
	check.That(t, turn.Long != nil && text == strings.Repeat("word ", 400_000), "got %d bytes", len(text))
}

// TestWhatAilsAnAgentStartedEarlyIsNobodysBusiness: another one is started.
func TestWhatAilsAnAgentStartedEarlyIsNobodysBusiness(t *testing.T) {
	t.Parallel()
	plays := func(s fakeagent.Script) string { return `export FAKEAGENT_SCRIPT='` + s.JSON() + `'` }
	says := "echo > $" + fakeagent.LedgerEnv + "/hangs"
	later := func(steps ...fakeagent.Step) string {
		return plays(fakeagent.Script{At: map[string][]fakeagent.Step{"session/new": steps}})
	}
	for name, line := range map[string]string{
		"it dies":             "exit 3",
		"it dies later":       later(fakeagent.Step{Do: "exit", Code: 3}),
		"it hangs":            "{ " + says + "; exec sleep 1000; }",
		"it hangs later":      later(fakeagent.Step{Do: "run", Argv: []string{"sh", "-c", says}}, fakeagent.Step{Do: "hang", Ignore: true}),
		"it asks for a login": plays(fakeagent.Script{AuthNeeded: "-"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `test "$RALPH_TASK" || `+line)
			hangs := filepath.Join(d.ledger, "hangs")
			check.OK(t, syscall.Mkfifo(hangs, 0o600))
			d.Warm(d.request())
			var ending sync.WaitGroup
			if waits := d.spare; strings.HasPrefix(name, "it hangs") {
				ending.Go(func() { // as the limit of a handshake would, once it hangs
					_, err := os.ReadFile(hangs)
					waits.cancel()
					if <-waits.ready; waits.session != nil {
						err = errors.Join(err, waits.session.Kill())
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			check.Equal(t, "started early", false, d.open(d.request()))
			ending.Wait()
			if name != "it hangs" { // which is cut here as one is that nobody needs
				d.Warm(d.request())
				check.That(t, d.spare == nil, "another one is started early")
			}
		})
	}
}

// TestAnAgentIsNotStartedEarly where it would be wrong, or nobody wants it.
func TestAnAgentIsNotStartedEarly(t *testing.T) {
	t.Parallel()
	for name, forbid := range map[string]func(*desk, *SessionSpec){
		"it is switched off":       func(d *desk, _ *SessionSpec) { d.Prestart = false },
		"it does not pay":          func(d *desk, _ *SessionSpec) { d.Chosen.Prestart = false },
		"it would see other files": func(d *desk, _ *SessionSpec) { d.Sandbox.Verification.Level = sandbox.Landlock },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "")
			r := d.request()
			forbid(d, &r)
			d.Warm(r)
			check.That(t, d.spare == nil, "an agent was started")
			check.Equal(t, "started early", false, d.open(d.request()))
		})
	}
}

// TestAnAgentThatNobodyNeedsIsEnded, and leaves no file.
func TestAnAgentThatNobodyNeedsIsEnded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	r := d.request()
	d.Warm(r)
	d.Warm(r) // the first one is in the way
	<-d.spare.ready
	check.That(t, d.spare.session != nil, "no agent waits")
	d.Close()
	n, err := proc.Marked("r-" + t.Name())
	check.OK(t, err)
	check.Equal(t, "processes", 0, n)
	left, err := os.ReadDir(r.Folder)
	check.OK(t, err)
	check.Equal(t, "files", 0, len(left))
}

// TestAnAgentThatMayBeStartedEarlyReadsNoModelInItsEnvironment: there is none yet.
func TestAnAgentThatMayBeStartedEarlyReadsNoModelInItsEnvironment(t *testing.T) {
	t.Parallel()
	check.Equal(t, "channels", []acp.ModelChannel{ConfigOption, SetModel}, Preset{Prestart: true}.Channels())
	check.Equal(t, "channels", []acp.ModelChannel(nil), Preset{}.Channels())
}
