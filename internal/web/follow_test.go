package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestAStreamResumesAtEveryPlace: whatever a reader has seen, it is told the rest, whole and once.
func TestAStreamResumesAtEveryPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Detail: dag.Detail{Title: "Write the parser"}})
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

func (s *stuck) FlushError() error { return nil }

func (s *stuck) Write([]byte) (int, error) {
	if s.writes++; s.deadline.IsZero() {
		select {} // for ever
	}
	return 0, os.ErrDeadlineExceeded
}

func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Detail: dag.Detail{Title: "Talk"}})
	s.begin()
	c := s.claim()
	s.grow(c.Attempt+"/transcript.jsonl", chunk("hello"))
	w := &stuck{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/attempts/"+c.Attempt+"/live", nil)
	r.SetPathValue("id", c.Attempt)
	s.server.serveTranscript(w, r) // returns
	check.That(t, w.writes > 0 && time.Until(w.deadline) <= writeLimit, "%d writes until %s", w.writes, w.deadline)
}
