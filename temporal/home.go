package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ralph/internal/dispatch"
	"ralph/internal/human"
)

const (
	landWait  = 250 * time.Millisecond // for what the run orders when something is settled
	orderWait = 100 * time.Millisecond // for more orders, or a Land that takes them along
)

// home is between the workflow and the process of ralph run, which decides everything.
type home struct {
	srv   *server
	id    string // of the workflow, and the name of its queue at home
	place string // where the project is, for people and to tell homes apart
	dir   string
	ralph *ralph
	input Input
	conn  *dispatch.Conn[dispatch.ToRun, dispatch.FromRun]

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when something below changes
	run        *dispatch.Run
	orders     map[string]dispatch.Order // by attempt: not settled yet
	ordered    []string                  // the same, in order
	pending    []string                  // of them, those that the workflow was not told of yet
	cancelled  map[string]bool           // of them
	cancels    []string                  // that the workflow was not told of yet
	settled    map[string]int            // by attempt: how often the run had been idle by then
	idles      int
	sinceIdles int // how often it had been idle when the first of the pending was ordered
	completing int // calls of Land that will take what is pending along
	ended      *dispatch.Outcome
	gone       bool // the process of ralph run
}

func newHome(srv *server, id, place, dir string, r *ralph, input Input) *home {
	return &home{
		srv: srv, id: id, place: place, dir: dir, ralph: r, input: input, changed: make(chan struct{}),
		orders: map[string]dispatch.Order{}, cancelled: map[string]bool{}, settled: map[string]int{},
	}
}

// serve takes what the run says until it is gone. It starts or joins the workflow when the run has begun, as a run that is
// refused must not take anything from the home that is there.
func (h *home) serve(ctx context.Context, c net.Conn) (err error) {
	h.conn = dispatch.NewConn[dispatch.ToRun, dispatch.FromRun](c)
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	failed := make(chan error, 2)
	defer func() {
		h.update(func() { h.gone = true })
		if h.ended != nil {
			h.finish(ctx)
		}
		cancel()
		group.Wait()
	}()
	for {
		line, rerr := h.conn.Receive()
		if rerr != nil {
			select {
			case err = <-failed:
			default: // its exit status says why
			}
			return err
		}
		if line.Run == nil {
			h.take(line)
			continue
		}
		h.update(func() { h.run = line.Run })
		group.Go(func() { // it must be heard while the server is away
			if err := h.begin(ctx); err != nil {
				failed <- err
				c.Close()
				return
			}
			for _, fn := range []func(context.Context){h.prune, h.send, h.keep, h.follow} {
				group.Go(func() { fn(ctx) })
			}
			if err := h.poll(ctx); err != nil {
				failed <- err
				c.Close()
			}
		})
	}
}

// take notes what the run said.
func (h *home) take(line dispatch.FromRun) {
	h.update(func() {
		switch {
		case line.Order != nil:
			id, size := line.Order.Attempt, len(line.Order.Body)
			if _, known := h.orders[id]; known {
				return
			}
			if size > maxPayload {
				go h.refuse(id, fmt.Sprintf("its order has %d bytes, more than the Temporal server takes", size))
				return
			}
			h.orders[id], h.ordered = *line.Order, append(h.ordered, id)
			h.queue(id)
		case line.Cancel != "":
			h.cancels, h.cancelled[line.Cancel] = append(h.cancels, line.Cancel), true
		case line.Settled != "":
			same := func(id string) bool { return id == line.Settled }
			delete(h.orders, line.Settled)
			delete(h.cancelled, line.Settled)
			h.ordered, h.pending = slices.DeleteFunc(h.ordered, same), slices.DeleteFunc(h.pending, same)
			h.settled[line.Settled] = h.idles
		case line.Idle:
			h.idles++
		case line.Ended != nil:
			h.ended = line.Ended
		}
	})
}

func (h *home) queue(attempt string) {
	if len(h.pending) == 0 {
		h.sinceIdles = h.idles
	}
	h.pending = append(h.pending, attempt)
}

func (h *home) update(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
	close(h.changed)
	h.changed = make(chan struct{})
}

// until waits for a condition, which is looked at under the lock. A patience of 0 has no end.
func (h *home) until(ctx context.Context, patience time.Duration, ok func() bool) error {
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	for {
		h.mu.Lock()
		done, changed := ok(), h.changed
		h.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// batch takes pending orders, as many as fit into one value.
func (h *home) batch() (list []dispatch.Order) {
	size := 0
	for len(h.pending) > 0 {
		o, ok := h.orders[h.pending[0]]
		if size += len(o.Body) + 1<<10; len(list) > 0 && size > maxPayload/2 {
			break
		}
		if h.pending = h.pending[1:]; ok {
			list = append(list, o)
		}
	}
	return list
}

// Land is the activity that hands a delivery to the run. It returns when the run has settled it, with what the run ordered
// next, which saves a signal.
func (h *home) Land(ctx context.Context, d dispatch.Delivery) (next []dispatch.Order, err error) {
	ctx, stop := accompanied(ctx)
	defer stop()
	h.mu.Lock()
	_, known := h.settled[d.Attempt]
	h.mu.Unlock()
	again := known || activity.GetInfo(ctx).Attempt > 1
	if !known {
		if err := h.conn.Send(dispatch.ToRun{Delivery: &d}); err != nil {
			return nil, errLeaving
		}
	}
	idles, over := 0, false
	if err := h.until(ctx, 0, func() bool {
		idles, known = h.settled[d.Attempt]
		over = h.ended != nil
		if known {
			h.completing++
		}
		return known || over || h.gone
	}); err != nil || !known && !over {
		return nil, errLeaving
	}
	if !known {
		return nil, nil
	}
	_ = h.until(ctx, landWait, func() bool { return h.idles > idles || len(h.pending) > 0 || h.gone })
	h.update(func() {
		h.completing--
		if again { // what an earlier call took along may be lost
			h.requeue()
		}
		next = h.batch()
	})
	return next, nil
}

var errLeaving = temporal.NewApplicationError("the home is leaving; ralph-temporal run joins the run", "Leaving")

// requeue tells the workflow everything again.
func (h *home) requeue() {
	h.pending, h.sinceIdles = slices.Clone(h.ordered), h.idles
	for _, id := range h.ordered {
		if h.cancelled[id] && !slices.Contains(h.cancels, id) {
			h.cancels = append(h.cancels, id)
		}
	}
}

// accompanied is a context that ends when the worker stops, with heartbeats until stop.
func accompanied(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancel(ctx)
	every := max(activity.GetInfo(ctx).HeartbeatTimeout/3, 100*time.Millisecond)
	stopped := activity.GetWorkerStopChannel(ctx)
	go func() {
		for {
			select {
			case <-inner.Done():
				return
			case <-stopped:
				cancel()
			case <-time.After(every):
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return inner, cancel
}

// Command is the activity that runs a command of ralph for somebody elsewhere.
func (h *home) Command(ctx context.Context, argv []string) (Ran, error) {
	if err := allowed(argv); err != nil {
		return Ran{}, temporal.NewNonRetryableApplicationError(err.Error(), errRefused, nil)
	}
	return h.ralph.command(ctx, h.dir, argv)
}

// poll serves the queue of this home.
func (h *home) poll(ctx context.Context) error {
	return h.srv.poll(ctx, h.id, worker.Options{WorkerStopTimeout: 10 * time.Second}, func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: workflowName})
		w.RegisterActivityWithOptions(h.Land, activity.RegisterOptions{Name: activityLand})
		w.RegisterActivityWithOptions(h.Command, activity.RegisterOptions{Name: activityCommand})
	}, func() {})
}

// send takes orders and cancellations to the workflow.
func (h *home) send(ctx context.Context) {
	for {
		if h.until(ctx, 0, func() bool { return len(h.pending)+len(h.cancels) > 0 }) != nil {
			return
		}
		_ = h.until(ctx, orderWait, func() bool { return len(h.cancels) > 0 || h.completing == 0 && h.idles > h.sinceIdles })
		_ = h.until(ctx, landWait, func() bool { return len(h.cancels) > 0 || h.completing == 0 })
		var list []dispatch.Order
		var cancels []string
		h.update(func() {
			if list = h.batch(); len(h.pending) == 0 { // what is cancelled was ordered before
				cancels, h.cancels = h.cancels, nil
			}
		})
		if len(list) > 0 {
			h.signalOrders(ctx, list)
		}
		for _, id := range cancels {
			_ = retry(ctx, func(ctx context.Context) error { return h.srv.SignalWorkflow(ctx, h.id, "", signalCancel, id) })
		}
	}
}

func (h *home) signalOrders(ctx context.Context, list []dispatch.Order) {
	err := retry(ctx, func(ctx context.Context) error {
		_, err := h.srv.SignalWithStartWorkflow(ctx, h.id, signalOrders, list, h.options(), workflowName, h.input)
		return err
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	for _, o := range list { // the server will never take them
		h.refuse(o.Attempt, fmt.Sprintf("the Temporal server does not take its order: %v", err))
	}
}

func (h *home) refuse(attempt, why string) {
	_ = h.conn.Send(dispatch.ToRun{Delivery: &dispatch.Delivery{Attempt: attempt, Error: why}})
}

// noWorker is how long nobody has to take an attempt until that is said.
const noWorker = 20 * time.Second

// follow tells the run how far its attempts have come.
func (h *home) follow(ctx context.Context) {
	told, heard := map[string]dispatch.Progress{}, map[string]string{}
	idle := map[string]time.Time{} // by queue: since when something waits there and nothing has begun; zero when that was said
	for {
		pause(ctx, 5*time.Second)
		if h.until(ctx, 0, func() bool { return len(h.orders) > 0 }) != nil || ctx.Err() != nil {
			return
		}
		list, err := h.srv.underway(ctx, h.id)
		if err != nil {
			continue
		}
		now, waits, begun := map[string]dispatch.Progress{}, map[string]int{}, map[string]bool{}
		for _, u := range list {
			h.mu.Lock()
			queue := h.input.queue(h.orders[u.Attempt].Tags)
			h.mu.Unlock()
			if waits[queue]++; u.Begun {
				begun[queue] = true
			}
			if u.Failure != "" && u.Failure != heard[u.Attempt] {
				heard[u.Attempt] = u.Failure
				h.srv.say("%s: %s", u.Task, u.Failure)
			}
			if p := u.Progress; p.Attempt != "" {
				if now[p.Attempt] = p; !reflect.DeepEqual(p, told[p.Attempt]) {
					_ = h.conn.Send(dispatch.ToRun{Progress: &p})
				}
			}
		}
		told = now
		for _, queue := range slices.Sorted(maps.Keys(waits)) {
			switch since, known := idle[queue]; {
			case begun[queue] || !known:
				idle[queue] = time.Now()
			case !since.IsZero() && time.Since(since) > noWorker:
				idle[queue] = time.Time{}
				h.srv.say("no worker takes from queue %s, which has %s; start one in a clone with: ralph-temporal worker --queue %s",
					queue, human.Count(waits[queue], "attempt"), queue)
			}
		}
		maps.DeleteFunc(idle, func(queue string, _ time.Time) bool { return waits[queue] == 0 })
	}
}
