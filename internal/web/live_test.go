package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// listener reads the changes that a page is told of.
type listener struct {
	t     *testing.T
	lines *bufio.Scanner
	body  io.Closer
}

func (s *site) listen(seen string) *listener {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // what never comes has a name
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/live", nil)
	check.OK(s.t, err)
	if seen != "" {
		r.Header.Set("Last-Event-ID", seen)
	}
	answer, err := s.client.Do(r)
	check.OK(s.t, err)
	check.Equal(s.t, "type", "text/event-stream", answer.Header.Get("Content-Type"))
	return &listener{s.t, bufio.NewScanner(answer.Body), answer.Body}
}

// next waits for a change and returns its number.
func (l *listener) next() string {
	l.t.Helper()
	for l.lines.Scan() {
		if id, ok := strings.CutPrefix(l.lines.Text(), "id: "); ok {
			return id
		}
	}
	l.t.Fatalf("the stream ended: %v", l.lines.Err())
	return ""
}

// settled is the number of the change after which a task is in the list of tasks for who comes because of it.
func (s *site) settled(l *listener, title string) string {
	s.t.Helper()
	for {
		id := l.next()
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/tasks", nil)
		check.OK(s.t, err)
		r.Header.Set("Ralph-State", id)
		answer, err := s.client.Do(r)
		check.OK(s.t, err)
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		check.OK(s.t, err)
		if strings.Contains(string(page), title) {
			return id
		}
	}
}

func (s *site) add(title string) {
	s.t.Helper()
	s.update(func(g *dag.Graph) error {
		_, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: title}})
		return err
	})
}

func TestPagesHearOfChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	l := s.listen("")
	s.add("From another shell")
	s.settled(l, "From another shell")
	s.post("arg", "task", "arg", "add", "text", "From a page")
	last := s.settled(l, "From a page")
	l.body.Close()

	// A browser that slept has missed something, and is told at once.
	s.add("While it slept")
	s.settled(s.listen(last), "While it slept")
	s.settled(s.listen("a-number-of-another-server"), "While it slept")
}

func TestADatabaseThatIsReplacedIsSeen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("nobody moves a folder there in which files are open")
	}
	s := newSite(t)
	other := newSite(t)
	other.add("In the other database")
	l := s.listen("")
	l.next()
	check.OK(t, os.CopyFS(s.root+"/.new", os.DirFS(other.root+"/.ralph")))
	check.OK(t, os.Rename(s.root+"/.ralph", s.root+"/.away"))
	check.OK(t, os.Rename(s.root+"/.new", s.root+"/.ralph")) // at once: nobody opens half of it
	s.settled(l, "In the other database")
}

func TestManyPagesOfOneAddressAreReadOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("Write it")
	before := s.opens.Load()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/tasks", nil)
			r.Header.Set("Ralph-State", "the-same")
			if answer, err := s.client.Do(r); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%v %v", answer, err)
			} else {
				answer.Body.Close()
			}
		})
	}
	all.Wait()
	check.Equal(t, "how often the project was opened", before+1, s.opens.Load())
}
