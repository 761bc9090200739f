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
	"ralph/internal/event"
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

	Waiting   []Wanted
	Limits    map[string]time.Time // by agent, in the time of the workflow
	Cancelled []string             // attempts whose orders may come yet: a cancel can overtake one
	Settled   []string             // the latest: an order may be repeated late
}

// remembered is how many attempts are kept in each list of IDs.
const remembered = 500

// Wanted is what Attempt is given.
type Wanted struct {
	dispatch.Order
	Used *event.Usage `json:"used,omitempty"` // by tries that were lost before it was held back
}

// Made is what Attempt returns.
type Made struct {
	dispatch.Delivery
	Held bool         `json:"held,omitempty"` // it did not begin, as its agent is limited
	Used *event.Usage `json:"used,omitempty"`
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
	flights  map[string]*flight // by attempt
	held     map[string]int     // by attempt: how often it was put off
	timers   map[string]bool    // by agent
	changed  bool
	stopping bool // the run at home is told to stop
	ending   *dispatch.Outcome
}

// flight is an attempt under way.
type flight struct {
	Wanted
	cancel  workflow.CancelFunc
	over    bool            // it was cancelled, or is landing
	instead *dispatch.Order // the same order of another build of ralph
}

// Run takes orders to workers and what comes of them home until the run there ends.
func Run(ctx workflow.Context, in Input) (dispatch.Outcome, error) {
	r := &run{Input: in, flights: map[string]*flight{}, held: map[string]int{}, timers: map[string]bool{}}
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
			asked, r.stopping = true, true
			workflow.Go(base, r.stop)
		}
		for list := []dispatch.Order(nil); orders.ReceiveAsync(&list); list = nil {
			r.add(base, list)
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
			if err := workflow.Await(base, func() bool { return workflow.AllHandlersFinished(ctx) && !r.stopping }); err != nil {
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

// add takes orders that are new. One that is under way, or was, is repeated by a home that does not know; if that home is of
// another build, only workers of its build can make it.
func (r *run) add(ctx workflow.Context, list []dispatch.Order) {
	for _, o := range list {
		f, i := r.flights[o.Attempt], r.waiting(o.Attempt)
		switch {
		case slices.Contains(r.Settled, o.Attempt):
		case i >= 0:
			r.Waiting[i].Order = o
		case f == nil:
			r.Waiting, r.changed = append(r.Waiting, Wanted{Order: o}), true
			if slices.Contains(r.Cancelled, o.Attempt) {
				r.cancel(ctx, o.Attempt)
			}
		case f.Build != o.Build && !f.over:
			f.instead = &o
			f.cancel()
		}
	}
}

func (r *run) waiting(attempt string) int {
	return slices.IndexFunc(r.Waiting, func(o Wanted) bool { return o.Attempt == attempt })
}

// cancel ends an attempt. One that has not begun goes home as it is.
func (r *run) cancel(ctx workflow.Context, id string) {
	if i := r.waiting(id); i >= 0 {
		o := r.Waiting[i]
		r.Waiting = slices.Delete(r.Waiting, i, i+1)
		r.fly(ctx, o, true)
	} else if f := r.flights[id]; f != nil {
		f.over = true
		f.cancel()
	} else if !slices.Contains(r.Settled, id) {
		r.Cancelled = remember(r.Cancelled, id)
	}
}

// remember adds an ID to the latest.
func remember(list []string, id string) []string {
	if !slices.Contains(list, id) {
		list = append(list, id)
	}
	return list[max(0, len(list)-remembered):]
}

// underway are the attempts of all flights, sorted, as commands must come in the same order when the history is replayed.
func (r *run) underway() []string {
	ids := make([]string, 0, len(r.flights))
	for id := range r.flights { //workflowcheck:ignore // sorted below
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// stop has the run at home stopped. While nobody is there, it ends the attempts itself, and the home is told when it is back.
func (r *run) stop(ctx workflow.Context) {
	if _, err := r.command(ctx, []string{"stop", "--now"}); err != nil {
		for _, o := range slices.Clone(r.Waiting) {
			r.cancel(ctx, o.Attempt)
		}
		for _, id := range r.underway() {
			r.cancel(ctx, id)
		}
	}
	r.stopping, r.changed = false, true
}

// end cancels what is under way. The home is done with it: nobody asks what comes of it.
func (r *run) end(outcome dispatch.Outcome) {
	r.ending, r.changed, r.Waiting = &outcome, true, nil
	for _, id := range r.underway() {
		r.flights[id].over = true
		r.flights[id].cancel()
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
func (r *run) fly(ctx workflow.Context, o Wanted, cancelled bool) {
	air, cancel := workflow.WithCancel(ctx)
	f := &flight{Wanted: o, cancel: cancel, over: cancelled}
	r.flights[o.Attempt] = f
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { r.changed = true }()
		m := Made{Delivery: dispatch.Delivery{Attempt: o.Attempt, Vain: true}}
		if !cancelled {
			m = r.attempt(ctx, air, o)
		}
		if l := m.Limited; l != nil && l.For > 0 {
			if until := workflow.Now(ctx).Add(l.For); until.After(r.Limits[l.Agent]) {
				r.Limits[l.Agent] = until
			}
		}
		if !f.over && (m.Held || f.instead != nil) {
			if f.instead != nil {
				o.Order = *f.instead
			}
			if m.Used != nil {
				o.Used = m.Used
			}
			delete(r.flights, o.Attempt)
			r.held[o.Attempt]++
			r.Waiting = append(r.Waiting, o)
			return
		}
		m.Vain = m.Vain || m.Held
		f.over = true
		var next []dispatch.Order
		if r.ending == nil {
			next = r.land(ctx, m.Delivery)
		}
		delete(r.flights, o.Attempt)
		delete(r.held, o.Attempt)
		r.Settled = remember(r.Settled, o.Attempt)
		r.Cancelled = slices.DeleteFunc(r.Cancelled, func(id string) bool { return id == o.Attempt })
		r.add(ctx, next)
	})
}

// queue is where workers for a task with these tags look.
func (in Input) queue(tags []string) string {
	for _, need := range in.Needs {
		if slices.Contains(tags, need) {
			return in.Queue + "-" + need
		}
	}
	return in.Queue
}

func (r *run) attempt(ctx, air workflow.Context, o Wanted) (m Made) {
	id := o.Task + "/" + o.Attempt
	if n := r.held[o.Attempt]; n > 0 {
		id = fmt.Sprintf("%s/%d", id, n) // its tries are named by it
	}
	flying := workflow.WithActivityOptions(air, workflow.ActivityOptions{
		ActivityID:          id,
		TaskQueue:           r.queue(o.Tags),
		StartToCloseTimeout: 12 * time.Hour,
		HeartbeatTimeout:    r.Heartbeat,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{ // errors bring a delay of their own
			InitialInterval: time.Second, BackoffCoefficient: 1, NonRetryableErrorTypes: []string{errRefused, "TemporalTimeout:StartToClose"},
		},
		Summary: o.Title,
	})
	err := workflow.ExecuteActivity(flying, activityAttempt, o).Get(ctx, &m)
	switch {
	case err == nil:
		return m
	case air.Err() != nil: // or its worker was lost, and nobody makes it again
		return Made{Delivery: dispatch.Delivery{Attempt: o.Attempt, Vain: true}}
	default:
		return Made{Delivery: dispatch.Delivery{Attempt: o.Attempt, Error: plain(err)}}
	}
}

// land never gives up: the home may be away for days. When the server did not take what the home ordered next, it is asked
// again, as it knows what was not settled.
func (r *run) land(ctx workflow.Context, d dispatch.Delivery) (next []dispatch.Order) {
	for try := range 3 {
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID:          "land/" + d.Attempt + strings.Repeat("/again", try),
			StartToCloseTimeout: 12 * time.Hour,
			HeartbeatTimeout:    r.Heartbeat,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
		})
		err := workflow.ExecuteActivity(ctx, activityLand, d).Get(ctx, &next)
		if err == nil {
			break
		}
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
			s := Status{Attempts: r.underway(), Limits: r.Limits}
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
		flag, _, _ := strings.Cut(arg, "=")
		switch {
		case arg == "-", strings.HasPrefix(arg, "@"):
			return fmt.Errorf("%s would be read on the machine of the run; give the text itself", arg)
		case strings.TrimLeft(flag, "-") == "credential":
			return errors.New("a credential would be stored by the Temporal server; on the machine of the run: ralph inbox answer Q --credential")
		case strings.HasPrefix(arg, "-") && !slices.Contains([]string{"--now", "--option", "--deny", "--"}, flag): // such as --project, which is any folder there
			return fmt.Errorf("%s cannot be given from another machine; flags of ralph-temporal itself stand before the command", flag)
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
