package acp

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ralph/internal/lazyregexp"
	"ralph/internal/ratelimit"
	"ralph/internal/redact"
)

const codeAuthRequired = -32000

// Compiled when first needed: a helper, which is this program too, never does.
var (
	authText   = lazyregexp.New(`(?i)\b(unauthorized|authentication[ _](required|failed|error)|invalid (api|x-api)[ -]key|not logged in)\b`)
	authStatus = lazyregexp.New(`\b40[13]\b`)
)

// classify turns an error that the agent answered into one of ours. Agents say
// the same thing in many ways: as the code itself, as a status somewhere in
// the data, or in the text only.
func classify(op string, err error, hide *redact.Redactor, now time.Time) *Error {
	e := &Error{Kind: Refused, Op: op}
	var re *sdk.RequestError
	var data []byte
	if !errors.As(err, &re) {
		e.Kind, e.Text, e.Err = Protocol, cut(hide.Text(err.Error()), 1000), err
		return e
	}
	e.Code, e.Text = re.Code, cut(hide.Text(re.Message), 1000)
	if re.Data != nil {
		if raw, err := json.Marshal(re.Data); err == nil && len(raw) <= 1<<16 {
			data, e.Data = raw, json.RawMessage(hide.Bytes(raw))
		}
	}
	status := 0
	if re.Code >= 400 && re.Code < 600 {
		status = re.Code
	}
	seen := ratelimit.Collect(re.Message, status, data, now)
	text := re.Message + " " + seen.Details
	if m := authStatus().FindString(text); seen.Status == 0 && m != "" {
		seen.Status, _ = strconv.Atoi(m)
	}
	l, limited := seen.Limit()
	switch {
	case limited:
		e = rateLimited(e, l, now)
	case re.Code == codeAuthRequired || seen.Status == 401 || seen.Status == 403 || authText().MatchString(text):
		e.Kind = AuthRequired
	}
	if e.Kind != Refused {
		e.HTTPStatus = seen.Status
	}
	if seen.Details != "" {
		e.Text = strings.TrimSpace(e.Text + ": " + cut(hide.Text(seen.Details), 500))
	}
	return e
}

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
		return errDeaf(op) // it still talks
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
