package loop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/proc"
	"ralph/internal/redact"
	"ralph/verify"
)

// verdict asks for one, and is guarded as the work is: it ends with errOverspent when
// a budget is passed meanwhile. A verdict that was given all the same counts.
func (a *attempt) verdict(ctx context.Context, text string) (verify.Verdict, error) {
	ctx, cut := context.WithCancelCause(ctx)
	guarding := a.guard(func(ctx context.Context) error {
		if over := a.spentUp(ctx); over != nil {
			return errOverspent{*over}
		}
		return nil
	}).Watch(ctx, cut)
	v, err := verify.Ask(ctx, text, func(ctx context.Context, try int) (verify.Verifier, error) {
		if over := a.spentUp(ctx); over != nil && try > 1 { // the first was asked about already
			cut(errOverspent{*over})
			return nil, context.Cause(ctx)
		}
		return a.openJudge(ctx)
	})
	cut(nil)
	<-guarding
	return redact.Deep(a.opts.Redact, v), err
}

// openJudge opens the next session that is to give a verdict, in a folder of its own.
func (a *attempt) openJudge(ctx context.Context) (verify.Verifier, error) {
	a.judges++
	folder := filepath.Join(a.folder, "verify-"+strconv.Itoa(a.judges))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	judge := ""
	s, err := a.start(ctx, Opening{
		Run: a.run, Task: a.claim.Task, Iteration: a.iteration, Limit: a.opts.Limit, Model: a.choice.Model, Folder: folder, Judge: true,
		Agent: a.substitute(), Observe: a.observe,
		Started: func(agent string, _ proc.Identity) error { judge = agent; return nil },
	})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.active[a.claim.Attempt+folder] = s
	a.mu.Unlock()
	return &judging{Session: s, attempt: a, agent: judge, key: a.claim.Attempt + folder}, nil
}

// judging is a session that gives a verdict.
type judging struct {
	Session
	attempt *attempt
	agent   string
	key     string
	refused bool // the provider had no room, so nothing was paid
}

// Prompt is the session's, but a turn that ended by itself while it was being cut
// short is whole. From now on it costs something, whether or not we live to write
// down what.
func (j *judging) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	used := j.attempt.usage()
	j.attempt.note(ctx, dag.Note{Usage: &used})
	turn, err := j.Session.Prompt(ctx, text)
	if asOverspent(context.Cause(ctx)) != nil && turn.Completed() {
		err = nil
	}
	if !turn.Empty() {
		j.attempt.ledger.prove(j.attempt.judgeName())
	}
	j.refused = turn.Empty() && (errors.Is(err, acp.RateLimited) || errors.Is(err, acp.AuthRequired))
	return turn, err
}

// Close is the session's, and keeps what it used.
func (j *judging) Close() error {
	err := j.Session.Close()
	j.attempt.closing(j.key, j.agent, j.Session, !j.refused)
	return err
}
