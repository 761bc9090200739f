package acp

import (
	"bytes"
	"io"
	"os"

	"github.com/rs/zerolog"
)

const (
	maxStderr     = 16 << 20 // kept of one session
	stderrTail    = 8 << 10  // kept for errors
	maxStderrLine = 64 << 10 // held back for redaction
)

// stderrLog copies an agent's stderr, redacted line by line, and remembers its
// end. It reads to the end whatever happens: an agent must not block on it.
type stderrLog struct {
	r    *os.File
	w    io.Writer // nil when there is none, or no more
	hide redactor
	log  zerolog.Logger
	tail *ring
	size int
	done chan struct{}
}

func copyStderr(r *os.File, w io.Writer, hide redactor, log zerolog.Logger) *stderrLog {
	s := &stderrLog{r: r, w: w, hide: hide, log: log, tail: newRing(stderrTail), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *stderrLog) run() {
	defer close(s.done)
	defer s.r.Close()
	var held []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := s.r.Read(buf)
		held = append(held, buf[:n]...)
		end := bytes.LastIndexByte(held, '\n') + 1
		if end == 0 && len(held) > maxStderrLine+s.hide.longest() {
			end = len(held) - s.hide.longest() // a secret may just be coming in
		}
		if err != nil {
			end = len(held)
		}
		s.keep(held[:end])
		held = held[:copy(held, held[end:])]
		if err != nil {
			return
		}
	}
}

func (s *stderrLog) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	p = s.hide.bytes(p)
	s.tail.add(p)
	if s.w == nil {
		return
	}
	if s.size += len(p); s.size > maxStderr {
		p = []byte("\nralph: the rest of stderr was not kept\n")
	}
	if _, err := s.w.Write(p); err != nil {
		s.log.Warn().Err(err).Msg("stderr log ends early")
		s.w = nil
	}
	if s.size > maxStderr {
		s.w = nil
	}
}

// last is the end of what was written so far.
func (s *stderrLog) last() string {
	text, _ := s.tail.text()
	return text
}
