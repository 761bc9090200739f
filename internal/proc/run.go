package proc

import (
	"context"
	"errors"
	"io"
	"os"
)

// Ran is a command that has ended.
type Ran struct {
	Exit           Exit
	Stdout, Stderr []byte // their beginning
}

// Run runs a command to its end, with input on its stdin, or ends it with everything that it
// started when ctx does. It keeps so many bytes of each output, and reads and drops the rest,
// because a command that nobody listens to would wait. The error is for a command that could
// not be started or whose tree could not be killed, and the cause of a context that ended; then
// what was printed by then is returned, too.
func Run(ctx context.Context, spec Spec, input []byte, keep int) (Ran, error) {
	in, feed, err := os.Pipe()
	if err != nil {
		return Ran{}, err
	}
	stdout, stderr := newSink(keep), newSink(keep)
	spec.Stdin, spec.Stdout, spec.Stderr = in, stdout.to, stderr.to
	err = errors.Join(stdout.err, stderr.err)
	var p *Process
	if err == nil {
		p, err = Start(spec)
	}
	in.Close()
	if err != nil {
		feed.Close()
		stdout.end()
		stderr.end()
		return Ran{}, err
	}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		_, _ = feed.Write(input) // a command need not read it
		feed.Close()
	}()
	stdout.start()
	stderr.start()
	var cause error
	select {
	case <-p.Done():
	case <-ctx.Done():
		cause = context.Cause(ctx)
		_ = p.Kill() // Wait reports what survives
	}
	exit, err := p.Wait()
	<-fed
	return Ran{Exit: exit, Stdout: stdout.end(), Stderr: stderr.end()}, errors.Join(cause, err)
}

// sink is one output of a command.
type sink struct {
	from, to *os.File
	err      error
	keep     int
	said     chan []byte
}

func newSink(keep int) *sink {
	s := &sink{keep: keep}
	s.from, s.to, s.err = os.Pipe()
	return s
}

// start begins to read. Our copy of what the command writes to is closed, so that reading ends
// with the command.
func (s *sink) start() {
	s.to.Close()
	s.said = make(chan []byte, 1)
	go func() {
		kept, _ := io.ReadAll(io.LimitReader(s.from, int64(s.keep)))
		_, _ = io.Copy(io.Discard, s.from)
		s.said <- kept
	}()
}

// end returns what was kept, once nobody writes any more.
func (s *sink) end() (kept []byte) {
	if s.err != nil {
		return nil
	}
	if s.said != nil {
		kept = <-s.said
	} else {
		s.to.Close()
	}
	s.from.Close()
	return kept
}
