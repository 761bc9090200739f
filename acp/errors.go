package acp

import (
	"fmt"
	"strings"
	"time"

	"ralph/internal/proc"
)

// Kind says what went wrong, for callers to branch on:
// errors.Is(err, acp.IdleTimeout) or a switch on Error.Kind.
type Kind string

// The kinds there are.
const (
	NotFound         Kind = "not_found"         // no such command
	CannotStart      Kind = "cannot_start"      // the system refused to run it
	HandshakeTimeout Kind = "handshake_timeout" // no session in time
	WrongVersion     Kind = "wrong_version"     // it speaks another protocol version
	AuthRequired     Kind = "auth_required"     // it wants a login first
	ModelUnknown     Kind = "model_unknown"     // it does not offer the model
	Died             Kind = "died"              // its process ended
	IdleTimeout      Kind = "idle_timeout"
	TurnTimeout      Kind = "turn_timeout"
	RateLimited      Kind = "rate_limited"
	Refused          Kind = "refused"   // it answered with an error of its own
	Protocol         Kind = "protocol"  // it broke the protocol
	Unkept           Kind = "unkept"    // what it said could not be stored or read back, as on a full disk
	Cancelled        Kind = "cancelled" // our context was cancelled
	Closed           Kind = "closed"    // the session was closed, by us
)

// Error makes a Kind usable with errors.Is.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is every error of this package. Fields that do not belong to its Kind
// are zero.
type Error struct {
	Kind Kind
	Op   string // what was being done: start, initialize, session/new, session/prompt, ...
	Text string // the details, redacted

	Code       int           // Refused, RateLimited, AuthRequired: of the agent's answer
	RetryAfter time.Duration // RateLimited: if it was said
	Until      time.Time     // RateLimited: the same as a moment
	Methods    []AuthMethod  // AuthRequired: what the agent offers
	Offered    []string      // ModelUnknown: what the agent offers
	Exit       *proc.Exit    // Died: how
	Stderr     string        // Died, HandshakeTimeout: the tail of its stderr

	Err error // the cause, if there is one
}

// AuthMethod is a way to log in that an agent offers.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Op, e.Kind.Error())
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	if e.Exit != nil {
		fmt.Fprintf(&b, ": %s", *e.Exit)
	}
	if last := lastLine(e.Stderr); last != "" {
		b.WriteString(": " + last)
	}
	return b.String()
}

// Is matches a Kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

func (e *Error) Unwrap() error { return e.Err }

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return cut(line, 200)
}

// cut shortens text to at most n bytes, at a rune.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
