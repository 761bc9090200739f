package doctor_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/db"
	"ralph/internal/doctor"
	"ralph/internal/gc"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/loop/recovery"
)

// patient is a project on real files, whose runs are of processes with that life.
type patient struct {
	*testing.T
	doctor.Project
	db   *db.DB
	life dag.Life
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func newPatient(t *testing.T) *patient {
	t.Helper()
	at, _, err := project.Create(t.TempDir(), project.Found{})
	check.OK(t, err)
	emptydb.Write(t, at.DB())
	d, err := dag.Open(t.Context(), at.DB(), db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	now := func() time.Time { return noon }
	store := dag.New(d, dag.Options{Now: now})
	p := &patient{T: t, db: d, life: dag.Alive}
	life := func(dag.Process) dag.Life { return p.life }
	p.Project = doctor.Project{
		Project: at, Store: store,
		Recoverer: recovery.Recoverer{Store: store, Life: life, Now: now, Dir: at.Root},
		Collector: gc.Collector{Project: at, DB: d, Store: store, Life: life, Now: now},
		Hint:      func(err error) string { return "hint: " + err.Error() },
		Restore:   func(saved string) string { return "restore " + filepath.Base(saved) },
	}
	return p
}

func (p *patient) update(do func(*dag.Graph) error) {
	p.Helper()
	check.OK(p, p.Store.Update(p.Context(), do))
}

func (p *patient) write(name, text string) {
	p.Helper()
	path := filepath.Join(p.Root, name)
	check.OK(p, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func (p *patient) git(args ...string) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git", append([]string{"-C", p.Root, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// claim has a run begin a task, if there is one.
func (p *patient) claim() (c dag.Claim) {
	p.Helper()
	p.update(func(g *dag.Graph) error {
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, BootID: "boot"})
		if err == nil {
			c, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour})
		}
		return err
	})
	return c
}

// add plans a task.
func (p *patient) add(title string) {
	p.Helper()
	p.update(func(g *dag.Graph) error {
		_, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: title}})
		return err
	})
}

// find wants a finding of a check with that level and parts of what it says: its text, its details and what to do.
func find(t *testing.T, found []doctor.Finding, name string, level doctor.Level, parts ...string) {
	t.Helper()
	for _, f := range found {
		if f.Check != name {
			continue
		}
		all := f.Text + "\n" + strings.Join(f.Found, "\n")
		if f.Fix != nil {
			all += "\n" + *f.Fix
		}
		check.Equal(t, "level of "+all, level, f.Level)
		check.Equal(t, "ok", level != doctor.Problem, f.OK)
		for _, part := range parts {
			check.Contains(t, name, part, all)
		}
		return
	}
	t.Errorf("nothing is said of %s: %+v", name, found)
}

func TestASoundProject(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.add("one")
	p.claim()
	found := p.State(t.Context())
	find(t, found, "database", doctor.OK, "1 task, ")
	find(t, found, "derived columns", doctor.OK)
	find(t, found, "dead runs", doctor.OK, "nothing is left")
	find(t, p.Leftovers(t.Context()), "leftovers", doctor.OK, "none")
	disk := p.Disk(t.Context())
	find(t, disk, "disk", disk[0].Level) // how full this machine is
	find(t, doctor.Processes(t.Context()), "processes", doctor.OK)
	check.Equal(t, "work that landed", 0, len(p.Landed(t.Context())))
}

func TestDerivedColumnsThatDisagreeAreNamed(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.add("one")
	p.update(func(g *dag.Graph) error { return g.Tx().Exec("UPDATE tasks SET open_deps = 3;") })
	find(t, p.State(t.Context()), "derived columns", doctor.Problem, "open_deps is 3 and should be 0", "ralph doctor --fix")
}

func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"database", "derived columns", "dead runs"} {
		find(t, p.State(ctx), name, doctor.Problem, "cannot be read", "hint: ")
	}
	p.Store, p.Opened = nil, errors.New("it is locked")
	find(t, p.State(t.Context()), "database", doctor.Problem, "it is locked", "hint: it is locked")
	check.Equal(t, "findings without a database", 1, len(p.State(t.Context())))
	check.Equal(t, "work that landed", 0, len(p.Landed(t.Context())))
}

func TestWhatDeadRunsLeft(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.life = dag.Dead
	p.claim() // there was nothing to do
	find(t, p.State(t.Context()), "dead runs", doctor.Warning, "the record of a run is open", "ralph recover")
	p.add("one")
	c := p.claim()
	find(t, p.State(t.Context()), "dead runs", doctor.Problem, c.Task.ID+": claimed by run r-", "ralph recover")
	p.Recoverer.Count = func(string) (int, error) { return 1, nil }
	find(t, p.State(t.Context()), "dead runs", doctor.Problem, "2 processes of dead runs still there")
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		leave func(*patient)
		want  []string
	}{
		"a saved database": {func(p *patient) { p.write("ralph-rescued-1.db", "old") }, []string{"saved in ralph-rescued-1.db", "restore ralph-rescued-1.db"}},
		"a temporary file": {func(p *patient) {
			p.write(".ralph-report-1", "half")
			yesterday := noon.AddDate(0, 0, -1)
			check.OK(p, os.Chtimes(filepath.Join(p.Root, ".ralph-report-1"), yesterday, yesterday))
		}, []string{"1 temporary file", ".ralph-report-1", "ralph gc"}},
		"planning of a feature": {func(p *patient) {
			check.OK(p, os.MkdirAll(filepath.Join(p.Staging(), "login", "spec"), 0o700))
		}, []string{"planning of feature login was started and not finished: spec", "ralph feature create login"}},
		"planning of tasks": {func(p *patient) {
			check.OK(p, os.MkdirAll(filepath.Join(p.Staging(), ".tasks", "tasks"), 0o700))
		}, []string{"planning of tasks was started", "ralph task create"}},
		"a stash": {func(p *patient) {
			p.git("init", "-q")
			p.write("a.txt", "1")
			p.git("add", "-A")
			p.git("commit", "-qm", "all")
			p.write("a.txt", "2")
			p.git("stash", "push", "-qm", "ralph: what was here")
		}, []string{"ralph: what was here", "git stash pop"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			tc.leave(p)
			find(t, p.Leftovers(t.Context()), "leftovers", doctor.Warning, tc.want...)
		})
	}
}

func TestGit(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	find(t, p.Git(t.Context()), "git", doctor.OK, "the project is in no repository")
	p.git("init", "-q", "-b", "main")
	find(t, p.Git(t.Context()), "git", doctor.OK, "without a commit yet")
	p.git("commit", "-q", "--allow-empty", "-m", "first")
	find(t, p.Git(t.Context()), "git", doctor.OK, "a repository on main")
	p.write(".git/index.lock", "")
	check.Equal(t, "findings with a lock", 2, len(p.Git(t.Context())))
	check.OK(t, os.Remove(filepath.Join(p.Root, ".git", "index.lock")))
	p.write(".git/HEAD", "nothing of git")
	find(t, p.Git(t.Context()), "git", doctor.Warning, "cannot read the repository", "git status")
}

func TestPlansInGit(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.git("init", "-q", "-b", "main")
	p.write(".ralph/features/login/tasks.jsonl", "")
	p.git("add", "-f", ".ralph/features/login/tasks.jsonl")
	find(t, p.Git(t.Context()), "plans", doctor.Warning, "ralph init --git")
	p.write(".ralph/.gitignore", "*\n")
	find(t, p.Git(t.Context()), "plans", doctor.Warning, "of an older version")
}

func TestPeople(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	check.Equal(t, "findings about nothing", 0, len(p.People(project.Config{})(t.Context())))
	p.add("one")
	c := p.claim()
	p.update(func(g *dag.Graph) error {
		_, err := inbox.Ask(g, provenance.Store{}, c, inbox.Request{Kind: inbox.Question, Text: "Which?", Parks: true})
		return err
	})
	var config project.Config
	config.Permissions.Deny = []string{"execute:rm *"}
	found := p.People(config)(t.Context())
	find(t, found, "permissions", doctor.OK, "1 rule")
	find(t, found, "inbox", doctor.Warning, "1 question open", "ralph inbox")
}

// TestAgentsThatAreMissing: each is looked for once, whatever names it, and none of them is a problem.
func TestAgentsThatAreMissing(t *testing.T) {
	t.Parallel()
	var config project.Loaded
	config.Agent.Use, config.Agent.Fallback = "no-such-one", []string{"no-such-two"}
	config.Verify.Enabled, config.Verify.Agent, config.Verify.Witness = true, "no-such-three", "verifier"
	x := doctor.Agents{Finder: agents.Finder{Config: config}, Timeout: time.Minute, Hint: func(error) string { return "install it" }}
	found := x.Check(t.Context())
	check.Equal(t, "findings", 3, len(found))
	find(t, found, "agent", doctor.Warning, `"no-such-one"`, "install it")
	find(t, found, "agent.fallback", doctor.Warning, `"no-such-two"`)
	find(t, found, "verify.agent", doctor.Warning, `"no-such-three"`)
}
