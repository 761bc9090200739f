package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/project"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

// site is a real project with a server, and a browser that was let in.
type site struct {
	t      *testing.T
	root   string
	store  *dag.Store
	run    dag.Run
	server *Server
	url    string
	client *http.Client
	ran    []string // commands
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, root: filepath.Join(t.TempDir(), "project")}
	check.OK(t, os.MkdirAll(filepath.Join(s.root, ".ralph"), 0o700))
	path := filepath.Join(s.root, ".ralph", "progress.db")
	emptydb.Write(t, path)
	d, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	s.store = dag.New(d, dag.Options{})
	s.server, err = New(Options{
		Name: "project", Now: time.Now, Life: func(dag.Process) dag.Life { return dag.Alive }, Warn: func(string) {},
		Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") },
		Open: func(context.Context) (*Project, error) {
			return &Project{Project: project.Project{Root: s.root}, Store: s.store, Version: d.Version, Intact: func() bool { return true }, Close: func() error { return nil }}, nil
		},
		Command: func(_ context.Context, c Call) int {
			s.ran = append(s.ran, strings.Join(c.Args, " "))
			fmt.Fprintln(c.Stdout, "carried out")
			return 0
		},
	})
	check.OK(t, err)
	s.server.patience = time.Minute
	web := httptest.NewServer(s.server.Handler())
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); s.server.files.end(); d.Close() })
	jar, err := cookiejar.New(nil)
	check.OK(t, err)
	s.url, s.client = web.URL, &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(s.client.CloseIdleConnections)
	answer, err := s.client.Get(web.URL + s.server.Link())
	check.OK(t, err)
	answer.Body.Close()
	return s
}

func (s *site) update(fn func(*dag.Graph) error) {
	s.t.Helper()
	check.OK(s.t, s.store.Update(s.t.Context(), fn))
}

func (s *site) add(n dag.NewTask) (id string) {
	s.t.Helper()
	s.update(func(g *dag.Graph) (err error) { id, err = g.Plan.Add(n); return err })
	return id
}

func (s *site) begin() {
	s.t.Helper()
	s.update(func(g *dag.Graph) (err error) {
		s.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		return err
	})
	s.event(event.Event{Type: event.RunStarted, Setup: &event.Setup{Scope: "everything", Agent: "fake"}})
}

func (s *site) event(e event.Event) {
	s.t.Helper()
	e.V, e.At, e.Run = event.Version, time.Now(), s.run.ID
	line, err := json.Marshal(e)
	check.OK(s.t, err)
	s.grow("events.jsonl", string(line)+"\n")
}

func (s *site) grow(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, ".ralph", "runs", s.run.ID, name)
	check.OK(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check.OK(s.t, err)
	_, err = f.WriteString(text)
	check.OK(s.t, err)
	check.OK(s.t, f.Close())
}

func (s *site) claim() dag.Claim {
	s.t.Helper()
	var claim dag.Claim
	s.update(func(g *dag.Graph) error {
		c, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: s.run, Lease: time.Hour, Iteration: 1})
		check.That(s.t, ok, "nothing was ready")
		claim = c
		return err
	})
	s.event(event.Event{Type: event.TaskClaimed, Attempt: claim.Attempt, Task: claim.Task.ID, Title: claim.Task.Title, Agent: "fake", Model: "small", Iteration: 1})
	return claim
}

// said is a line of a transcript.
func said(update string) string {
	return fmt.Sprintf(`{"at":"2026-01-02T03:04:05Z","dir":"in","msg":{"method":"session/update","params":{"update":%s}}}`+"\n", update)
}

func chunk(text string) string {
	quoted, _ := json.Marshal(text)
	return said(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(quoted) + `}}`)
}

func (s *site) get(path string) (int, string) {
	s.t.Helper()
	answer, err := s.client.Get(s.url + path)
	check.OK(s.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	check.OK(s.t, err)
	return answer.StatusCode, string(body)
}

func (s *site) page(path string, has ...string) string {
	s.t.Helper()
	status, body := s.get(path)
	check.That(s.t, status == http.StatusOK, "%s: status %d\n%s", path, status, body)
	for _, want := range has {
		check.That(s.t, strings.Contains(body, want), "%s has no %q:\n%s", path, want, body)
	}
	return body
}

// stream reads events of an address from a place until their IDs reach another one.
func (s *site) stream(path string, from, until int64) string {
	s.t.Helper()
	html, err := s.follow(path, from, until)
	check.OK(s.t, err)
	return html
}

func (s *site) follow(path string, from, until int64) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Last-Event-ID", strconv.FormatInt(from, 10))
	answer, err := s.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	in := bufio.NewScanner(answer.Body)
	in.Buffer(nil, 8<<20)
	var html strings.Builder
	id := int64(0)
	for in.Scan() {
		key, value, _ := strings.Cut(in.Text(), ": ")
		switch key {
		case "id":
			if id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return "", err
			}
		case "data":
			var text string
			if err := json.Unmarshal([]byte(value), &text); err != nil {
				return "", err
			}
			html.WriteString(text)
			if id >= until {
				return html.String(), nil
			}
		}
	}
	return "", fmt.Errorf("%s from %d ended at %d, before %d: %w", path, from, id, until, in.Err())
}

var tags = regexp.MustCompile(`<[^>]*>`)

func (s *site) form(fields ...string) url.Values {
	s.t.Helper()
	form := url.Values{"back": {"/tasks"}, "form": {regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(s.page("/tasks"))[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return form
}

func (s *site) post(form url.Values) (string, error) {
	answer, err := s.client.PostForm(s.url+"/do", form)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}
