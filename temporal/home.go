package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ralph/internal/dispatch"
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
	pending    []string                  // of them, those that the workflow was not told of yet, in order
	since      time.Time                 // the first of the pending was ordered
	cancels    []string
	settled    map[string]int // by attempt: how often the run had been idle by then
	idles      int
	sinceIdles int // how often it had been idle when the first of the pending was ordered
	completing int // calls of Land that will take what is pending along
	ended      *dispatch.Outcome
	gone       bool // the process of ralph run
}

func newHome(srv *server, id, place, dir string, r *ralph, input Input) *home {
	return &home{
		srv: srv, id: id, place: place, dir: dir, ralph: r, input: input, changed: make(chan struct{}),
		orders: map[string]dispatch.Order{}, settled: map[string]int{},
	}
}

// serve takes what the run says until it is gone. It starts or joins the workflow when the run has begun, as a run that is
// refused must not take anything from the home that is there.
func (h *home) serve(ctx context.Context, c net.Conn) (err error) {
	h.conn = dispatch.NewConn[dispatch.ToRun, dispatch.FromRun](c)
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var w worker.Worker
	defer func() {
		h.update(func() { h.gone = true })
		if h.ended != nil {
			err = errors.Join(err, h.finish(ctx))
		}
		cancel()
		group.Wait()
		if w != nil {
			w.Stop()
		}
	}()
	for {
		line, rerr := h.conn.Receive()
		if rerr != nil {
			return nil // its exit status says why
		}
		if line.Run == nil {
			h.take(line)
			continue
		}
		h.update(func() { h.run = line.Run })
		if err := h.begin(ctx); err != nil {
			return err
		}
		if w, err = h.poll(ctx); err != nil {
			return err
		}
		group.Go(func() { h.prune(ctx) })
		group.Go(func() { h.send(ctx) })
		group.Go(func() { h.keep(ctx) })
		group.Go(func() { h.follow(ctx) })
	}
}

// take notes what the run said.
func (h *home) take(line dispatch.FromRun) {
	h.update(func() {
		switch {
		case line.Order != nil:
			if _, known := h.orders[line.Order.Attempt]; !known {
				h.orders[line.Order.Attempt] = *line.Order
				h.queue(line.Order.Attempt)
			}
		case line.Cancel != "":
			h.cancels = append(h.cancels, line.Cancel)
		case line.Settled != "":
			delete(h.orders, line.Settled)
			h.pending = slices.DeleteFunc(h.pending, func(id string) bool { return id == line.Settled })
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
		h.since, h.sinceIdles = time.Now(), h.idles
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
	_ = h.until(ctx, landWait, func() bool { return h.idles > idles || h.gone })
	h.update(func() {
		h.completing--
		if activity.GetInfo(ctx).Attempt > 1 { // what an earlier call took along may be lost
			h.requeue()
		}
		next = h.batch()
	})
	return next, nil
}

var errLeaving = temporal.NewApplicationError("the home is leaving; ralph-temporal run joins the run", "Leaving")

func (h *home) requeue() {
	for id := range h.orders {
		if !slices.Contains(h.pending, id) {
			h.queue(id)
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

func (h *home) options() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: h.id, TaskQueue: h.id, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Memo: map[string]any{"run": h.run.ID, "home": h.place},
	}
}

// begin starts the workflow, or joins the one of the same run.
func (h *home) begin(ctx context.Context) error {
	return retry(ctx, func(ctx context.Context) error {
		opts := h.options()
		opts.WorkflowExecutionErrorWhenAlreadyStarted = true
		opts.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
		_, err := h.srv.ExecuteWorkflow(ctx, opts, workflowName, h.input)
		var there *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &there) {
			return h.join(ctx)
		}
		if err == nil {
			h.srv.say("started workflow %s on %s", h.id, h.srv.name)
		}
		return err
	})
}

// join looks at whose workflow it is. One of an earlier run of this project was left behind by a home that could not end it;
// one of another project that has the same name is not ours to touch.
func (h *home) join(ctx context.Context) error {
	d, err := h.srv.DescribeWorkflowExecution(ctx, h.id, "")
	if err != nil {
		return err
	}
	memo := d.GetWorkflowExecutionInfo().GetMemo().GetFields()
	var run, place string
	if err := errors.Join(h.srv.dc.FromPayload(memo["run"], &run), h.srv.dc.FromPayload(memo["home"], &place)); err != nil {
		return serviceerror.NewInvalidArgument(fmt.Sprintf("workflow %s on %s cannot be read: %v", h.id, h.srv.name, err))
	}
	switch {
	case run == h.run.ID:
		h.srv.say("joined workflow %s on %s", h.id, h.srv.name)
		return nil
	case place == h.place:
		h.srv.say("ending workflow %s of run %s, which is over", h.id, run)
		return errors.Join(h.srv.TerminateWorkflow(ctx, h.id, d.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "its run is over"), errAgain)
	}
	return serviceerror.NewInvalidArgument(fmt.Sprintf(
		"workflow %s on %s is run %s of %s, not of this project; use another namespace, or end it with: temporal workflow terminate --workflow-id %s",
		h.id, h.srv.name, run, place, h.id))
}

var errAgain = errors.New("the workflow was ended; start another")

// prune cancels what a joined workflow has under way though its run gave it up meanwhile.
func (h *home) prune(ctx context.Context) {
	var there Status
	err := retry(ctx, func(ctx context.Context) error {
		v, err := h.srv.QueryWorkflow(ctx, h.id, "", queryStatus)
		if err != nil {
			return err
		}
		return v.Get(&there)
	})
	h.update(func() {
		for _, id := range append(there.Attempts, there.Waiting...) {
			if _, ordered := h.orders[id]; err == nil && !ordered && !slices.Contains(h.run.Open, id) {
				h.cancels = append(h.cancels, id)
			}
		}
	})
}

// poll serves the queue of this home.
func (h *home) poll(ctx context.Context) (worker.Worker, error) {
	opts := worker.Options{WorkerStopTimeout: 10 * time.Second, OnFatalError: func(err error) { h.srv.say("%v", err) }}
	return h.srv.poll(ctx, h.id, opts, func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: workflowName})
		w.RegisterActivityWithOptions(h.Land, activity.RegisterOptions{Name: activityLand})
		w.RegisterActivityWithOptions(h.Command, activity.RegisterOptions{Name: activityCommand})
	})
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
		_ = h.conn.Send(dispatch.ToRun{Delivery: &dispatch.Delivery{Attempt: o.Attempt, Error: fmt.Sprintf("the Temporal server does not take its order: %v", err)}})
	}
}

// keep starts the workflow again when it is gone though the run goes on: it was terminated, or the server has lost it.
func (h *home) keep(ctx context.Context) {
	for ctx.Err() == nil {
		err := h.srv.GetWorkflow(ctx, h.id, "").Get(ctx, nil)
		h.mu.Lock()
		ended := h.ended != nil
		h.mu.Unlock()
		var failed *temporal.WorkflowExecutionError
		var missing *serviceerror.NotFound
		if ctx.Err() != nil || ended {
			return
		}
		if err == nil || errors.As(err, &failed) || errors.As(err, &missing) {
			h.srv.say("workflow %s ended before its run (%v); starting it again; to end the run: ralph-temporal stop", h.id, err)
			if err := h.begin(ctx); err != nil {
				h.srv.say("%v", err)
			}
			h.update(h.requeue)
		}
		pause(ctx, time.Second)
	}
}

// noWorker is how long nobody has to take an attempt until that is said.
const noWorker = 20 * time.Second

func waits(n int) string {
	if n == 1 {
		return "1 attempt waits"
	}
	return fmt.Sprintf("%d attempts wait", n)
}

// follow tells the run how far its attempts have come.
func (h *home) follow(ctx context.Context) {
	told, heard := map[string]dispatch.Progress{}, map[string]string{}
	idle := time.Now() // since when nothing has begun of what is ordered; zero when that was said
	for {
		pause(ctx, 5*time.Second)
		if h.until(ctx, 0, func() bool { return len(h.orders) > 0 }) != nil || ctx.Err() != nil {
			return
		}
		list, err := h.srv.underway(ctx, h.id)
		if err != nil {
			continue
		}
		now, begun := map[string]dispatch.Progress{}, false
		for _, u := range list {
			begun = begun || u.Begun
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
		switch {
		case begun || len(list) == 0:
			idle = time.Now()
		case !idle.IsZero() && time.Since(idle) > noWorker:
			idle = time.Time{}
			h.srv.say("%s on queue %s, and no worker has begun one; start one in a clone with: ralph-temporal worker", waits(len(list)), h.input.Queue)
		}
	}
}

// finish ends the workflow of a run that has ended. We poll its queue, so that it can end only while we are here.
func (h *home) finish(ctx context.Context) error {
	if h.run == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := retry(ctx, func(ctx context.Context) error {
		err := h.srv.SignalWorkflow(ctx, h.id, "", signalEnd, *h.ended)
		var missing *serviceerror.NotFound
		if errors.As(err, &missing) {
			return nil
		}
		return err
	})
	if err == nil {
		err = h.srv.GetWorkflow(ctx, h.id, "").Get(ctx, nil)
	}
	if ctx.Err() != nil {
		h.srv.say("the run has ended, but workflow %s could not be ended (%v); the next ralph-temporal run of this target does it", h.id, err)
	}
	return nil
}
