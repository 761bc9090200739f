package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ralph/internal/dispatch"
)

// Names that are part of histories and that workers and homes of other builds use. They must not change.
const (
	workflowName = "ralph-run"

	signalOrders = "orders" // []dispatch.Order
	signalCancel = "cancel" // the ID of an attempt
	signalEnd    = "end"    // dispatch.Outcome

	queryStatus   = "status"
	queryLimited  = "limited" // of an agent: for how long it is
	updateCommand = "command" // of ralph, at home

	activityAttempt = "Attempt" // on a worker
	activityLand    = "Land"    // at home
	activityCommand = "Command" // at home
)

// Input is what a workflow begins with, also after it continued as new.
type Input struct {
	Queue     string        // that workers poll
	Needs     []string      // tags whose tasks have a queue of their own
	Heartbeat time.Duration // after which a silent worker, or home, is lost

	// A history that is longer or larger lets no attempt begin until those under way are settled, and is then
	// continued as new: what is under way cannot be taken along.
	MaxEvents, MaxBytes int

	Waiting []dispatch.Order
	Limits  map[string]time.Time // by agent, in the time of the workflow
}

// Status is the answer to queryStatus.
type Status struct {
	Attempts []string             `json:"attempts"` // under way, or landing
	Waiting  []string             `json:"waiting"`
	Limits   map[string]time.Time `json:"limits,omitempty"`
}

// run is the state of a workflow. The home's run decides what is attempted; this only carries it there and back.
type run struct {
	Input
	flights map[string]workflow.CancelFunc // by attempt
	settled map[string]bool                // in this history: an order may be repeated late
	timers  map[string]bool                // by agent
	changed bool
	ending  *dispatch.Outcome
}

// Run takes orders to workers and what comes of them home until the run there ends.
func Run(ctx workflow.Context, in Input) (dispatch.Outcome, error) {
	r := &run{Input: in, flights: map[string]workflow.CancelFunc{}, settled: map[string]bool{}, timers: map[string]bool{}}
	if r.Limits == nil {
		r.Limits = map[string]time.Time{}
	}
	if err := r.handle(ctx); err != nil {
		return dispatch.Outcome{}, err
	}
	orders, cancel, end := workflow.GetSignalChannel(ctx, signalOrders), workflow.GetSignalChannel(ctx, signalCancel), workflow.GetSignalChannel(ctx, signalEnd)
	asked := false
	base, _ := workflow.NewDisconnectedContext(ctx) // whoever cancels the workflow stops the run, and what it does is settled
	for r.changed = true; ; {
		if err := workflow.Await(base, func() bool {
			return r.changed || orders.Len()+cancel.Len()+end.Len() > 0 || (!asked && ctx.Err() != nil)
		}); err != nil {
			return dispatch.Outcome{}, err
		}
		r.changed = false
		if !asked && ctx.Err() != nil {
			asked = true
			workflow.Go(base, func(ctx workflow.Context) { _, _ = r.command(ctx, []string{"stop", "--now"}) })
		}
		for list := []dispatch.Order(nil); orders.ReceiveAsync(&list); list = nil {
			r.add(list)
		}
		for id := ""; cancel.ReceiveAsync(&id); {
			r.cancel(base, id)
		}
		for outcome := (dispatch.Outcome{}); end.ReceiveAsync(&outcome); {
			r.end(outcome)
		}
		info := workflow.GetInfo(ctx)
		full := info.GetCurrentHistoryLength() > r.MaxEvents || info.GetCurrentHistorySize() > r.MaxBytes
		if !full && r.ending == nil {
			r.start(base)
		}
		if len(r.flights) > 0 {
			continue
		}
		switch {
		case r.ending != nil:
			return *r.ending, workflow.Await(base, func() bool { return workflow.AllHandlersFinished(ctx) })
		case full || info.GetContinueAsNewSuggested():
			if err := workflow.Await(base, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
				return dispatch.Outcome{}, err
			}
			if r.changed || orders.Len()+cancel.Len()+end.Len() > 0 {
				r.changed = true
				continue
			}
			return dispatch.Outcome{}, workflow.NewContinueAsNewError(ctx, workflowName, r.Input)
		}
	}
}

// add takes orders that are new. One that is under way, or was, is repeated by a home that does not know.
func (r *run) add(list []dispatch.Order) {
	for _, o := range list {
		if r.flights[o.Attempt] == nil && !r.settled[o.Attempt] && r.waiting(o.Attempt) < 0 {
			r.Waiting, r.changed = append(r.Waiting, o), true
		}
	}
}

func (r *run) waiting(attempt string) int {
	return slices.IndexFunc(r.Waiting, func(o dispatch.Order) bool { return o.Attempt == attempt })
}

// cancel ends an attempt. One that has not begun goes home as it is.
func (r *run) cancel(ctx workflow.Context, id string) {
	if i := r.waiting(id); i >= 0 {
		o := r.Waiting[i]
		r.Waiting = slices.Delete(r.Waiting, i, i+1)
		r.fly(ctx, o, true)
	} else if cancel := r.flights[id]; cancel != nil {
		cancel()
	}
}

// end cancels what is under way. The home is done with it: nobody asks what comes of it.
func (r *run) end(outcome dispatch.Outcome) {
	r.ending, r.changed, r.Waiting = &outcome, true, nil
	ids := make([]string, 0, len(r.flights))
	for id := range r.flights { //workflowcheck:ignore // sorted below
		ids = append(ids, id)
	}
	slices.Sort(ids) // commands must come in the same order when the history is replayed
	for _, id := range ids {
		r.flights[id]()
	}
}

// start begins what waits, but for what has to wait for a limit.
func (r *run) start(ctx workflow.Context) {
	list := r.Waiting
	r.Waiting = nil
	for _, o := range list {
		if left := r.limited(ctx, o.Agent); left > 0 {
			r.Waiting = append(r.Waiting, o)
			r.wake(ctx, o.Agent, left)
			continue
		}
		r.fly(ctx, o, false)
	}
}

// limited says for how long no attempt of an agent may begin.
func (r *run) limited(ctx workflow.Context, agent string) time.Duration {
	return max(0, r.Limits[agent].Sub(workflow.Now(ctx)))
}

func (r *run) wake(ctx workflow.Context, agent string, after time.Duration) {
	if r.timers[agent] {
		return
	}
	r.timers[agent] = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, after)
		delete(r.timers, agent)
		r.changed = true
	})
}

// fly has an attempt made and what came of it taken home, and then does what the home ordered next.
func (r *run) fly(ctx workflow.Context, o dispatch.Order, cancelled bool) {
	flight, cancel := workflow.WithCancel(ctx)
	r.flights[o.Attempt] = cancel
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { r.changed = true }()
		d := dispatch.Delivery{Attempt: o.Attempt, Error: "it was cancelled before it began"}
		if !cancelled {
			d = r.attempt(ctx, flight, o)
		}
		if l := d.Limited; l != nil && l.For > 0 {
			if until := workflow.Now(ctx).Add(l.For); until.After(r.Limits[l.Agent]) {
				r.Limits[l.Agent] = until
			}
			if d.Body == nil && d.Error == "" && flight.Err() == nil { // it was held back before it began
				delete(r.flights, o.Attempt)
				r.Waiting = append(r.Waiting, o)
				return
			}
		}
		var next []dispatch.Order
		if r.ending == nil {
			next = r.land(ctx, d)
		}
		delete(r.flights, o.Attempt)
		r.settled[o.Attempt] = true
		r.add(next)
	})
}

func (r *run) attempt(ctx, flight workflow.Context, o dispatch.Order) (d dispatch.Delivery) {
	queue := r.Queue
	for _, need := range r.Needs {
		if slices.Contains(o.Tags, need) {
			queue = r.Queue + "-" + need
			break
		}
	}
	flight = workflow.WithActivityOptions(flight, workflow.ActivityOptions{
		ActivityID:          o.Task + "/" + o.Attempt,
		TaskQueue:           queue,
		StartToCloseTimeout: 12 * time.Hour,
		HeartbeatTimeout:    r.Heartbeat,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 1, NonRetryableErrorTypes: []string{errRefused}, // errors bring a delay of their own
		},
		Summary: o.Title,
	})
	switch err := workflow.ExecuteActivity(flight, activityAttempt, o).Get(ctx, &d); {
	case err == nil:
		return d
	case temporal.IsCanceledError(err):
		return dispatch.Delivery{Attempt: o.Attempt, Error: "it was cancelled before it began"}
	default:
		return dispatch.Delivery{Attempt: o.Attempt, Error: plain(err)}
	}
}

// land never gives up: the home may be away for days.
func (r *run) land(ctx workflow.Context, d dispatch.Delivery) (next []dispatch.Order) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:          "land/" + d.Attempt,
		StartToCloseTimeout: 12 * time.Hour,
		HeartbeatTimeout:    r.Heartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	})
	if err := workflow.ExecuteActivity(ctx, activityLand, d).Get(ctx, &next); err != nil {
		workflow.GetLogger(ctx).Error("land", "attempt", d.Attempt, "error", err)
	}
	return next
}

// Ran is what a command of ralph at home printed.
type Ran struct {
	Stdout, Stderr string
	Status         int
}

// command runs a command once: it is not known of each that it may be run twice.
func (r *run) command(ctx workflow.Context, argv []string) (ran Ran, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: time.Minute,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	err = workflow.ExecuteActivity(ctx, activityCommand, argv).Get(ctx, &ran)
	return ran, err
}

func (r *run) handle(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetQueryHandler(ctx, queryStatus, func() (Status, error) {
			s := Status{Limits: r.Limits}
			for id := range r.flights { //workflowcheck:ignore // sorted below
				s.Attempts = append(s.Attempts, id)
			}
			slices.Sort(s.Attempts)
			for _, o := range r.Waiting {
				s.Waiting = append(s.Waiting, o.Attempt)
			}
			return s, nil
		}),
		workflow.SetQueryHandler(ctx, queryLimited, func(agent string) (time.Duration, error) {
			return r.limited(ctx, agent), nil
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, updateCommand, r.command, workflow.UpdateHandlerOptions{Validator: allowed}),
	)
}

// allowed are the commands that may be run at home from anywhere.
func allowed(argv []string) error {
	ok := len(argv) > 0 && slices.Contains([]string{"status", "pause", "resume", "stop", "send"}, argv[0]) ||
		len(argv) > 1 && argv[0] == "inbox" && argv[1] == "answer"
	if !ok {
		return fmt.Errorf("ralph %v cannot be run from another machine", argv)
	}
	for _, arg := range argv[1:] {
		switch {
		case arg == "-", strings.HasPrefix(arg, "@"):
			return fmt.Errorf("%s would be read on the machine of the run; give the text itself", arg)
		case strings.HasPrefix(arg, "-") && strings.HasPrefix(strings.TrimLeft(arg, "-"), "credential"):
			return errors.New("a credential would be stored by the Temporal server; on the machine of the run: ralph inbox answer Q --credential")
		}
	}
	return nil
}

// plain is what an activity said, without what the SDK says around it.
func plain(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	return err.Error()
}
