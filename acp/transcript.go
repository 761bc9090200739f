package acp

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ralph/internal/redact"
)

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
// of the transcript, not the turn. Secrets are redacted, also one that came in two
// chunks of text: the end of a chunk that may begin one moves to the next chunk.
type transcript struct {
	now  func() time.Time
	hide *redact.Redactor
	log  zerolog.Logger

	mu   sync.Mutex
	w    io.Writer // nil when there is none, or no more
	buf  []byte
	size int

	texts map[string]*chunked // by kind of text
}

type chunked struct {
	clean *redact.Stream
	last  []byte // the chunk whose end is held back; nil if nothing is
}

func (t *transcript) message(dir string, msg []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(dir, msg)
}

func (t *transcript) write(dir string, msg []byte) {
	if t.w != nil {
		t.line(dir, "msg", t.hide.Bytes(msg))
	}
}

// update writes a session/update. One that is no text ends the texts before it, but
// for usage, which comes in the middle of them.
func (t *transcript) update(line []byte, p updateParams) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := chunkText(p.Update.Content)
	if text == "" || !strings.HasSuffix(p.Update.What, "_chunk") {
		if p.Update.What != "usage_update" {
			t.releaseAll()
		}
		t.write(dirIn, line)
		return
	}
	kind := p.SessionID + " " + p.Update.What
	c := t.texts[kind]
	if c == nil {
		c = &chunked{clean: t.hide.Stream()}
		if t.texts == nil {
			t.texts = map[string]*chunked{}
		}
		t.texts[kind] = c
	}
	held := c.last != nil
	clean := c.clean.Push(text)
	switch c.last = nil; {
	case clean == text && !held:
		t.write(dirIn, line)
		return
	case c.clean.Holds():
		c.last = append([]byte(nil), line...)
	}
	if clean != "" {
		t.write(dirIn, withText(line, clean))
	}
}

func (t *transcript) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseAll()
}

func (t *transcript) releaseAll() {
	for _, c := range t.texts {
		if text := c.clean.Flush(); text != "" {
			t.write(dirIn, withText(c.last, text))
		}
		c.last = nil
	}
}

// withText is a chunk that says something else. What is no chunk stays out of the
// transcript.
func withText(line []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return []byte("null")
	}
	return put(line, quoted, "params", "update", "content", "text")
}

func put(object, value json.RawMessage, path ...string) json.RawMessage {
	if len(path) == 0 {
		return value
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members == nil {
		return json.RawMessage("null")
	}
	members[path[0]] = put(members[path[0]], value, path[1:]...)
	out, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

// raw writes the beginning of a line from the agent that is no message.
func (t *transcript) raw(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text = t.hide.Text(text)
	t.log.Debug().Str("line", cut(text, 200)).Msg("agent sent a line that is no message")
	if quoted, err := json.Marshal(cut(text, 1000)); err == nil && t.w != nil {
		t.line(dirIn, "raw", quoted)
	}
}

func (t *transcript) line(dir, name string, value []byte) {
	t.buf = append(t.buf[:0], `{"at":"`...)
	t.buf = t.now().UTC().AppendFormat(t.buf, time.RFC3339Nano)
	t.buf = append(t.buf, `","dir":"`+dir+`","`+name+`":`...)
	t.buf = append(t.buf, value...)
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
