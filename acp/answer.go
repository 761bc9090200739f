package acp

import (
	"encoding/json"
	"errors"
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
	var re *sdk.RequestError
	if !errors.As(err, &re) {
		return &Error{Kind: Protocol, Op: op, Text: cut(hide.Text(err.Error()), 1000), Err: err}
	}
	e := &Error{Kind: Refused, Op: op, Code: re.Code, Text: cut(hide.Text(re.Message), 1000)}
	status := 0
	if re.Code >= 400 && re.Code < 600 {
		status = re.Code
	}
	data, _ := json.Marshal(re.Data) // it was read from JSON
	seen := ratelimit.Collect(re.Message, status, data, now)
	if seen.Details != "" {
		e.Text = strings.TrimSpace(e.Text + ": " + cut(hide.Text(seen.Details), 500))
	}
	// The protocol's own error is what it says, whatever words come with it: a limit passes, an account that is not paid does not.
	login := re.Code == codeAuthRequired && re.Message == sdk.NewAuthRequired(nil).Message
	if l, limited := seen.Limit(); limited && !login {
		return rateLimited(e, l, now)
	}
	text := re.Message + " " + seen.Details
	if re.Code == codeAuthRequired || seen.Status == 401 || seen.Status == 403 || authText.Get().MatchString(text) ||
		seen.Status == 0 && authStatus.Get().MatchString(text) {
		e.Kind = AuthRequired
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
