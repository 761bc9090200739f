package web_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
	"ralph/internal/web"
)

var programs string // the folder of program, once that was made

// program is the real one, made once, by the first test that needs it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ralph-web")
	if err != nil {
		return "", err
	}
	programs = dir
	path := filepath.Join(dir, "ralph")
	out, err := exec.Command("go", "build", "-o", path, "ralph/cmd/ralph").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return path, err
})

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if programs != "" {
			_ = os.RemoveAll(programs)
		}
		os.Exit(status)
	}))
}

// site is a server over a project in a folder, with a browser that was let in. Commands are carried out by the real program.
type site struct {
	t       *testing.T
	root    string
	store   *dag.Store
	server  *web.Server
	url     string
	client  *http.Client
	started [][]string
	calls   int // of commands
	stop    func()
	opens   atomic.Int64 // of the project
}

func newSite(t *testing.T, access ...web.Access) *site {
	t.Helper()
	s := &site{t: t, root: t.TempDir()}
	ralph, err := program()
	check.OK(t, err)
	state := t.TempDir()
	env := append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+state, "HOME="+state, "RALPH_RUN=", "RALPH_TASK=")
	run := func(ctx context.Context, c web.Call) int {
		s.calls++
		cmd := exec.CommandContext(ctx, ralph, append([]string{"--project=" + s.root}, c.Args...)...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.root, env, c.Stdin, c.Stdout, c.Stderr
		if err := cmd.Run(); err != nil {
			return max(cmd.ProcessState.ExitCode(), 1)
		}
		return 0
	}
	cmd := exec.Command(ralph, "init")
	cmd.Dir, cmd.Env = s.root, env
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil, "init: %s", out)
	p, err := project.Find(s.root)
	check.OK(t, err)
	open := func(ctx context.Context) (*web.Project, error) {
		s.opens.Add(1)
		config, err := project.Load("", p.Config(), func(string) string { return "" })
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(p.DB()); err != nil {
			return nil, err
		}
		d, err := db.Open(ctx, p.DB(), db.Options{})
		if err != nil {
			return nil, err
		}
		return &web.Project{Project: p, Config: config, Store: dag.New(d, dag.Options{}), Version: d.Version, Intact: d.Intact, Diff: onRecord(p), Close: d.Close}, nil
	}
	check.That(t, run(t.Context(), web.Call{Args: []string{"status"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}) == 0, "status failed")
	opened, err := open(t.Context())
	check.OK(t, err)
	t.Cleanup(func() { opened.Close() })
	s.store = opened.Store
	s.server, err = web.New(web.Options{
		Access: append(access, web.Access{})[0],
		Name:   "project", Open: open, Command: run, Life: func(dag.Process) dag.Life { return dag.Alive }, Now: time.Now,
		Hint: func(err error) string {
			if errors.Is(err, fs.ErrNotExist) {
				return "restore it from a copy"
			}
			return ""
		},
		Start:  func(_ context.Context, args ...string) error { s.started = append(s.started, args); return nil },
		Redact: func(text string) string { return strings.ReplaceAll(text, "sk-secret", "[redacted]") }, Warn: func(string) {},
	})
	check.OK(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check.OK(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-served })
	s.url, s.stop = "http://"+l.Addr().String(), stop
	jar, err := cookiejar.New(nil)
	check.OK(t, err)
	s.client = &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(s.client.CloseIdleConnections)
	answer, err := s.client.Get(s.url + s.server.Link())
	check.OK(t, err)
	answer.Body.Close()
	return s
}

func (s *site) update(fn func(*dag.Graph) error) {
	s.t.Helper()
	check.OK(s.t, s.store.Update(s.t.Context(), fn))
}

// get is a page, and its status.
func (s *site) get(path string) (string, int) {
	s.t.Helper()
	answer, err := s.client.Get(s.url + path)
	check.OK(s.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	check.OK(s.t, err)
	return string(body), answer.StatusCode
}

func (s *site) page(path string) string {
	s.t.Helper()
	body, status := s.get(path)
	check.Equal(s.t, "status of "+path, http.StatusOK, status)
	return body
}

var token = regexp.MustCompile(`name="form" value="([^"]+)"`)

// post sends a form, and returns the page that comes after it. Fields are name, value and so on.
func (s *site) post(fields ...string) (string, int) {
	s.t.Helper()
	form := url.Values{"back": {"/tasks"}}
	if m := token.FindStringSubmatch(s.page("/tasks")); m != nil {
		form.Set("form", m[1])
	}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	answer, err := s.client.PostForm(s.url+"/do", form)
	for check.OK(s.t, err); strings.HasPrefix(answer.Request.URL.Path, "/said/") && answer.StatusCode == http.StatusOK; check.OK(s.t, err) {
		answer.Body.Close()
		answer, err = s.client.Get(answer.Request.URL.String()) // as the page does by itself
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	check.OK(s.t, err)
	return string(body), answer.StatusCode
}

// task is the task with that title.
func (s *site) task(title string) (found dag.Task) {
	s.t.Helper()
	check.OK(s.t, s.store.View(s.t.Context(), func(g *dag.Graph) error {
		return g.Tasks.Each(dag.Filter{}, func(t dag.Task) error {
			if t.Title == title {
				found = t
			}
			return nil
		})
	}))
	check.That(s.t, found.ID != "", "no task is called %q", title)
	return found
}

// night is a project in which everything happens at once, with that text wherever a text can be.
func (s *site) night(text string) (ids []string) {
	s.t.Helper()
	add := func(g *dag.Graph, title string, more dag.NewTask) string {
		more.Title, more.Description = title+" "+text, "Do it. "+text
		id, err := g.Plan.Add(more)
		check.OK(s.t, err)
		ids = append(ids, id)
		return id
	}
	cost := 0.42
	s.update(func(g *dag.Graph) error {
		_, err := g.Plan.AddFeature("login")
		check.OK(s.t, err)
		group := add(g, "Sign in with a password", dag.NewTask{Feature: "login"})
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		check.OK(s.t, err)
		claim := func(title string, more dag.NewTask) dag.Claim {
			id := add(g, title, more)
			c, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: dag.Scope{Task: id}, Lease: time.Hour, Iteration: len(ids)})
			check.OK(s.t, err)
			check.That(s.t, ok, "%s was not claimed", id)
			check.OK(s.t, g.History.NoteAttempt(c.Attempt, dag.Note{
				Agent: "claude " + text, Model: "sonnet " + text, Verdict: "verdict " + text, Usage: &event.Usage{CostUSD: &cost}, Files: []string{text},
				Gates: []dag.GateRecord{{Command: "go test " + text, Verdict: "failed"}}, Session: "s",
			}))
			return c
		}
		tree := dag.NewTask{Parent: group, Detail: dag.Detail{Gates: []string{"go test ./... # " + text}, Agent: text, Model: text, Tags: []string{"core"}, Priority: 3}}
		check.OK(s.t, g.Queue.Complete(claim("Store the hash", tree), "passed"))
		check.OK(s.t, g.Queue.Fail(claim("Limit the attempts", tree), "the gate go test ./... failed "+text+"\nexit status 1\n"+text))
		claim("Send the mail", dag.NewTask{})
		ask := func(c dag.Claim, r inbox.Request) {
			_, err := inbox.Ask(g, provenance.Store{}, c, r)
			check.OK(s.t, err)
		}
		asking := claim("Choose the cipher", dag.NewTask{})
		ask(asking, inbox.Request{Kind: inbox.Question, Text: "Which cipher? " + text, Options: []string{"bcrypt", "argon2 " + text}, Default: "bcrypt", Parks: true})
		ask(asking, inbox.Request{Kind: inbox.Question, Text: "What is the limit? " + text, Parks: true})
		ask(asking, inbox.NewCredential("STRIPE_API_KEY", "to pay "+text))
		check.OK(s.t, g.Queue.Release(asking, dag.Release{Uncounted: true, Reason: text}))
		ask(claim("Migrate the data", dag.NewTask{}), inbox.Request{Kind: inbox.Permission, Text: "May I run rm -rf build? " + text})
		held := claim("Rotate the keys", dag.NewTask{})
		m, err := g.Queue.Enter(held, dag.NewMerge{Target: "main", Base: "b", Work: "w", Patch: "p"})
		check.OK(s.t, err)
		check.OK(s.t, g.Queue.Built(held, m.N, "b", "w"))
		check.OK(s.t, g.Queue.Tested(held, m.N))
		check.OK(s.t, g.Queue.Hold(held, m.N, "its work waits for review"))
		first := add(g, "Write the manual", dag.NewTask{})
		second := add(g, "Publish the manual", dag.NewTask{After: []string{first}})
		check.OK(s.t, g.Plan.Relate(first, second))
		blocked := add(g, "Buy a domain", dag.NewTask{})
		check.OK(s.t, g.Tasks.Block(blocked, "waits for the budget "+text))
		cancelled := add(g, "Support fax", dag.NewTask{})
		check.OK(s.t, g.Tasks.Cancel(cancelled, false, text))
		return nil
	})
	return ids
}

// onRecord is what attempts of a project changed, by the trees that are stored.
func onRecord(p project.Project) func(context.Context, dag.Attempt) (git.Difference, error) {
	return func(ctx context.Context, at dag.Attempt) (git.Difference, error) {
		return git.Trees{Dir: p.Root}.Compare(ctx, at.Tree, at.TreeAfter, 1<<20)
	}
}
