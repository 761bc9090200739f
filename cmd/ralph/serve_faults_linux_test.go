package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/internal/inbox"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
)

// sent is a server-sent event.
type sent struct{ id, name, data string }

// events reads a stream from where its reader was, until the test, or the reader, leaves it.
func (s *serving) follow(path, last string) (events <-chan sent, leave func()) {
	s.Helper()
	ctx, leave := context.WithCancel(context.Background())
	s.Cleanup(leave)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	check.OK(s, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := s.client.Do(r)
	check.OK(s, err)
	check.Equal(s, "status of "+path, http.StatusOK, answer.StatusCode)
	list := make(chan sent, 10_000)
	go func() {
		defer close(list)
		defer answer.Body.Close()
		var e sent
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					list <- e
				}
				e = sent{}
			}
		}
	}()
	return list, leave
}

// next is the next event of a stream.
func (s *serving) next(events <-chan sent) sent {
	s.Helper()
	select {
	case e, ok := <-events:
		check.That(s, ok, "the stream has ended")
		return e
	case <-time.After(patience):
		s.Fatal("no event came")
		return sent{}
	}
}

// TestPagesFollowADatabaseThatIsReplaced moves the database away under a server, and puts another one into its place.
func TestPagesFollowADatabaseThatIsReplaced(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t, fakeagent.Script{}), newPlace(t, fakeagent.Script{})
	p.plan("Of the first plan")
	other.plan("Of the second plan")
	s := p.visited()
	check.Contains(t, "the tasks", "Of the first plan", textOf(s.page("/tasks")))
	live, _ := s.follow("/live", "")
	s.next(live)
	files := []string{"progress.db", "progress.db-wal", "progress.db-shm"}
	move := func(from, to string) {
		check.OK(t, os.MkdirAll(to, 0o700))
		for _, name := range files {
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); !errors.Is(err, os.ErrNotExist) {
				check.OK(t, err)
			}
		}
	}
	here, away := filepath.Join(p.dir, ".ralph"), filepath.Join(p.dir, "away")

	// Deleted: the page says so, and does not show a project that is empty.
	move(here, away)
	status, body := s.get("/tasks")
	said := squeezed(textOf(parsed(t, body)))
	check.That(t, status >= 400 && strings.Contains(said, "progress.db"), "without a database: %d %s", status, said)
	check.That(t, !p.has(".ralph/progress.db"), "a database was made")

	// Back again.
	move(away, here)
	check.Contains(t, "the tasks", "Of the first plan", textOf(s.page("/tasks")))

	// Another one: pages that are open hear of it.
	for range len(live) {
		<-live
	}
	move(here, away)
	move(filepath.Join(other.dir, ".ralph"), here)
	eventually(t, "an open page hears of it", func() bool {
		select {
		case e := <-live:
			return e.name == "changed"
		default:
			return false
		}
	})
	text := textOf(s.page("/tasks"))
	check.Contains(t, "the tasks", "Of the second plan", text)
	check.That(t, !strings.Contains(text, "Of the first plan"), "the first plan is still there")
	p.want(0, "task", "add", "Added by a command")
	eventually(t, "the page shows it", func() bool { return strings.Contains(textOf(s.page("/tasks")), "Added by a command") })
	s.stop()
}

// TestABrowserThatSleptMissesNothing leaves the stream of a transcript in the middle and comes back: each line is there once.
func TestABrowserThatSleptMissesNothing(t *testing.T) {
	t.Parallel()
	const lines = 300
	var steps []step
	for i := range 3 * lines {
		if i%lines == 0 && i > 0 {
			steps = append(steps, step{Do: "mark", Text: fmt.Sprint("part ", i/lines)}, step{Do: "await", Path: fmt.Sprint("go", i/lines)})
		}
		steps = append(steps, step{Do: "say", Text: fmt.Sprintf("line-%04d\n", i)})
	}
	p := newPlace(t, say(append(steps, step{Do: "mark", Text: "said all"}, step{Do: "await", Path: "end"}, saysDone())...))
	p.plan("talk")
	run := p.atWork("part 1", "run", "--in-place")
	s := p.visited()
	at := s.addressOf("/tasks/"+number(1), "/attempts/")
	seen, last := "", ""
	collect := func(events <-chan sent, until string) {
		for !strings.Contains(seen, until) {
			e := s.next(events)
			var text string
			check.OK(t, json.Unmarshal([]byte(e.data), &text))
			seen, last = seen+textOf(parsed(t, text)), e.id
		}
	}
	events, leave := s.follow(at+"/live", "")
	collect(events, fmt.Sprintf("line-%04d", lines-1))
	leave() // the night
	p.write("go1", "")
	p.awaitMark("part 2")
	events, leave = s.follow(at+"/live", last)
	collect(events, fmt.Sprintf("line-%04d", 2*lines-1))
	leave()
	s.stop() // and the server starts again meanwhile
	p.write("go2", "")
	p.awaitMark("said all")
	s = p.visited()
	events, leave = s.follow(at+"/live", last)
	collect(events, fmt.Sprintf("line-%04d", 3*lines-1))
	leave()
	for i := range 3 * lines {
		want := fmt.Sprintf("line-%04d", i)
		check.That(t, strings.Count(seen, want) == 1, "%s came %d times", want, strings.Count(seen, want))
	}
	p.write("end", "")
	run.wait(0)
	s.stop()
}

// TestAnAnswerCountsOnceOrNotAtAll kills servers while 50 answers are on their way. RALPH_SERVE_KILLS says how often.
func TestAnAnswerCountsOnceOrNotAtAll(t *testing.T) {
	raced.Skip(t, "the program is killed here")
	t.Parallel()
	const answers = 50
	kills := soakKills(t, "RALPH_SERVE_KILLS", 20)
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 2))
	p := newPlace(t, fakeagent.Script{})
	promised := map[string]string{} // what a server said that it took, by request
	for round := range kills {
		var titles []string
		var requests []inbox.Request
		for i := range answers {
			titles = append(titles, fmt.Sprintf("round %d, %d", round, i))
			requests = append(requests, inbox.Request{Kind: inbox.Question, Task: number(p.tasks + i + 1), Text: "Which colour?", Parks: true})
		}
		p.plan(titles...)
		asked, err := askAll(p.dir, requests...)
		check.OK(t, err)
		s := p.visited()
		action, fields := s.form(s.page("/tasks/"+asked[0].Task), "Answer")
		check.OK(t, err)
		var all sync.WaitGroup
		var mu sync.Mutex
		came := make(chan struct{}, answers)
		for i, q := range asked {
			filled := url.Values{}
			for name, values := range fields {
				filled[name] = values
			}
			filled["arg"], filled["stdin"] = []string{"inbox", "answer", q.ID}, []string{fmt.Sprintf("answer %d of round %d", i, round)}
			delete(filled, "text")
			all.Go(func() {
				status, body, err := s.send(action, filled)
				if err == nil && status == http.StatusOK { // otherwise the server is gone
					check.Contains(t, "the answer to "+q.ID, "answered", body)
					mu.Lock()
					promised[q.ID] = filled.Get("stdin")
					mu.Unlock()
					came <- struct{}{}
				}
			})
		}
		for range random.IntN(answers / 2) { // somewhere among them
			<-came
		}
		s.program.kill()
		all.Wait()
	}
	counted := map[string]int{}
	var audit []struct{ Action, Request string }
	p.json(&audit, "audit", "--limit", "0")
	for _, e := range audit {
		if e.Action == "inbox answer" {
			counted[e.Request]++
		}
	}
	taken := 0
	for _, q := range p.asked() {
		want := map[string]int{"open": 0, "answered": 1}[q.State]
		check.Equal(t, q.ID+" "+q.State, want, counted[q.ID])
		taken += want
		if text, ok := promised[q.ID]; ok {
			check.Equal(t, "the answer to "+q.ID, text, q.Answer)
		}
	}
	t.Logf("%d kills, %d answers sent, %d counted, %d of them confirmed", kills, kills*answers, taken, len(promised))
	p.want(0, "doctor")
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestTheServerWithstandsFloods sends too much, too little and too long, and sees that everybody else is served.
func TestTheServerWithstandsFloods(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan("One")
	s := p.visited()
	address := strings.TrimPrefix(s.base, "http://")
	var silent []net.Conn
	for range 1000 {
		conn, err := net.Dial("tcp", address)
		check.OK(t, err)
		silent = append(silent, conn)
		t.Cleanup(func() { conn.Close() })
	}
	large := func(method, path, kind string, size int64) string {
		r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, io.LimitReader(zeros{}, size))
		check.OK(t, err)
		r.ContentLength = size
		r.Header.Set("Content-Type", kind)
		answer, err := s.client.Do(r)
		if err != nil {
			return "refused" // it does not listen to the end
		}
		defer answer.Body.Close()
		if answer.StatusCode >= 400 && answer.StatusCode < 500 {
			return "refused"
		}
		return answer.Status
	}
	for what, got := range map[string]string{
		"a form of 100 MB":         large(http.MethodPost, "/do", "application/x-www-form-urlencoded", 100<<20),
		"a form of parts":          large(http.MethodPost, "/do", "multipart/form-data; boundary=x", 100<<20),
		"a webhook of 10 MB":       large(http.MethodPost, "/in/none", "application/json", 10<<20),
		"a command of 100 MB":      large(http.MethodPost, "/api/v1/commands", "application/json", 100<<20),
		"a token of 10 MB":         large(http.MethodPost, "/sign-in", "application/x-www-form-urlencoded", 10<<20),
		"an address of 200 KB":     large(http.MethodGet, "/tasks?q="+strings.Repeat("x", 200<<10), "text/plain", 0),
		"a page that does not end": large(http.MethodPut, "/tasks", "text/plain", 100<<20),
	} {
		check.Equal(t, what, "refused", got)
	}
	check.Contains(t, "the tasks meanwhile", "One", textOf(s.page("/tasks")))
	for _, conn := range silent { // the server hangs up on those who say nothing
		check.OK(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err := io.ReadAll(conn)
		check.OK(t, err)
	}
	s.stop()
}
