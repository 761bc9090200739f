package acp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

const opPrompt = "session/prompt"

type outcome struct {
	raw json.RawMessage
	err error
}

// Prompt sends one prompt and waits for the end of the turn. The Turn holds
// what was received also when there is an error, which is an *Error then. When
// ctx is cancelled, or a limit is hit, the agent is asked to stop and given the
// grace; if it still does not answer, it is ended, and the session with it.
func (s *Session) Prompt(ctx context.Context, text string) (Turn, error) {
	s.mu.Lock()
	if s.turn != nil {
		s.mu.Unlock()
		return Turn{}, &Error{Kind: Protocol, Op: opPrompt, Text: "another prompt is under way"}
	}
	s.said.close()
	s.said = &Speech{folder: s.cfg.Folder}
	s.turn = newTurn(s.maxText, s.said)
	select {
	case <-s.faults: // of the turn before
	default:
	}
	s.mu.Unlock()
	s.cancelling.Store(false)

	began := s.cfg.Now()
	o, cause := s.converse(ctx, text)
	s.step(opPrompt, began)
	if cause == nil && o.err != nil {
		cause = s.explain(opPrompt, o.err)
	}
	t, limited := s.endTurn(o)
	s.observer.flush(false)
	switch {
	case cause != nil:
		return t, cause
	case t.Stop == "":
		return t, &Error{Kind: Protocol, Op: opPrompt, Text: "the answer has no stopReason"}
	case limited != nil:
		return t, limited
	}
	return t, nil
}

func (s *Session) converse(ctx context.Context, text string) (outcome, *Error) {
	if ctx.Err() != nil {
		return outcome{err: ctx.Err()}, s.cancelled(ctx, opPrompt)
	}
	answer := s.send(ctx, opPrompt, sdk.PromptRequest{
		SessionId: sdk.SessionId(s.id),
		Prompt:    []sdk.ContentBlock{sdk.TextBlock(s.hide.Text(text))},
	})
	l := limits{idle: newIdleWatch(s.cfg.IdleTimeout, s.activity), faults: s.faults}
	if s.cfg.TurnTimeout > 0 {
		l.turn = time.After(s.cfg.TurnTimeout)
	}
	o, cause := s.await(ctx, opPrompt, answer, l)
	if cause != nil {
		o = s.interrupt(ctx, answer)
	}
	return o, cause
}

// limits are what ends a turn before its answer; the zero value is none.
type limits struct {
	turn   <-chan time.Time
	idle   idleWatch
	faults <-chan *Error
}

// await waits for an answer, or for a reason not to wait any more.
func (s *Session) await(ctx context.Context, op string, answer <-chan outcome, l limits) (outcome, *Error) {
	broken := s.outlet.broken
	var deaf <-chan time.Time
	for {
		select {
		case o := <-answer:
			return o, nil
		case <-ctx.Done():
			return outcome{}, s.cancelled(ctx, op)
		case <-l.turn:
			return outcome{}, &Error{Kind: TurnTimeout, Op: op, Text: "after " + s.cfg.TurnTimeout.String()}
		case cause := <-l.faults:
			return outcome{}, cause
		case <-broken:
			// It is about to die, most likely, and then its end says more.
			broken = nil
			deaf = time.After(s.cfg.Grace)
		case <-deaf:
			return outcome{}, errDeaf(op)
		case <-l.idle.ticks:
			if l.idle.expired() {
				return outcome{}, &Error{Kind: IdleTimeout, Op: op, Text: "nothing for " + s.cfg.IdleTimeout.String()}
			}
		}
	}
}

// interrupt asks the agent to stop, allows it the grace, and ends it if it does
// not answer. Sending may block for ever if the agent does not read.
func (s *Session) interrupt(ctx context.Context, answer <-chan outcome) outcome {
	s.cancelling.Store(true)
	s.mu.Lock()
	close(s.turn.cancelled)
	s.mu.Unlock()
	live := context.WithoutCancel(ctx)
	call := s.calls
	go func() {
		// A cancel that overtakes its prompt is not heard.
		if s.outlet.sent(call) {
			_ = s.conn.SendNotification(live, "session/cancel", sdk.CancelNotification{SessionId: sdk.SessionId(s.id)})
		}
	}()
	select {
	case o := <-answer:
		return o
	case <-time.After(s.cfg.Grace):
	}
	_ = s.end() // Close returns the same error
	return <-answer
}

func (s *Session) cancelled(ctx context.Context, op string) *Error {
	cause := context.Cause(ctx)
	if errors.Is(cause, HandshakeTimeout) {
		return &Error{Kind: HandshakeTimeout, Op: op, Text: "after " + s.cfg.HandshakeTimeout.String(), Stderr: s.stderr.last()}
	}
	return &Error{Kind: Cancelled, Op: op, Err: cause}
}

// endTurn is the turn as far as it came, and the limit that it ended at if the
// agent answered as though nothing had happened.
func (s *Session) endTurn(o outcome) (Turn, *Error) {
	var a struct {
		Stop StopReason `json:"stopReason"`
	}
	if o.err == nil {
		lenient(o.raw, &a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn.result()
	t.Stop = a.Stop
	limited := s.turn.limit(t, s.hide, s.cfg.Now())
	t.Unserved = limited != nil && t.ToolCalls == 0
	answered := t.Stop == StopEnd || o.err != nil && s.intake.wasAnswered()
	said := t.spoken() && !t.Unserved
	t.Usage = s.meter.settle(answerUsage(o.raw), answered && !said && t.ToolCalls == 0)
	if t.Usage.counted() {
		s.observer.push(UsageSeen{})
	}
	s.turn = nil
	return t, limited
}

// ask sends a request of the handshake and waits for its answer.
func (s *Session) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, s.cancelled(ctx, method)
	}
	defer s.step(method, s.cfg.Now())
	o, cause := s.await(ctx, method, s.send(ctx, method, params), limits{})
	if cause == nil && o.err != nil {
		cause = s.explain(method, o.err)
	}
	if cause != nil {
		return nil, cause
	}
	return o.raw, nil
}

// step reports how long a step took, also one that failed.
func (s *Session) step(op string, began time.Time) {
	if s.cfg.Stepped != nil {
		s.cfg.Stepped(op, s.cfg.Now().Sub(began))
	}
}

// errDeaf is an agent that lives and cannot be written to.
func errDeaf(op string) *Error {
	return &Error{Kind: Protocol, Op: op, Text: "the agent closed its input"}
}

// send sends a request. It outlives ctx: a cancelled request would return at
// once, and the answer would be lost. One is under way at a time.
func (s *Session) send(ctx context.Context, method string, params any) <-chan outcome {
	s.calls++
	finish := s.intake.begin(s.calls)
	answer := make(chan outcome, 1)
	live := context.WithoutCancel(ctx)
	go func() {
		raw, err := sdk.SendRequest[json.RawMessage](s.conn, live, method, params)
		answer <- outcome{raw: raw, err: err}
		finish()
	}()
	return answer
}

// idleTicks is how finely silence is measured: it is noticed after at least the
// limit and at most one part in so many more.
const idleTicks = 8

// idleWatch notices that a count has not grown for a time. It looks now and
// then instead of being called each time: there are tens of thousands a second.
type idleWatch struct {
	count func() int64
	ticks <-chan time.Time // nil without a limit
	last  int64
	still int
}

func newIdleWatch(limit time.Duration, count func() int64) idleWatch {
	w := idleWatch{count: count, last: count()}
	if limit > 0 {
		w.ticks = time.Tick(max(limit/idleTicks, 1))
	}
	return w
}

// expired is asked at every tick. The tick at which the count last grew may
// have come right after it, so one more than all of them must pass.
func (w *idleWatch) expired() bool {
	if now := w.count(); now != w.last {
		w.last, w.still = now, 0
		return false
	}
	w.still++
	return w.still > idleTicks
}
