package acp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
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
	authText = lazyregexp.New(`(?i)\b(unauthorized|authentication[ _](required|failed|error)|invalid (api|x-api)[ -]key|not logged in)\b`)
	httpText = lazyregexp.New(`\b(401|403|429|529)\b`)
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
	seen := facts{}
	seen.look(re.Data, 0)
	if seen.status == 0 && re.Code >= 400 && re.Code < 600 {
		seen.status = re.Code
	}
	l, limited := ratelimit.Recognise(re.Message, seen.status, data, now, now.Location())
	text := re.Message + " " + seen.text.String()
	if m := httpText().FindString(text); seen.status == 0 && m != "" {
		seen.status, _ = strconv.Atoi(m)
	}
	switch {
	case limited:
		e = rateLimited(e, l, now)
	case re.Code == codeAuthRequired || seen.status == 401 || seen.status == 403 || authText().MatchString(text):
		e.Kind = AuthRequired
	}
	if e.Kind != Refused {
		e.HTTPStatus = seen.status
	}
	if detail := strings.TrimSpace(seen.text.String()); detail != "" {
		e.Text = strings.TrimSpace(e.Text + ": " + cut(hide.Text(detail), 500))
	}
	return e
}

type facts struct {
	status int
	text   strings.Builder
}

// look walks the data a few levels deep; agents nest their provider's error.
func (f *facts) look(v any, depth int) {
	if depth > 4 || f.text.Len() > 4096 {
		return
	}
	switch v := v.(type) {
	case string:
		f.text.WriteString(v + " ")
	case []any:
		for _, item := range v {
			f.look(item, depth+1)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.member(strings.ToLower(key), v[key], depth)
		}
	}
}

func (f *facts) member(key string, item any, depth int) {
	number, isNumber := item.(float64)
	if text, ok := item.(string); ok {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			number, isNumber = n, true
		}
	}
	switch key {
	case "status", "statuscode", "status_code", "httpstatus", "http_status", "httpstatuscode", "code":
		if isNumber && number >= 400 && number < 600 {
			f.status = int(number)
			return
		}
	case "retryafter", "retry_after", "retry-after":
		if isNumber {
			return // a time, not a text
		}
	case "authmethods":
		return // known since initialize, and no part of what happened
	}
	f.look(item, depth+1)
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
