package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"ralph/internal/dispatch"
	"ralph/internal/human"
)

// underway is an attempt that the server has, begun or not.
type underway struct {
	Task, Attempt string
	Try           int32
	Begun         bool
	Progress      dispatch.Progress
	Failure       string // of the try before
}

// underway asks the server, which knows also while the home is away.
func (s *server) underway(ctx context.Context, id string) (list []underway, err error) {
	d, err := s.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return nil, err
	}
	for _, p := range d.GetPendingActivities() {
		if p.GetActivityType().GetName() != activityAttempt {
			continue
		}
		u := underway{Try: p.GetAttempt(), Begun: p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED}
		u.Task, u.Attempt, _ = strings.Cut(p.GetActivityId(), "/")
		if details := p.GetHeartbeatDetails(); details != nil {
			_ = s.dc.FromPayloads(details, &u.Progress)
		}
		if p.GetLastFailure() != nil {
			u.Failure = plain(s.fc.FailureToError(p.GetLastFailure()))
		}
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b underway) int { return cmp.Compare(a.Task+a.Attempt, b.Task+b.Attempt) })
	return list, nil
}

// runs are the open ones of the project, or the one of them that is meant.
func (s *setup) runs(ctx context.Context) (list []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	prefix := "ralph/" + s.name() + "/"
	found, err := s.srv.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: "WorkflowType = '" + workflowName + "' AND ExecutionStatus = 'Running'",
	})
	if err != nil {
		return nil, s.srv.failed(err)
	}
	var others []string
	for _, w := range found.GetExecutions() {
		if id := w.GetExecution().GetWorkflowId(); id == s.run || s.run == "" && strings.HasPrefix(id, prefix) {
			list = append(list, id)
		} else {
			others = append(others, id)
		}
	}
	if len(list) == 0 {
		msg := fmt.Sprintf("no run of project %s is open on %s; start one with ralph-temporal run", s.name(), s.srv.name)
		if len(others) > 0 {
			msg += "; there are " + human.List(others, 5) + ": if one of them is meant, give --project NAME or --run ID"
		}
		return nil, exitError{3, msg}
	}
	return list, nil
}

func (s *server) failed(err error) error {
	var away *serviceerror.Unavailable
	if errors.As(err, &away) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot reach the Temporal server %s (%w); is it running, and is temporal.address right?", s.name, err)
	}
	return err
}

// atHome runs a command of ralph at home. A home that is away is said at once if the server knows it.
func (s *server) atHome(ctx context.Context, id string, argv []string) (ran Ran, err error) {
	ctx, cancel := context.WithTimeout(ctx, 70*time.Second)
	defer cancel()
	away := fmt.Errorf("the home of %s is away: no ralph-temporal run serves it; join it with ralph-temporal run, in its project", id)
	queue, err := s.DescribeTaskQueue(ctx, id, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return ran, s.failed(err)
	}
	if len(queue.GetPollers()) == 0 {
		return ran, away
	}
	accepted, stop := context.WithTimeout(ctx, 15*time.Second)
	defer stop()
	handle, err := s.UpdateWorkflow(accepted, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: updateCommand, Args: []any{argv}, WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	if err == nil {
		err = handle.Get(ctx, &ran)
	}
	var slow *client.WorkflowUpdateServiceTimeoutOrCanceledError
	var late *temporal.TimeoutError
	if errors.As(err, &slow) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) {
		return ran, fmt.Errorf("%w; if it is back soon, it may still do this", away)
	}
	if err != nil {
		return ran, errors.New(plain(err))
	}
	return ran, nil
}

// status prints what is under way, and what ralph says at home.
func status(ctx context.Context, s *setup, w io.Writer) error {
	runs, err := s.runs(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		list, err := s.srv.underway(ctx, run)
		if err != nil {
			return s.srv.failed(err)
		}
		fmt.Fprintf(w, "%s on %s: %s\n", run, s.srv.name, human.Count(len(list), "attempt"))
		for _, u := range list {
			fmt.Fprintln(w, "  "+u.line())
		}
	}
	var ran Ran
	for _, run := range runs { // they are of one project
		if ran, err = s.srv.atHome(ctx, run, []string{"status"}); err == nil {
			break
		}
		say("%v", err)
	}
	if err != nil {
		return nil //nolint:nilerr // the rest was shown
	}
	fmt.Fprint(w, "\n", ran.Stdout, ran.Stderr)
	if ran.Status != 0 {
		return exitError{status: ran.Status}
	}
	return nil
}

func (u underway) line() string {
	parts := []string{u.Task + " " + u.Attempt}
	if !u.Begun {
		parts = append(parts, "waits for a worker")
	} else {
		parts = append(parts, strings.TrimSpace(u.Progress.Phase+" on "+cmp.Or(u.Progress.Host, "a worker")))
	}
	if u.Try > 1 {
		parts = append(parts, fmt.Sprintf("try %d", u.Try))
	}
	if cost := u.Progress.Usage.CostUSD; cost != nil {
		parts = append(parts, human.Dollars(*cost))
	}
	if u.Progress.Text != "" {
		parts = append(parts, u.Progress.Text)
	}
	if u.Failure != "" {
		first, _, _ := strings.Cut(u.Failure, "\n")
		parts = append(parts, "before: "+first)
	}
	return strings.Join(parts, " · ")
}
