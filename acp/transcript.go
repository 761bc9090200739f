package acp

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// maxTranscript bounds what one session may write to disk.
const maxTranscript = 256 << 20

// Directions in a transcript.
const (
	dirIn  = "in"  // from the agent
	dirOut = "out" // to the agent
)

// transcript writes every message as a line of JSON:
//
//	{"at":"2026-01-02T03:04:05.000000006Z","dir":"in","msg":{...}}
//
// A line that is no message is under "raw", as text. Each is one write, so that
// what was received is on disk when we are killed. A full disk costs the rest
// of the transcript, not the turn.
type transcript struct {
	now  func() time.Time
	hide redactor
	log  zerolog.Logger

	mu   sync.Mutex
	w    io.Writer // nil when there is none, or no more
	buf  []byte
	size int
}

func (t *transcript) message(dir string, msg []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.w == nil {
		return
	}
	t.begin(dir)
	t.buf = append(t.buf, `"msg":`...)
	t.buf = append(t.buf, t.hide.bytes(msg)...)
	t.end()
}

func (t *transcript) raw(dir, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.w == nil {
		return
	}
	quoted, err := json.Marshal(t.hide.text(text))
	if err != nil {
		return
	}
	t.begin(dir)
	t.buf = append(t.buf, `"raw":`...)
	t.buf = append(t.buf, quoted...)
	t.end()
}

func (t *transcript) begin(dir string) {
	t.buf = append(t.buf[:0], `{"at":"`...)
	t.buf = t.now().UTC().AppendFormat(t.buf, time.RFC3339Nano)
	t.buf = append(t.buf, `","dir":"`...)
	t.buf = append(t.buf, dir...)
	t.buf = append(t.buf, `",`...)
}

func (t *transcript) end() {
	t.buf = append(t.buf, "}\n"...)
	t.size += len(t.buf)
	_, err := t.w.Write(t.buf)
	switch {
	case err != nil:
		t.log.Warn().Err(err).Msg("transcript ends early")
		t.w = nil
	case t.size > maxTranscript:
		t.log.Warn().Int("bytes", t.size).Msg("transcript is full")
		_, _ = t.w.Write([]byte(`{"raw":"the transcript is full; the rest was not kept"}` + "\n"))
		t.w = nil
	}
	if cap(t.buf) > 1<<20 {
		t.buf = nil
	}
}
