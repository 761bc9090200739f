package acp

import (
	"encoding/json"
	"strings"
	"time"

	"ralph/internal/ratelimit"
	"ralph/internal/redact"
)

// trouble is an error that an agent reports beside its text, and then ends its turn
// as though nothing had happened.
type trouble struct {
	data    json.RawMessage
	Info    json.RawMessage `json:"codexErrorInfo"`    // what kind of error it is, with the status of HTTP if it has one
	Details string          `json:"additionalDetails"` // what it says about it
	Retries bool            `json:"willRetry"`         // it tries again by itself
	broken  bool            // and has given up
	after   string          // what was said since
}

// report reads what Codex says about its own state.
func (t *turn) report(meta json.RawMessage) {
	var m struct {
		Codex struct {
			Error  json.RawMessage `json:"error"`
			Status struct {
				Type string `json:"type"`
			} `json:"threadStatus"`
		} `json:"codex"`
	}
	lenient(meta, &m)
	if given(m.Codex.Error) {
		t.trouble = &trouble{data: m.Codex.Error}
		lenient(m.Codex.Error, t.trouble)
	}
	if t.trouble != nil && m.Codex.Status.Type == "systemError" {
		t.trouble.broken = true
	}
}

// ended says that the turn ended with this error, and that the agent did not
// recover from it.
func (e *trouble) ended(now time.Time) bool {
	text := strings.TrimSpace(e.after)
	if !e.Retries || e.broken || text == "" || text == strings.TrimSpace(e.Details) {
		return true
	}
	_, notice := ratelimit.Sentence(text, now)
	return notice
}

// limit is the limit that the error is about. Its kind and status decide if it has
// any, and not what it says.
func (e *trouble) limit(now time.Time) (ratelimit.Limit, bool) {
	whole, met := ratelimit.Collect("", 0, e.data, now).Limit()
	raw, _ := json.Marshal(map[string]json.RawMessage{"codexErrorInfo": e.Info}) // it was read from JSON
	info := ratelimit.Collect("", 0, raw, now)
	if l, byKind := info.Limit(); byKind {
		if met {
			l.Until, l.Reason = whole.Until, whole.Reason
		}
		return l, true
	}
	return whole, met && info.Status == 0
}

// limit is the provider's limit that ended a turn which the agent answered in the
// ordinary way, or nil. Where it reported an error, that decides and not its words.
func (t *turn) limit(result Turn, hide *redact.Redactor, now time.Time) *Error {
	var l ratelimit.Limit
	var met bool
	switch e := t.trouble; {
	case result.Stop == "" || result.Stop == StopCancelled:
	case e != nil && e.ended(now):
		l, met = e.limit(now)
	case result.Stop == StopEnd && result.ToolCalls == 0 && result.Long == nil:
		l, met = ratelimit.Sentence(strings.Join(result.Segments, "\n"), now)
	}
	if !met {
		return nil
	}
	return rateLimited(&Error{Op: opPrompt, Text: hide.Text(l.Reason)}, l, now)
}

func rateLimited(e *Error, l ratelimit.Limit, now time.Time) *Error {
	e.Kind, e.Until = RateLimited, l.Until
	if !l.Until.IsZero() {
		e.RetryAfter = l.Until.Sub(now)
	}
	return e
}
