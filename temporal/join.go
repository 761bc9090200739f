package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

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
	w, err := h.srv.whose(ctx, h.id)
	switch {
	case err != nil:
		return err
	case w.run == h.run.ID:
		h.srv.say("joined workflow %s on %s", h.id, h.srv.name)
		return nil
	case w.place == h.place:
		h.srv.say("ending workflow %s of run %s, which is over", h.id, w.run)
		return errors.Join(h.srv.TerminateWorkflow(ctx, h.id, w.execution, "its run is over"), errAgain)
	}
	return h.foreign(w)
}

// precheck refuses a run whose workflow is another project's, before the run has begun anything.
func (h *home) precheck(ctx context.Context) error {
	w, err := h.srv.whose(ctx, h.id)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) || err == nil && (!w.open || w.place == h.place) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.foreign(w)
}

// owned is whose workflow it is.
type owned struct {
	run, place, execution string
	open                  bool
}

func (s *server) whose(ctx context.Context, id string) (w owned, err error) {
	d, err := s.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return w, err
	}
	info := d.GetWorkflowExecutionInfo()
	w.execution, w.open = info.GetExecution().GetRunId(), info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	memo := info.GetMemo().GetFields()
	if err := errors.Join(s.dc.FromPayload(memo["run"], &w.run), s.dc.FromPayload(memo["home"], &w.place)); err != nil {
		return w, serviceerror.NewInvalidArgument(fmt.Sprintf("workflow %s on %s cannot be read: %v", id, s.name, err))
	}
	return w, nil
}

func (h *home) foreign(w owned) error {
	return serviceerror.NewInvalidArgument(fmt.Sprintf(
		"workflow %s on %s is run %s of %s, not of this project; give this one another name: ralph-temporal --project NAME run; or use another namespace",
		h.id, h.srv.name, w.run, w.place))
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

// finish ends the workflow of a run that has ended. We poll its queue, so that it can end only while we are here.
func (h *home) finish(ctx context.Context) {
	if h.run == nil {
		return
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
}
