package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	// maxRequests is how many requests of the agent are worked on at once. The
	// SDK starts a goroutine for each that it sees.
	maxRequests = 64
	// maxGarbage is how many lines that are no messages are kept a session.
	maxGarbage = 100
)

// intake is the SDK's view of the agent's stdout. It takes updates for itself
// and passes on requests, as long as there is a place for them, and answers.
type intake struct {
	lines  *bufio.Reader
	tape   *transcript
	update func(updateParams)
	answer func() // the call under way has its answer

	open     chan struct{} // nothing is read before it is closed
	closing  chan struct{} // the session ends; nobody waits for a place
	slots    chan struct{} // requests passed on and not yet answered
	activity atomic.Int64  // messages taken in

	rest    []byte // of a line being handed to the SDK
	garbage int

	mu       sync.Mutex
	call     uint64        // the number of our own request under way, 0 if none
	answered bool          // its answer was passed on
	returned chan struct{} // closed when the caller has it

	err  error         // why it ended; nil is the ordinary end. Valid after done.
	done chan struct{} // everything was taken in
}

// maxLine is the longest message taken; the SDK's reader ends there too, but
// says only that the peer disconnected.
const maxLine = 10<<20 - 1

var errLineTooLong = errors.New("a message is longer than 10 MiB")

func newIntake(r io.Reader, tape *transcript) *intake {
	return &intake{
		lines: bufio.NewReaderSize(r, 1<<16), tape: tape, open: make(chan struct{}), closing: make(chan struct{}),
		slots: make(chan struct{}, maxRequests), done: make(chan struct{}),
	}
}

// message is any message, as far as we look into it ourselves: most are updates.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  json.RawMessage `json:"error"`
	Params updateParams    `json:"params"`
}

const updateMethod = "session/update"

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Read is called by the SDK's one reading goroutine.
func (in *intake) Read(p []byte) (int, error) {
	<-in.open
	for len(in.rest) == 0 {
		line, err := in.next()
		pass := false
		if err == nil {
			pass, err = in.take(line)
		}
		if err != nil {
			in.end(err)
			return 0, io.EOF
		}
		if pass {
			in.rest = append(slices.Clone(line), '\n')
		}
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// next is the next line without space around it. It is valid until the following call. A
// long one has memory of its own, which the session does not keep.
func (in *intake) next() ([]byte, error) {
	line, err := in.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = slices.Clone(line) // the reader uses its own again
	}
	for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
		var more []byte
		more, err = in.lines.ReadSlice('\n')
		line = append(line, more...)
	}
	switch {
	case len(line) > maxLine:
		return nil, errLineTooLong
	case len(line) > 0:
		return bytes.TrimSpace(line), nil // an error comes again
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	}
	return nil, fmt.Errorf("read from agent: %w", err)
}

// take deals with one line and says whether the SDK is to see it. A field of another
// type than ours leaves the others intact.
func (in *intake) take(line []byte) (pass bool, err error) {
	var m message
	var wrongType *json.UnmarshalTypeError
	switch err := json.Unmarshal(line, &m); {
	case len(line) == 0:
		return false, nil
	case err != nil && !errors.As(err, &wrongType), m.Method == "" && !given(m.ID):
		in.keepGarbage(line)
		return false, nil
	}
	in.activity.Add(1)
	if m.Method == updateMethod && !given(m.ID) {
		in.tape.update(line, m.Params)
		in.update(m.Params)
		return false, nil
	}
	if m.Method == "" {
		in.tape.release()
	}
	in.tape.message(dirIn, line)
	switch {
	case m.Method == "":
		return in.takeAnswer(m)
	case given(m.ID):
		select {
		case in.slots <- struct{}{}:
			return true, nil
		case <-in.closing:
			return false, io.EOF
		}
	default: // other notifications mean nothing to us, but this one to the SDK
		return m.Method == "$/cancel_request", nil
	}
}

// takeAnswer notes that our call was answered, so that the end of the stream is
// held back until the caller has it: the SDK would lose it otherwise.
func (in *intake) takeAnswer(m message) (pass bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	id, parseErr := strconv.ParseUint(string(m.ID), 10, 64)
	if parseErr != nil || id != in.call || in.answered {
		return false, nil // nobody asked
	}
	if given(m.Error) {
		var shape struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if json.Unmarshal(m.Error, &shape) != nil {
			return false, errBadAnswer
		}
	}
	in.answered = true
	in.answer()
	return true, nil
}

func (in *intake) keepGarbage(line []byte) {
	in.garbage++
	switch {
	case in.garbage < maxGarbage:
		in.tape.raw(string(line))
	case in.garbage == maxGarbage:
		in.tape.raw("more lines that are no messages were not kept")
	}
}

func (in *intake) end(err error) {
	select {
	case <-in.done:
		return
	default:
	}
	if !errors.Is(err, io.EOF) {
		in.err = err
	}
	in.mu.Lock()
	wait := in.returned
	if in.call == 0 || !in.answered {
		wait = nil
	}
	in.mu.Unlock()
	if wait != nil {
		<-wait
	}
	close(in.done)
}

// begin announces our next request; the returned function says that its
// outcome has arrived where it was wanted.
func (in *intake) begin(call uint64) (finish func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	returned := make(chan struct{})
	in.call, in.answered, in.returned = call, false, returned
	return func() { close(returned) }
}

func (in *intake) wasAnswered() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.answered
}

// yield gives the place of a request back while it waits for something that may
// take for ever, and takes one again before it is answered.
func (in *intake) yield(wait func()) {
	<-in.slots
	wait()
	select {
	case in.slots <- struct{}{}:
	case <-in.closing:
	}
}

// answeredRequest is called when the answer to a request has been written.
func (in *intake) answeredRequest() {
	select {
	case <-in.slots:
	default:
	}
}
