package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"ralph/internal/dispatch"
	"ralph/internal/event"
)

// stage is a workflow with the activities that a test gives it.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	attempt func(context.Context, dispatch.Order) (dispatch.Delivery, error)
	hold    func(Wanted) (Made, error)
	away    bool // the home
	lost    int  // so many results of Land are not taken
	land    func(dispatch.Delivery) []dispatch.Order

	mu  sync.Mutex
	log []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := &stage{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	s.SetTestTimeout(20 * time.Second)
	s.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: workflowName})
	s.RegisterActivityWithOptions(func(ctx context.Context, o Wanted) (m Made, err error) {
		s.note("attempt " + o.Attempt)
		if s.hold != nil {
			return s.hold(o)
		}
		m.Delivery = delivered(o.Order)
		if s.attempt != nil {
			m.Delivery, err = s.attempt(ctx, o.Order)
		}
		return m, err
	}, activity.RegisterOptions{Name: activityAttempt})
	s.RegisterActivityWithOptions(func(d dispatch.Delivery) ([]dispatch.Order, error) {
		s.note(strings.TrimSuffix("land "+d.Attempt+" "+string(d.Body)+d.Error+map[bool]string{true: "in vain"}[d.Vain], " "))
		if s.loses() {
			return nil, temporal.NewNonRetryableApplicationError("too large", "", nil)
		}
		if s.land != nil {
			return s.land(d), nil
		}
		return nil, nil
	}, activity.RegisterOptions{Name: activityLand})
	s.RegisterActivityWithOptions(func(argv []string) (Ran, error) {
		s.note("command " + strings.Join(argv, " "))
		if s.away {
			return Ran{}, errors.New("nobody is there")
		}
		return Ran{Stdout: "ok", Status: 4}, nil
	}, activity.RegisterOptions{Name: activityCommand})
	return s
}

// loses reports whether this result of Land gets lost.
func (s *stage) loses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost--
	return s.lost >= 0
}

func (s *stage) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

func (s *stage) at(d time.Duration, name string, value any) {
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(name, value) }, d)
}

// play runs the workflow, which is told to end after a while.
func (s *stage) play(t *testing.T, want ...string) {
	t.Helper()
	s.at(48*time.Hour, signalEnd, dispatch.Outcome{Outcome: "success"})
	s.ExecuteWorkflow(workflowName, input())
	var outcome dispatch.Outcome
	if err := s.GetWorkflowResult(&outcome); err != nil || outcome.Outcome != "success" {
		t.Errorf("got %v, %v", outcome, err)
	}
	s.expect(t, want...)
}

func (s *stage) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.log, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(s.log, "\n"), strings.Join(want, "\n"))
	}
}

func input() Input {
	return Input{Queue: "q", Needs: []string{"gpu", "mac"}, Heartbeat: time.Hour, MaxEvents: 100, MaxBytes: 1 << 20}
}

func order(id string) dispatch.Order {
	return dispatch.Order{Attempt: id, Task: "t-" + id, Title: "task " + id, Agent: "claude", Body: json.RawMessage(`{}`)}
}

func delivered(o dispatch.Order) dispatch.Delivery {
	return dispatch.Delivery{Attempt: o.Attempt, Body: json.RawMessage(`"done"`)}
}

// hang lets attempts last until they are cancelled, and does something when one has begun. Time is not skipped meanwhile.
func (s *stage) hang(then func()) {
	s.attempt = func(ctx context.Context, o dispatch.Order) (dispatch.Delivery, error) {
		s.RegisterDelayedCallback(then, 0)
		return cancelled(ctx, o)
	}
}

func cancelled(ctx context.Context, o dispatch.Order) (dispatch.Delivery, error) {
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		time.Sleep(time.Millisecond)
	}
	return dispatch.Delivery{Attempt: o.Attempt, Body: json.RawMessage(`"interrupted"`)}, nil
}

func TestOrdersGoOutAndComeHome(t *testing.T) {
	s := newStage(t)
	s.land = func(d dispatch.Delivery) []dispatch.Order {
		if d.Attempt == "1" {
			return []dispatch.Order{order("2")}
		}
		return nil
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "attempt 1", `land 1 "done"`, "attempt 2", `land 2 "done"`)
}

func TestAnOrderThatIsRepeatedChangesNothing(t *testing.T) {
	s := newStage(t)
	s.land = func(dispatch.Delivery) []dispatch.Order { return []dispatch.Order{order("1")} }
	s.at(0, signalOrders, []dispatch.Order{order("1"), order("1")})
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.at(time.Hour, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "attempt 1", `land 1 "done"`)
}

// The test environment does not wait for what an activity that is cancelled returns; TestServerStop shows that it lands.
func TestACancelledAttemptGoesHome(t *testing.T) {
	s := newStage(t)
	s.land = func(dispatch.Delivery) []dispatch.Order { // the test environment skips no time after a cancellation
		s.SignalWorkflow(signalEnd, dispatch.Outcome{Outcome: "success"})
		return nil
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.hang(func() {
		s.SignalWorkflow(signalCancel, "unknown")
		s.SignalWorkflow(signalCancel, "1")
	})
	s.play(t, "attempt 1", "land 1 in vain")
}

func TestALimitHoldsItsAgentBack(t *testing.T) {
	s := newStage(t)
	begun := map[string]time.Duration{}
	start := s.Now()
	s.attempt = func(_ context.Context, o dispatch.Order) (dispatch.Delivery, error) {
		s.mu.Lock()
		begun[o.Attempt] = s.Now().Sub(start).Round(time.Hour)
		s.mu.Unlock()
		d := delivered(o)
		if o.Attempt == "1" {
			d.Limited = &dispatch.Limit{Agent: "claude", For: 5 * time.Hour}
		}
		return d, nil
	}
	other := order("other")
	other.Agent = "codex"
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.at(time.Hour, signalOrders, []dispatch.Order{order("2")})
	s.at(2*time.Hour, signalOrders, []dispatch.Order{order("3"), other})
	s.at(3*time.Hour, signalCancel, "3")
	s.RegisterDelayedCallback(func() {
		var left time.Duration
		if v, err := s.QueryWorkflow(queryLimited, "claude"); err != nil || v.Get(&left) != nil || left.Round(time.Hour) != 3*time.Hour {
			t.Errorf("got %s, %v", left, err)
		}
	}, 2*time.Hour)
	s.play(t, "attempt 1", `land 1 "done"`, "attempt other", `land other "done"`,
		"land 3 in vain", "attempt 2", `land 2 "done"`)
	if begun["2"] != 5*time.Hour || begun["other"] != 2*time.Hour {
		t.Errorf("begun after %v", begun)
	}
}

func TestAnAttemptThatAWorkerHeldBackBeginsLater(t *testing.T) {
	s := newStage(t)
	begun := s.Now()
	tries := 0
	s.hold = func(o Wanted) (m Made, _ error) {
		tries++
		switch tries {
		case 1:
			m.Delivery, m.Limited = delivered(o.Order), &dispatch.Limit{Agent: "claude", For: time.Hour}
		case 2:
			m.Held, m.Used = true, &event.Usage{TokensIn: 7}
		default:
			if got := s.Now().Sub(begun).Round(time.Minute); got != time.Hour+time.Minute || o.Used == nil || o.Used.TokensIn != 7 {
				t.Errorf("after %s, %+v", got, o.Used)
			}
			m.Delivery = delivered(o.Order)
		}
		m.Attempt = o.Attempt
		return m, nil
	}
	// The second is held back by a worker, which asked when the time of the workflow was not yet what it is: no limit moves.
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.at(time.Hour+time.Minute, signalOrders, []dispatch.Order{order("2")})
	s.play(t, "attempt 1", `land 1 "done"`, "attempt 2", "attempt 2", `land 2 "done"`)
}

func TestACancelOvertakesItsOrder(t *testing.T) {
	s := newStage(t)
	s.at(0, signalCancel, "1")
	s.at(time.Minute, signalOrders, []dispatch.Order{order("1")})
	s.at(time.Hour, signalOrders, []dispatch.Order{order("2")})
	s.play(t, "land 1 in vain", "attempt 2", `land 2 "done"`)
}

func TestAnOrderOfAnotherBuildReplacesItsLike(t *testing.T) {
	s := newStage(t)
	later := order("1")
	later.Build = "new"
	s.attempt = func(ctx context.Context, o dispatch.Order) (dispatch.Delivery, error) {
		if o.Build == "" {
			s.RegisterDelayedCallback(func() { s.SignalWorkflow(signalOrders, []dispatch.Order{later}) }, 0)
			return cancelled(ctx, o)
		}
		s.RegisterDelayedCallback(func() { s.SignalWorkflow(signalEnd, dispatch.Outcome{Outcome: "success"}) }, time.Second)
		return delivered(o), nil
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "attempt 1", "attempt 1", `land 1 "done"`)
}

func TestALostWorkerIsTriedAgain(t *testing.T) {
	s := newStage(t)
	s.attempt = func(ctx context.Context, o dispatch.Order) (dispatch.Delivery, error) {
		if try := activity.GetInfo(ctx).Attempt; try < 3 {
			return dispatch.Delivery{}, temporal.NewApplicationError("lost", errLost)
		}
		return delivered(o), nil
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "attempt 1", "attempt 1", "attempt 1", `land 1 "done"`)
}

func TestARefusedOrderGoesHome(t *testing.T) {
	s := newStage(t)
	s.attempt = func(context.Context, dispatch.Order) (dispatch.Delivery, error) {
		return dispatch.Delivery{}, temporal.NewApplicationError("it makes no sense", errRefused)
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "attempt 1", "land 1 it makes no sense")
}

func TestATagThatIsANeedChoosesTheQueue(t *testing.T) {
	s := newStage(t)
	var queues []string
	s.attempt = func(ctx context.Context, o dispatch.Order) (dispatch.Delivery, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		queues = append(queues, o.Attempt+" "+activity.GetInfo(ctx).TaskQueue)
		return delivered(o), nil
	}
	s.land = func(d dispatch.Delivery) []dispatch.Order {
		if d.Attempt == "1" {
			o := order("2")
			o.Tags = []string{"slow", "mac", "gpu"}
			return []dispatch.Order{o}
		}
		return nil
	}
	o := order("1")
	o.Tags = []string{"slow"}
	s.at(0, signalOrders, []dispatch.Order{o})
	s.play(t, "attempt 1", `land 1 "done"`, "attempt 2", `land 2 "done"`)
	if want := []string{"1 q", "2 q-gpu"}; !slices.Equal(queues, want) {
		t.Errorf("got %v, want %v", queues, want)
	}
}

func TestTheEndCancelsWhatIsUnderWay(t *testing.T) {
	s := newStage(t)
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.hang(func() { s.SignalWorkflow(signalEnd, dispatch.Outcome{Outcome: "success"}) })
	s.play(t, "attempt 1")
}

func TestAWorkflowThatIsCancelledStopsTheRun(t *testing.T) {
	s := newStage(t)
	s.RegisterDelayedCallback(s.CancelWorkflow, time.Minute)
	s.at(time.Hour, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "command stop --now", "attempt 1", `land 1 "done"`)
}

func TestAWorkflowThatIsCancelledEndsItsAttemptsWhileTheHomeIsAway(t *testing.T) {
	s := newStage(t)
	s.away = true
	s.land = func(dispatch.Delivery) []dispatch.Order {
		s.SignalWorkflow(signalEnd, dispatch.Outcome{Outcome: "success"})
		return nil
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.hang(s.CancelWorkflow)
	s.play(t, "attempt 1", "command stop --now", "land 1 in vain")
}

func TestAnOrderThatIsRepeatedAfterItWasContinued(t *testing.T) {
	s := newStage(t)
	in := input()
	in.Settled, in.Cancelled = []string{"1"}, []string{"2"}
	s.at(0, signalOrders, []dispatch.Order{order("1"), order("2")})
	s.at(time.Hour, signalEnd, dispatch.Outcome{Outcome: "success"})
	s.ExecuteWorkflow(workflowName, in)
	s.expect(t, "land 2 in vain")
}

func TestWhatTheServerDoesNotTakeIsAskedForAgain(t *testing.T) {
	s := newStage(t)
	s.lost = 1
	s.land = func(d dispatch.Delivery) []dispatch.Order {
		if d.Attempt == "1" {
			return []dispatch.Order{order("2")}
		}
		return nil
	}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.play(t, "attempt 1", `land 1 "done"`, `land 1 "done"`, "attempt 2", `land 2 "done"`)
}

func TestAFullHistoryIsDrainedAndContinued(t *testing.T) {
	s := newStage(t)
	until := s.Now().Add(time.Hour)
	in := input()
	in.Limits = map[string]time.Time{"codex": until}
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.hang(func() {
		s.SetCurrentHistoryLength(101)
		s.SignalWorkflow(signalOrders, []dispatch.Order{order("2"), order("3")})
		s.SignalWorkflow(signalCancel, "1")
	})
	s.ExecuteWorkflow(workflowName, in)
	s.expect(t, "attempt 1", "land 1 in vain")
	var again *workflow.ContinueAsNewError
	if !errors.As(s.GetWorkflowError(), &again) {
		t.Fatalf("got %v", s.GetWorkflowError())
	}
	var next Input
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	if len(next.Waiting) != 2 || next.Waiting[0].Attempt != "2" || !next.Limits["codex"].Equal(until) || next.MaxEvents != in.MaxEvents {
		t.Errorf("it goes on with %+v", next)
	}
}

func TestASuggestionIsFollowedWhenNothingIsUnderWay(t *testing.T) {
	s := newStage(t)
	s.at(0, signalOrders, []dispatch.Order{order("1")})
	s.SetContinueAsNewSuggested(true)
	s.ExecuteWorkflow(workflowName, Input{Queue: "q", MaxEvents: 100, MaxBytes: 100, Waiting: []Wanted{{Order: order("0")}}})
	if !workflow.IsContinueAsNewError(s.GetWorkflowError()) {
		t.Errorf("got %v", s.GetWorkflowError())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.log, "attempt 0") { // the environment starts both at once
		t.Errorf("got %v", s.log)
	}
}

func TestCommandsRunAtHome(t *testing.T) {
	for name, test := range map[string]struct {
		argv    []string
		refused string
	}{
		"status":       {[]string{"status"}, ""},
		"stop":         {[]string{"stop", "--now"}, ""},
		"answer":       {[]string{"inbox", "answer", "q", "yes"}, ""},
		"another":      {[]string{"config", "set"}, "cannot be run"},
		"nothing":      {nil, "cannot be run"},
		"the inbox":    {[]string{"inbox"}, "cannot be run"},
		"a credential": {[]string{"inbox", "answer", "q", "--credential", "x"}, "credential"},
		"a file":       {[]string{"send", "1", "@/etc/passwd"}, "would be read on the machine of the run"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var ran Ran
			var refused error
			s.RegisterDelayedCallback(func() {
				s.UpdateWorkflow(updateCommand, "", &testsuite.TestUpdateCallback{
					OnAccept: func() {}, OnReject: func(err error) { refused = err },
					OnComplete: func(v any, err error) { ran, _ = v.(Ran) },
				}, test.argv)
			}, time.Minute)
			if test.refused != "" {
				if s.play(t); refused == nil || !strings.Contains(refused.Error(), test.refused) {
					t.Errorf("got %v", refused)
				}
				return
			}
			s.play(t, "command "+strings.Join(test.argv, " "))
			if refused != nil || ran.Status != 4 || ran.Stdout != "ok" {
				t.Errorf("got %v, %+v", refused, ran)
			}
		})
	}
}
