package shellagent

import (
	"context"
	"errors"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

const (
	// invalidParams is how a client refuses what it could do.
	invalidParams = -32602
	// outputLimit is how much output the client keeps for us: every look at it
	// goes into a transcript.
	outputLimit = 64 << 10
	// shownLimit is how much of it goes into an update.
	shownLimit = 8 << 10
	// clientGrace bounds the wait for a client that answers nothing any more.
	clientGrace = 30 * time.Second
)

// turn answers one prompt.
type turn struct {
	conn      *acp.AgentSideConnection
	id        acp.SessionId
	session   *session
	poll      time.Duration
	terminals bool
}

func (t turn) run(ctx context.Context, prompt string) (acp.PromptResponse, error) {
	job, problem := read(prompt)
	if strings.HasPrefix(prompt, asksToRepair) && t.session.job.script != "" {
		// The work was not accepted: the same script may do better now.
		job, problem = t.session.job, ""
	}
	var a string
	switch {
	case job.task == "":
		// A question without a task is about the one before: whatever it asks,
		// the verdict has not changed, and nothing is run twice.
		if a = t.session.last; a == "" {
			a = say("This prompt has no section \"Assigned Task\" with the ID of a task, so there is nothing to run.")
		}
	case problem != "":
		a = job.refuse(problem)
	case job.shell == "":
		a = say("The task " + job.task + " has no verify block; its exit status has already decided.\n\n<verify-pass/>")
	default:
		r, err := t.execute(ctx, job)
		var denied *acp.RequestError
		switch {
		case errors.As(err, &denied) && denied.Code == invalidParams: // by a rule of the project, for one
			a = job.refuse(denied.Message)
		case err != nil:
			return stopped(ctx, err)
		default:
			a = job.verdict(r)
		}
	}
	if t.session.last = a; job.script != "" {
		t.session.job = job
	}
	if err := t.update(ctx, acp.UpdateAgentMessageText(a)); err != nil {
		return stopped(ctx, err)
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// stopped answers for a turn that could not go on: a cancel is no error,
// whatever broke because of it.
func stopped(ctx context.Context, err error) (acp.PromptResponse, error) {
	if ctx.Err() != nil {
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil //nolint:nilerr // see above
	}
	return acp.PromptResponse{}, err
}

// execute runs a script in a terminal of the client and shows it as one tool
// call. When ctx ends the script is killed before execute returns.
func (t turn) execute(ctx context.Context, j job) (result, error) {
	if !t.terminals {
		return result{}, acp.NewInvalidRequest(map[string]any{"error": "the client offers no terminals, and a script needs one"})
	}
	// What is begun must be known, reported and cleaned up also after a cancel.
	lasting := context.WithoutCancel(ctx)
	call, err := t.create(lasting, j)
	if err != nil {
		return result{}, err
	}
	defer call.release(lasting)
	if err := call.start(lasting, j); err != nil {
		return result{}, err
	}
	r, err := call.wait(ctx)
	if err != nil {
		call.kill(lasting)
		_ = call.end(lasting, r) // the first error says more
		return result{}, err
	}
	return r, call.end(lasting, r)
}

// create starts the script in a terminal.
func (t turn) create(ctx context.Context, j job) (toolCall, error) {
	ctx, cancel := context.WithTimeout(ctx, clientGrace)
	defer cancel()
	created, err := t.conn.CreateTerminal(ctx, acp.CreateTerminalRequest{
		SessionId: t.id, Command: j.shell, Cwd: acp.Ptr(t.session.cwd), OutputByteLimit: acp.Ptr(outputLimit),
		// -e: the first command that fails decides, not the last one that runs.
		Args: []string{"-e", "-c", j.script},
	})
	return toolCall{turn: t, id: acp.ToolCallId("run-" + created.TerminalId), terminal: created.TerminalId}, err
}

func (t turn) update(ctx context.Context, u acp.SessionUpdate) error {
	return t.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: t.id, Update: u})
}
