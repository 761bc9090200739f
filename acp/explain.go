package acp

import (
	"errors"
	"time"
)

var errBadAnswer = errors.New("an answer has a malformed error")

// explain says what an error of the SDK means. The SDK reports an error that
// the agent answered, its death and a broken pipe all alike; whether an answer
// came, why reading ended and what became of the process distinguish them.
func (s *Session) explain(op string, err error) *Error {
	if s.intake.wasAnswered() {
		return classify(op, err, s.hide, s.cfg.Now())
	}
	timer := time.After(s.cfg.Grace)
	select {
	case <-s.intake.done:
	case <-timer:
		return errDeaf(op) // it goes on talking
	}
	if s.intake.err != nil {
		return &Error{Kind: Protocol, Op: op, Text: s.intake.err.Error(), Err: s.intake.err}
	}
	select {
	case <-s.closed:
		return &Error{Kind: Closed, Op: op, Err: err}
	default:
	}
	select {
	case <-s.proc.Exited():
		exit := s.proc.Exit()
		select { // its last words
		case <-s.stderr.done:
		case <-timer:
		}
		return &Error{Kind: Died, Op: op, Exit: &exit, Stderr: s.stderr.last(), Err: err}
	case <-timer:
		return &Error{Kind: Protocol, Op: op, Text: "the agent closed its output", Stderr: s.stderr.last(), Err: err}
	}
}
