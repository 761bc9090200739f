package acp

import (
	"io"
	"os"

	"github.com/rs/zerolog"

	"ralph/internal/redact"
)

const (
	maxStderr  = 16 << 20 // kept of one session
	stderrTail = 8 << 10  // kept for errors
)

// stderrLog copies an agent's stderr, redacted, and remembers its end. It reads to
// the end whatever happens: an agent must not block on it.
type stderrLog struct {
	r    *os.File
	w    io.Writer // nil when there is none, or no more
	log  zerolog.Logger
	tail *ring
	size int
	done chan struct{}
}

func copyStderr(r *os.File, w io.Writer, hide *redact.Redactor, log zerolog.Logger) *stderrLog {
	s := &stderrLog{r: r, w: w, log: log, tail: newRing(stderrTail), done: make(chan struct{})}
	go s.run(hide.Stream())
	return s
}

func (s *stderrLog) run(clean *redact.Stream) {
	defer close(s.done)
	defer s.r.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := s.r.Read(buf)
		s.keep(clean.Push(string(buf[:n])))
		if err != nil {
			s.keep(clean.Flush())
			return
		}
	}
}

func (s *stderrLog) keep(text string) {
	if text == "" {
		return
	}
	p := []byte(text)
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

func (s *stderrLog) last() string {
	text, _ := s.tail.text()
	return text
}
