package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"ralph/internal/dispatch"
	"ralph/internal/event"
	"ralph/loop/remote"
)

// RemoteWorkers are reached through the program at the other end of a connection.
type RemoteWorkers struct {
	name, build string
	conn        *dispatch.Conn[dispatch.FromRun, dispatch.ToRun]
	leave       func(error)

	mu    sync.Mutex
	waits map[string]*waiter
	over  bool // the run has ended
}

// NewRemoteWorkers are those at the other end of a connection.
func NewRemoteWorkers(name, build string, conn net.Conn, leave func(error)) *RemoteWorkers {
	return &RemoteWorkers{name: name, build: build, conn: dispatch.NewConn[dispatch.FromRun, dispatch.ToRun](conn), waits: map[string]*waiter{}, leave: leave}
}

// waiter waits for one result.
type waiter struct {
	delivered chan dispatch.Delivery // has room for one
	abandoned chan struct{}
	used      func(event.Usage) // nil until somebody wants to know
}

func newWaiter() *waiter {
	return &waiter{delivered: make(chan dispatch.Delivery, 1), abandoned: make(chan struct{})}
}

func (w *RemoteWorkers) send(m dispatch.FromRun) {
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if err := w.conn.Send(m); err != nil && !over {
		w.leave(err)
	}
}

// Begin says that a run has begun, and which of its attempts were open.
func (w *RemoteWorkers) Begin(run string, open []string) error {
	w.mu.Lock()
	for _, attempt := range open {
		w.waits[attempt] = newWaiter()
	}
	w.mu.Unlock()
	go w.receive()
	w.send(dispatch.FromRun{Run: &dispatch.Run{ID: run, Open: open}})
	return nil
}

// receive hands on what was delivered, until the other end is gone.
func (w *RemoteWorkers) receive() {
	for {
		m, err := w.conn.Receive()
		w.mu.Lock()
		over := w.over
		w.mu.Unlock()
		switch {
		case over:
			return
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = errors.New("it has closed the connection")
			}
			w.leave(err)
			return
		case m.Delivery != nil:
			w.deliver(*m.Delivery)
		case m.Progress != nil:
			w.mu.Lock()
			var used func(event.Usage)
			if wait := w.waits[m.Progress.Attempt]; wait != nil {
				used = wait.used
			}
			w.mu.Unlock()
			if used != nil {
				used(m.Progress.Usage)
			}
		}
	}
}

// deliver hands on a delivery. What nobody waits for was settled before, or was given up.
func (w *RemoteWorkers) deliver(d dispatch.Delivery) {
	w.mu.Lock()
	wait := w.waits[d.Attempt]
	w.mu.Unlock()
	if wait == nil {
		w.send(dispatch.FromRun{Settled: d.Attempt})
		return
	}
	select {
	case wait.delivered <- d:
	default: // the same again
	}
}

// Attempt has an attempt made.
func (w *RemoteWorkers) Attempt(ctx context.Context, job remote.Job, used func(event.Usage)) (got remote.Result, err error) {
	id := job.Run.Attempt
	body, err := json.Marshal(job)
	if err != nil {
		return got, err
	}
	w.mu.Lock()
	wait := w.waits[id]
	if wait == nil {
		wait = newWaiter()
		w.waits[id] = wait
	}
	wait.used = used
	w.mu.Unlock()
	w.send(dispatch.FromRun{Order: &dispatch.Order{
		Attempt: id, Task: job.Task.ID, Title: job.Task.Title, Agent: job.Agent.Name, Tags: job.Task.Tags, Build: w.build, Body: body,
	}})
	defer context.AfterFunc(ctx, func() { w.send(dispatch.FromRun{Cancel: id}) })()
	var d dispatch.Delivery
	select {
	case d = <-wait.delivered:
	case <-wait.abandoned:
		return got, remote.ErrAbandoned
	}
	if d.Vain || d.Error != "" && ctx.Err() != nil {
		return got, remote.ErrAbandoned
	}
	if d.Error != "" {
		return got, errors.New("no machine could make the attempt: " + d.Error)
	}
	if err := json.Unmarshal(d.Body, &got); err != nil {
		return got, fmt.Errorf("what was delivered makes no sense: %w", err)
	}
	return got, nil
}

// Abandon says that nobody waits for an attempt any more.
func (w *RemoteWorkers) Abandon(attempt string) {
	w.mu.Lock()
	wait := w.waits[attempt]
	delete(w.waits, attempt)
	w.mu.Unlock()
	if wait != nil {
		close(wait.abandoned)
		w.send(dispatch.FromRun{Cancel: attempt})
	}
}

// Settled says that what came of an attempt is stored.
func (w *RemoteWorkers) Settled(attempt string) {
	w.mu.Lock()
	wait := w.waits[attempt]
	delete(w.waits, attempt)
	w.mu.Unlock()
	if wait != nil && wait.used == nil { // it was ordered by an earlier process, and this one did not come to ask for it
		w.send(dispatch.FromRun{Cancel: attempt})
	}
	w.send(dispatch.FromRun{Settled: attempt})
}

// Idle says that there is nothing to do.
func (w *RemoteWorkers) Idle() { w.send(dispatch.FromRun{Idle: true}) }

// Ended says how the run has ended.
func (w *RemoteWorkers) Ended(out event.Result) {
	w.send(dispatch.FromRun{Ended: &dispatch.Outcome{Outcome: string(out.Outcome), Reason: out.Reason}})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}
