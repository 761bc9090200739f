package acp

import (
	"bytes"
	"io"
	"sync"
)

// maxUnsent is how much may wait for an agent that does not read. Agents ask
// thousands of things before they read the first answer.
const maxUnsent = 8 << 20

// outlet is the SDK's view of the agent's stdin. Messages wait in memory and
// are written by a goroutine of its own; only when too much waits, Write does.
type outlet struct {
	w        io.WriteCloser
	tape     *transcript
	answered func()        // a request of the agent was answered
	broken   chan struct{} // closed when the agent cannot be written to any more

	mu     sync.Mutex
	change *sync.Cond
	limit  int // of the queue
	queue  []byte
	calls  uint64 // requests of ours among what was written
	closed bool
	err    error
}

func newOutlet(w io.WriteCloser, tape *transcript, answered func()) *outlet {
	o := &outlet{w: w, tape: tape, answered: answered, broken: make(chan struct{}), limit: maxUnsent}
	o.change = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Write is called by the SDK with one whole message at a time.
func (o *outlet) Write(p []byte) (int, error) {
	msg := bytes.TrimSpace(p)
	o.tape.message(dirOut, msg)
	var m message
	lenient(msg, &m)
	answer := m.Method == ""
	o.mu.Lock()
	for len(o.queue) > 0 && len(o.queue)+len(p) > o.limit && o.err == nil {
		o.change.Wait()
	}
	err := o.err
	if err == nil {
		o.queue = append(o.queue, p...)
		if !answer && given(m.ID) {
			o.calls++
		}
		o.change.Broadcast()
	}
	o.mu.Unlock()
	// The place of a request is free only now: a peer that asks and does not
	// read must not pile up answers in front of us.
	if answer {
		o.answered()
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// sent waits until so many requests of ours are on their way, or never can be.
func (o *outlet) sent(calls uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.calls < calls && o.err == nil {
		o.change.Wait()
	}
	return o.err == nil
}

func (o *outlet) run() {
	defer close(o.broken)
	defer o.w.Close()
	var batch []byte
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.change.Wait()
		}
		if o.closed {
			o.mu.Unlock()
			return
		}
		batch, o.queue = o.queue, batch[:0]
		o.mu.Unlock()
		_, err := o.w.Write(batch)
		if cap(batch) > 1<<20 {
			batch = nil
		}
		o.mu.Lock()
		if err != nil {
			o.err, o.closed = err, true
		}
		o.change.Broadcast()
		o.mu.Unlock()
	}
}

// close closes the agent's stdin and drops what was not sent. It may be called
// more than once.
func (o *outlet) close() {
	o.mu.Lock()
	o.closed = true
	if o.err == nil {
		o.err = io.ErrClosedPipe
	}
	o.change.Broadcast()
	o.mu.Unlock()
	o.w.Close() // a write that waits for the agent returns
}
