package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ralph/internal/bounded"
	"ralph/internal/outbox"
)

// tokenError is a token that the service does not accept. Trying again helps only once somebody has changed it.
type tokenError struct{ variable, why string }

func (e *tokenError) Error() string {
	return fmt.Sprintf("the token in %s is not accepted (%s): set the variable to the token of the bot and restart ralph serve", e.variable, e.why)
}

// refusedError is what the service will refuse the next time, too.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return "it was refused: " + e.why }

// limitError is a limit of the service: what was called is to be called again later.
type limitError struct{ after time.Duration }

func (e *limitError) Error() string {
	return fmt.Sprintf("this chat gets too many messages; try it again in %v", e.after)
}

// unlessRefused forgives what would be refused the next time, too.
func unlessRefused(err error) error {
	if refused := (*refusedError)(nil); errors.As(err, &refused) {
		return nil
	}
	return err
}

// caller calls the methods of a service.
type caller struct {
	web  outbox.Web
	wait func(context.Context, time.Duration) error
	base string // of the address
}

// impatient is a caller that returns a limit instead of waiting.
func (c caller) impatient() caller {
	c.wait = func(_ context.Context, d time.Duration) error { return &limitError{d} }
	return c
}

const callTimeout = 20 * time.Second

// answer is what a service says: the first fields are Telegram's, then Slack's.
type answer struct {
	Result      json.RawMessage
	Description string
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	}
	Error, Needed string

	OK     bool
	body   []byte
	status int
}

// call posts JSON, or a form, and waits as long as the service asks it to. The path may be secret: it is in no error.
func (c caller) call(ctx context.Context, path, bearer string, in any, timeout time.Duration) (a answer, err error) {
	body, err := json.Marshal(in)
	kind := "application/json"
	if values, ok := in.(url.Values); ok {
		body, kind = []byte(values.Encode()), "application/x-www-form-urlencoded"
	}
	for err == nil {
		var after int
		if a, after, err = c.once(ctx, path, bearer, kind, body, timeout); err != nil || a.status != http.StatusTooManyRequests {
			break
		}
		err = c.wait(ctx, time.Duration(max(min(cmp.Or(after, a.Parameters.RetryAfter), 1<<20), 1))*time.Second)
	}
	return a, err
}

func (c caller) once(ctx context.Context, path, bearer, kind string, body []byte, timeout time.Duration) (a answer, after int, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return a, 0, errors.New("the url is none")
	}
	req.Header.Set("User-Agent", "ralph")
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := c.web.Transport().RoundTrip(req) // not http.Client: it follows redirects and puts the address into its errors
	if err == nil {
		defer resp.Body.Close()
		a.body, err = bounded.Read(resp.Body, bounded.Data)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.New("no answer in time")
	}
	if err != nil {
		return a, 0, fmt.Errorf("%s: %w", outbox.Host(c.base), err)
	}
	_ = json.Unmarshal(a.body, &a)                          // what is no JSON is not OK
	after, _ = strconv.Atoi(resp.Header.Get("Retry-After")) // without one, the body has it
	a.status = resp.StatusCode
	return a, after, nil
}
