package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"unicode"
	"unicode/utf8"

	"ralph/internal/event"
	"ralph/internal/human"
)

// JSON writes every event as one line of JSON, each in one call of Write. What
// would act on a terminal is escaped, so that a file may be looked at with cat.
type JSON struct {
	mu   sync.Mutex
	out  io.Writer
	buf  bytes.Buffer
	torn bool  // the last line was written in part
	lost int   // lines that could not be written
	err  error // the first that writing gave
}

// NewJSON returns a sink for events.jsonl and for --events. It does not close w.
func NewJSON(w io.Writer) *JSON { return &JSON{out: w} }

// Event writes a line. An error is kept for Close: a full disk must not end a run,
// and it may have space again for the next line.
func (j *JSON) Event(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buf.Reset()
	if j.torn {
		// Only one line is damaged if the next one starts a new line.
		j.buf.WriteByte('\n')
	}
	enc := json.NewEncoder(&j.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		j.fail(err)
		return
	}
	line := escape(j.buf.Bytes())
	n, err := j.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		j.fail(err)
	}
	if n > 0 {
		j.torn = n < len(line)
	}
}

// Close returns the first error that writing gave, once.
func (j *JSON) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		return nil
	}
	err := fmt.Errorf("write events, %s lost: %w", human.Count(j.lost, "line"), j.err)
	j.err, j.lost = nil, 0
	return err
}

func (j *JSON) fail(err error) {
	j.lost++
	if j.err == nil {
		j.err = err
	}
}

// escape replaces the control characters that JSON allows in a string, and those
// that reorder text. Outside of strings there are none.
func escape(line []byte) []byte {
	if !bytes.ContainsFunc(line, acts) {
		return line
	}
	var b bytes.Buffer
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if acts(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.Write(line[:n])
		}
		line = line[n:]
	}
	return b.Bytes()
}

func acts(r rune) bool {
	if r < 0x7f {
		return false // the encoder has seen to those
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xfeff
}

// RunFile writes events.jsonl in the folder of a run, whose name the first event says.
type RunFile struct {
	folder string
	file   *os.File
	json   *JSON
	err    error
}

// NewRunFile returns a sink for a run whose folder will be below this one.
func NewRunFile(folder string) *RunFile { return &RunFile{folder: folder} }

// Event writes a line. An error is kept for Close.
func (r *RunFile) Event(e event.Event) {
	if r.json == nil && r.err == nil {
		r.open(e.Run)
	}
	if r.json != nil {
		r.json.Event(e)
	}
}

func (r *RunFile) open(run string) {
	dir := filepath.Join(r.folder, run)
	if r.err = os.MkdirAll(dir, 0o700); r.err != nil {
		return
	}
	if r.file, r.err = os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); r.err == nil {
		r.json = NewJSON(r.file)
	}
}

// Close returns what went wrong first.
func (r *RunFile) Close() error {
	if r.json == nil {
		return r.err
	}
	return errors.Join(r.json.Close(), r.file.Close())
}
