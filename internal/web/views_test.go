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
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/internal/testing/raced"
	"ralph/journal"
	"ralph/knowledge"
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
	answer, err := s.client.Get(s.server.Link(web.URL))
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
	s.update(func(g *dag.Graph) (err error) { id, err = g.Add(n); return err })
	return id
}

func (s *site) begin() {
	s.t.Helper()
	s.update(func(g *dag.Graph) (err error) { s.run, err = g.StartRun(dag.Scope{}, dag.Process{PID: 1}); return err })
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
		c, ok, err := g.Claim(dag.ClaimOptions{Run: s.run, Lease: time.Hour, Iteration: 1})
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

func TestPagesOfAnEmptyProject(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("/graph", "There are no tasks here")
	s.page("/runs", "There was no run yet")
	s.page("/cost", "Nothing was spent yet", "No attempt has ended yet")
	s.page("/journal", "No iteration has ended yet")
	s.page("/knowledge", "There are no entries yet")
	for _, path := range []string{"/runs/last", "/runs/r-none", "/attempts/a-none", "/attempts/a-none/live", "/runs/r-none/live", "/runs/r-none/report", "/knowledge/none"} {
		status, body := s.get(path)
		check.That(t, status == http.StatusNotFound, "%s: status %d: %s", path, status, body)
	}
}

func TestARunAndItsAttemptAreShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add(dag.NewTask{Title: "Write the parser", Feature: ""})
	s.begin()
	c := s.claim()
	dir := c.Attempt + "/transcript.jsonl"
	s.grow(dir, chunk("I begin ")+chunk("with tests.\n")+
		said(`{"sessionUpdate":"agent_thought_chunk","content":{"text":"what is a token?"}}`)+
		said(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"go test","kind":"execute","status":"pending","rawInput":{"command":"go test ./..."}}`)+
		said(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"text":"ok hunter2"}},{"type":"diff","path":"parse.go"}]}`))
	s.event(event.Event{Type: event.GateEnded, Attempt: c.Attempt, Task: id, Gate: &event.Gate{Command: "make check", Exit: "status 2"}, Text: "parse.go:3: no"})
	body := s.page("/attempts/"+c.Attempt, "Write the parser", "I begin with tests.", "what is a token?", "go test", "completed", "ok ***", "parse.go", "make check", "parse.go:3: no", "ralph send")
	check.That(t, strings.Count(body, `id="tool-c1"`) == 1, "the tool call is there %d times", strings.Count(body, `id="tool-c1"`))
	check.That(t, !strings.Contains(body, "hunter2"), "a secret is shown")
	s.page("/runs", s.run.ID, "still running")
	s.page("/runs/last", "Write the parser", "make check", "/attempts/"+c.Attempt, "Stop")
	body = s.page("/runs/"+s.run.ID+"/report", "Write the parser", "<title>")
	check.That(t, !strings.Contains(body, "data-live"), "the report is a page of its own")
	s.update(func(g *dag.Graph) error {
		if err := g.Fail(c, "the gate failed"); err != nil {
			return err
		}
		return journal.Add(g.Tx(), journal.Entry{At: time.Now(), Run: s.run.ID, Attempt: c.Attempt, Iteration: 1, Task: id, Title: "Write the parser", Outcome: "failed", Notes: "Tokens are hard."})
	})
	s.update(func(g *dag.Graph) error { return g.EndRun(s.run.ID, event.OutcomeFailure, "a task failed", 1) })
	s.page("/attempts/"+c.Attempt, "failed", "the gate failed")
	s.page("/runs/last", "Continue", "run --continue "+s.run.ID)
	s.page("/journal", "Tokens are hard.")
	s.page("/journal?q=tokens", "Tokens are hard.")
	s.page("/journal?q=unheard", "No iteration matches")
	s.page("/cost?by=day", "1 failed")
	s.page("/cost?forecast=1", "carried out")
	asked := len(s.ran)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/cost?forecast=1", nil)
	check.OK(t, err)
	r.Header.Set("Ralph-State", "another")
	answer, err := s.client.Do(r)
	check.OK(t, err)
	answer.Body.Close()
	check.Equal(t, "forecasts when the page looks again", asked, len(s.ran))
	for _, page := range []string{"2", "184467440737095517", "9223372036854775807", "-1", "x"} {
		s.page("/runs?page=" + page)
	}
	s.page("/graph", "Write the parser", "✗", "/tasks/"+id)
	check.OK(t, os.RemoveAll(filepath.Join(s.root, ".ralph", "runs")))
	s.update(func(g *dag.Graph) error { return g.Pruned(s.run.ID) })
	s.server.files.end()
	s.page("/attempts/"+c.Attempt, "was removed by ralph gc")
	s.page("/runs/last", "removed by ralph gc")
}

// TestAStreamResumesAtEveryPlace: whatever a reader has seen, it is told the rest, whole and once.
func TestAStreamResumesAtEveryPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Title: "Write the parser"})
	s.begin()
	c := s.claim()
	name := c.Attempt + "/transcript.jsonl"
	var ends []int64
	var want []string
	end := int64(0)
	for i := range 60 {
		text, shows := chunk(fmt.Sprintf("w%d ", i)), fmt.Sprintf("w%d ", i)
		switch i % 5 {
		case 3:
			text, shows = said(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"tool%d","status":"completed"}`, i, i)), fmt.Sprintf("✓ tool%d  completed", i)
		case 4:
			text, shows = `{"nothing":"of interest"}`+"\n", ""
		}
		s.grow(name, text)
		end += int64(len(text))
		ends, want = append(ends, end), append(want, shows)
	}
	words := func(html string) string { return strings.Join(strings.Fields(tags.ReplaceAllString(html, "")), " ") }
	last := ends[len(ends)-2] // the last line shows nothing
	for i := -1; i < len(ends)-2; i++ {
		for _, off := range []int64{0, 1} { // a place within a line is before it
			from := off
			if i >= 0 {
				from += ends[i]
			}
			got := words(s.stream("/attempts/"+c.Attempt+"/live", from, last))
			if rest := strings.Join(strings.Fields(strings.Join(want[i+1:], " ")), " "); got != rest {
				t.Fatalf("from %d: got %q, want %q", from, got, rest)
			}
		}
	}
	body := s.page("/attempts/" + c.Attempt)
	after := regexp.MustCompile(`data-after="(\d+)"`).FindStringSubmatch(body)
	check.That(t, after[1] == strconv.FormatInt(last, 10), "the page goes on at %s, want %d", after[1], last)
	// What comes later is streamed to who waits.
	done := make(chan error, 1)
	more, got := chunk("the end"), ""
	go func() {
		var err error
		got, err = s.follow("/attempts/"+c.Attempt+"/live", last, end+int64(len(more)))
		done <- err
	}()
	s.grow(name, more[:20])
	s.grow(name, more[20:])
	check.OK(t, <-done)
	check.Equal(t, "what came later", "the end", words(got))
}

func TestReadersShareOneLookAtAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	check.OK(t, os.WriteFile(path, []byte(chunk("hello")), 0o600))
	var files followers
	begun := 0
	s := newSite(t).server
	begin := func() reader { begun++; return s.readTranscript(path, 0) }
	first := files.enter(path, begin)
	for range 200 {
		check.That(t, files.enter(path, begin) == first, "another one follows the same file")
	}
	check.That(t, begun == 1, "the file was begun %d times", begun)
	items, _, ok := first.after(0)
	check.That(t, ok && len(items) == 1, "got %d items", len(items))
	files.end()
}

func TestWhoIsTooFarBackLoadsThePageAgain(t *testing.T) {
	t.Parallel()
	f := &follower{changed: make(chan struct{})}
	n := int64(0)
	f.read = func(add func(item)) error {
		for range keptItems + 10 {
			n++
			add(item{end: n, size: 1})
		}
		return nil
	}
	f.look()
	_, _, ok := f.after(5)
	check.That(t, !ok, "what was dropped is said to be there")
	items, _, ok := f.after(10)
	check.That(t, ok && len(items) == keptItems && items[0].end == 11, "got %d items, want %d", len(items), keptItems)
}

// stuck is the connection of a reader that takes nothing: a write ends only with its deadline.
type stuck struct {
	http.ResponseWriter
	deadline time.Time
	writes   int
}

func (s *stuck) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }
func (s *stuck) FlushError() error                  { return nil }
func (s *stuck) Write([]byte) (int, error) {
	if s.writes++; s.deadline.IsZero() {
		select {} // for ever
	}
	return 0, os.ErrDeadlineExceeded
}

func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Title: "Talk"})
	s.begin()
	c := s.claim()
	s.grow(c.Attempt+"/transcript.jsonl", chunk("hello"))
	w := &stuck{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/attempts/"+c.Attempt+"/live", nil)
	r.SetPathValue("id", c.Attempt)
	s.server.serveTranscript(w, r) // returns
	check.That(t, w.writes > 0 && time.Until(w.deadline) <= writeLimit, "%d writes until %s", w.writes, w.deadline)
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	evil := `<script>alert(1)</script><img src=x onerror=alert(1)>"'` + "`" + `</pre></svg></textarea>javascript:alert(1)`
	quoted, _ := json.Marshal(evil)
	id := s.add(dag.NewTask{Title: evil})
	s.add(dag.NewTask{Title: evil, After: []string{id}})
	s.begin()
	c := s.claim()
	name, text := c.Attempt+"/transcript.jsonl", ""
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk"} {
		text += said(fmt.Sprintf(`{"sessionUpdate":%q,"content":{"text":%s}}`, kind, quoted))
	}
	text += said(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":%[1]s,"title":%[1]s,"kind":%[1]s,"status":%[1]s,"rawInput":{"command":%[1]s},"content":[{"content":{"text":%[1]s}},{"type":"diff","path":%[1]s}]}`, quoted)) +
		said(fmt.Sprintf(`{"sessionUpdate":"plan","entries":[{"content":%[1]s,"status":%[1]s}]}`, quoted)) + fmt.Sprintf(`{"dir":"in","raw":%s}`+"\n", quoted)
	s.grow(name, text)
	s.event(event.Event{Type: event.Warned, Text: evil})
	s.event(event.Event{Type: event.GateEnded, Attempt: c.Attempt, Task: id, Gate: &event.Gate{Command: evil, Exit: evil}, Text: evil})
	_, err := knowledge.Open(s.root).Write(knowledge.Entry{Title: evil, Tags: []string{"x<b>"}, Body: evil + " and more words", Kind: knowledge.Lesson, CreatedAt: time.Now()})
	check.OK(t, err)
	s.update(func(g *dag.Graph) error {
		return journal.Add(g.Tx(), journal.Entry{At: time.Now(), Run: s.run.ID, Attempt: c.Attempt, Task: id, Title: evil, Outcome: "failed", Reason: evil, Notes: evil, Agent: evil, Model: evil})
	})
	bodies := map[string]string{"stream": s.stream("/attempts/"+c.Attempt+"/live", 0, int64(len(text)))}
	for _, path := range []string{"/graph", "/graph?view=whole", "/runs", "/runs/last", "/runs/last/report", "/attempts/" + c.Attempt, "/cost", "/journal", "/knowledge", "/journal?q=" + "%3Cscript%3E"} {
		bodies[path] = s.page(path)
	}
	for path, body := range bodies {
		for _, bad := range []string{"<script>alert", "<img src=x", "href=\"javascript:", "onerror=alert(1)>", " style=\""} {
			if strings.Contains(body, bad) && (bad != ` style="` || path != "/runs/last/report") {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
}

// TestTenThousandTasksAreALightPage: the whole graph is folded to what can be drawn, and says so.
func TestTenThousandTasksAreALightPage(t *testing.T) {
	t.Parallel()
	raced.Skip(t, "how large pages are")
	s := newSite(t)
	var specs []dag.Spec
	for f := range 4 {
		for g := range 50 {
			group := fmt.Sprintf("g-%d-%d", f, g)
			specs = append(specs, dag.Spec{Ref: group, Title: fmt.Sprintf("Group %d of feature %d", g, f), Feature: fmt.Sprintf("feature-%d", f)})
			for i := range 49 {
				spec := dag.Spec{Ref: fmt.Sprintf("%s-%d", group, i), Title: fmt.Sprintf("Task %d of group %d that has quite a long title", i, g), Parent: group}
				if i > 0 {
					spec.After = []string{fmt.Sprintf("%s-%d", group, i-1)}
				}
				specs = append(specs, spec)
			}
		}
	}
	s.update(func(g *dag.Graph) error { _, err := g.Import(specs); return err })
	for path, want := range map[string]string{
		"/graph":                              "of 10000 tasks: what can run next",
		"/graph?view=whole":                   "10000 tasks in 200 boxes: groups are folded",
		"/graph?view=whole&feature=feature-1": "2500 tasks in 50 boxes",
	} {
		body := s.page(path, want)
		check.That(t, len(body) < 300_000, "%s has %d bytes", path, len(body))
		t.Logf("%s: %d bytes", path, len(body))
	}
}

func TestALongOutputIsCutWithANote(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Title: "Talk"})
	s.begin()
	c := s.claim()
	s.grow(c.Attempt+"/transcript.jsonl", chunk("before")+said(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"cat","content":[{"content":{"text":"first `+strings.Repeat("y", 10<<20)+` last"}}]}`)+chunk("after"))
	body := s.page("/attempts/"+c.Attempt, "before", "after", "first", "last", "ralph logs --full")
	check.That(t, len(body) < 100_000, "the page has %d bytes", len(body))
}

// TestEarlierPartsOfATranscriptArePagedBackTo: from the end to the beginning, every word is on some page.
func TestEarlierPartsOfATranscriptArePagedBackTo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Title: "Talk"})
	s.begin()
	c := s.claim()
	var text strings.Builder
	const n = 1500
	for i := range n {
		fmt.Fprint(&text, said(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"call %d.","status":"completed"}`, i, i)))
	}
	s.grow(c.Attempt+"/transcript.jsonl", text.String())
	path, seen := "/attempts/"+c.Attempt, map[string]int{}
	earlier := regexp.MustCompile(`href="([^"]*\?before=\d+)"`)
	for pages := 0; path != ""; pages++ {
		body := s.page(path)
		check.That(t, pages < 10 && len(body) < 300_000, "page %d of %d bytes", pages, len(body))
		for _, m := range regexp.MustCompile(`call \d+\.`).FindAllString(body, -1) {
			seen[m]++
		}
		path = ""
		if m := earlier.FindStringSubmatch(body); m != nil {
			path = m[1]
		}
	}
	for i := range n {
		check.That(t, seen[fmt.Sprintf("call %d.", i)] == 1, "call %d is on %d pages", i, seen[fmt.Sprintf("call %d.", i)])
	}
}

// TestACommandThatTakesLongIsFollowed: the browser has an answer before the command ends, sees what it prints, and then how it ended.
func TestACommandThatTakesLongIsFollowed(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{0: "✓ Done", 1: "That was refused"} {
		s := newSite(t)
		s.server.patience = 0
		printed, end := make(chan struct{}), make(chan struct{})
		s.server.opts.Command = func(ctx context.Context, c Call) int {
			fmt.Fprintln(c.Stdout, "half of it, hunter2")
			close(printed)
			<-end
			fmt.Fprintln(c.Stderr, "the rest of it")
			check.OK(t, ctx.Err())
			return status
		}
		form := s.form("arg", "merge", "sure", "yes", "text", "typed")
		form.Set("back", "/tasks?q=x")
		answer, err := s.client.PostForm(s.url+"/do", form)
		check.OK(t, err)
		answer.Body.Close()
		said := answer.Request.URL.Path
		check.That(t, strings.HasPrefix(said, "/said/") && answer.Header.Get("Refresh") != "", "the answer is %s", said)
		<-printed
		s.page(said, "At work", "half of it, ***", "ralph merge")
		close(end)
		<-s.server.works.find(strings.TrimPrefix(said, "/said/")).done
		answer, err = s.client.Get(s.url + said)
		check.OK(t, err)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		check.OK(t, err)
		check.Contains(t, "the page after it", want, string(body))
		check.Contains(t, "the page after it", "the rest of it", string(body))
		if status == 0 {
			check.Equal(t, "the page to come back to", "x", answer.Request.URL.Query().Get("q"))
		} else {
			check.Contains(t, "what was typed", `value="typed"`, string(body))
		}
	}
}

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

// TestWhoClicksRunTwiceHasOne: a second run is started only by who says so.
func TestWhoClicksRunTwiceHasOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	starts := 0
	s.server.opts.Start = func(context.Context, ...string) error { starts++; s.begin(); return nil }
	form := s.form("arg", "run")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := s.post(form); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	check.Equal(t, "runs", 1, starts)
	page, err := s.post(form)
	check.OK(t, err)
	check.Contains(t, "the page that asks", "The run "+s.run.ID+" is at work already", page)
	form.Set("sure", "yes")
	_, err = s.post(form)
	check.OK(t, err)
	check.Equal(t, "runs", 2, starts)
}

// TestAnEditReplacesOnlyWhatWasSeen: what somebody else wrote meanwhile is shown before it is replaced.
func TestAnEditReplacesOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add(dag.NewTask{Title: "Write it", Description: "By the other\nperson", Gates: []string{"if true\nthen true\nfi", "true"}})
	check.That(t, !strings.Contains(s.page("/tasks/"+id), `name="--gate[]" rows="1">if`), "a gate of several lines is edited as several gates")
	form := s.form("arg", "task", "arg", "update", "arg", id, "stdin", "Mine", "was stdin", "", "stdin-to", "--description", "--title", "Write it well", "was --title", "Write it")
	page, err := s.post(form)
	check.OK(t, err)
	for _, want := range []string{"It was changed meanwhile", "Description: By the other\nperson", ">Mine</textarea>", `name="was stdin" value="By the other`} {
		check.Contains(t, "the page", want, page)
	}
	check.Equal(t, "what was carried out", 0, len(s.ran))
	form.Set("was stdin", "By the other\r\nperson")
	_, err = s.post(form)
	check.OK(t, err)
	check.Equal(t, "what was carried out", []string{"task update " + id + " --title=Write it well --description=-"}, s.ran)
}

func TestKnowledgeIsReadAndFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := knowledge.Open(s.root).Write(knowledge.Entry{Title: "Use the staging/server", Tags: []string{"deploy"}, Body: "It resets every night.", Kind: knowledge.Lesson, CreatedAt: time.Now()})
	check.OK(t, err)
	body := s.page("/knowledge?q=staging", "Use the staging/server")
	href := regexp.MustCompile(`href="(/knowledge/[^"]+)"`).FindStringSubmatch(body)
	check.That(t, href != nil, "the entry is no link:\n%s", body)
	s.page(href[1], "It resets every night.", "#deploy", "knowledge add", "Delete")
	s.page("/knowledge?q=unheard", "No entry matches")
}
