package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/event"
)

// told writes the lines of an answer. Two streams of a command may write at once.
type told struct {
	mu  sync.Mutex
	to  *json.Encoder
	err error
}

func (t *told) tell(line Told) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.to.Encode(line)
	}
	return t.err
}

// end is after the last line. A run that goes on without its reader finds nobody.
func (t *told) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = io.ErrClosedPipe
}

// toldStream is one stream of a command: text as it is, anything else as bytes.
type toldStream struct {
	*told
	line func(text string, data []byte) Told
}

func (t toldStream) Write(p []byte) (int, error) {
	if utf8.Valid(p) {
		return len(p), t.tell(t.line(string(p), nil))
	}
	return len(p), t.tell(t.line("", p))
}

// serveEvents answers with the events of a run from an offset on, or follows them as server-sent events, whose IDs are
// offsets, until the run ends.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseInt("0"+r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		s.writeRefusal(w, &Refusal{Text: "after is an offset in bytes, not " + strconv.Quote(r.URL.Query().Get("after")), Exit: exitUsage, HTTP: http.StatusBadRequest})
		return
	}
	path, over, err := s.eventsOf(r)
	var missing *dag.MissingError
	switch {
	case errors.As(err, &missing), errors.Is(err, fs.ErrNotExist):
		writeError(w, http.StatusNotFound, apiError{Error: s.opts.Redact(err.Error()), Hint: "see GET /api/v1/runs", Status: exitNotFound})
		return
	case err != nil:
		writeError(w, http.StatusInternalServerError, apiError{Error: s.opts.Redact(err.Error()), Status: exitBug})
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		w.Header().Set("Content-Type", "application/x-ndjson")
		to := &flushed{w: w}
		_, _ = s.readEvents(path, after, func(_ int64, line string) error { return wrote(io.WriteString(to, line+"\n")) }) // whoever asked may be gone
		return
	}
	if last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && last >= 0 {
		after = last
	}
	leave, ok := s.admit(w, true)
	if !ok {
		return
	}
	defer leave()
	out := newStream(w)
	ended := false // the run says so
	for beat, looks := s.opts.Now(), 1; ; looks++ {
		next, err := s.readEvents(path, after, func(at int64, line string) error {
			ended = ended || strings.Contains(line, `"`+string(event.RunEnded)+`"`)
			return out.event(strconv.FormatInt(at, 10), "event", line)
		})
		if err != nil {
			return
		}
		if next == after && over {
			_ = out.event(strconv.FormatInt(after, 10), "end", "") // the stream ends anyway
			return
		}
		if next == after && s.opts.Now().Sub(beat) > keepAlive {
			if beat = s.opts.Now(); out.comment() != nil {
				return
			}
		}
		after = next
		select {
		case <-r.Context().Done():
			return
		case <-time.After(hubLook):
		}
		if !over && (ended || looks%int(hubRefresh/hubLook) == 0) { // a run that died says nothing
			if _, over, err = s.eventsOf(r); err != nil {
				return
			}
		}
	}
}

func wrote(_ int, err error) error { return err }

// eventsOf finds the events of a run, and whether it has ended.
func (s *Server) eventsOf(r *http.Request) (path string, over bool, err error) {
	err = s.visit(r, func(v *visit) error {
		run, err := v.g.History.ResolveRun(r.PathValue("id"))
		if err != nil {
			return err
		}
		path, over = filepath.Join(v.project.Runs(), run.ID, "events.jsonl"), !run.EndedAt.IsZero() || s.opts.Life(run.Process) == dag.Dead
		_, err = os.Stat(path)
		return err
	})
	return path, over, err
}

// readEvents reads whole lines from an offset on, and returns the offset after the last.
func (s *Server) readEvents(path string, after int64, each func(int64, string) error) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return after, err
	}
	defer f.Close()
	if _, err := f.Seek(after, io.SeekStart); err != nil {
		return after, err
	}
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadString('\n')
		if err != nil { // the end, or a line that is being written
			return after, nil
		}
		after += int64(len(line))
		if err := each(after, s.opts.Redact(strings.TrimSuffix(line, "\n"))); err != nil {
			return after, err
		}
	}
}
