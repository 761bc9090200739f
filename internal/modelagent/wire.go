package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/ratelimit"
	"ralph/internal/redact"
)

const (
	maxRefusal = 64 << 10 // of an answer that is no reply
	maxText    = 500      // of a failure
)

// wire is the way to one server.
type wire struct {
	address   string
	key, base string // the variables with the key and with the address, for people who are told to look there
	transport http.RoundTripper
	silence   time.Duration
	now       func() time.Time
	secrets   *redact.Redactor
}

// exchange is one request and its answer. It ends where nothing arrives for too long. Libraries use it as their HTTP
// client: unlike http.Client it follows no redirect, which could take the key elsewhere.
type exchange struct {
	*wire
	alive func() // is called whenever something arrives
	timer *time.Timer
	sent  bool
	body  io.ReadCloser // of the answer
}

// begin prepares an exchange that lasts until end is called.
func (w *wire) begin(ctx context.Context, alive func()) (_ context.Context, x *exchange, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := &Failure{Kind: Broken, Text: "the provider sent nothing for " + human.Duration(w.silence)}
	x = &exchange{wire: w, alive: alive, timer: time.AfterFunc(w.silence, func() { cancel(silent) })}
	return ctx, x, func() {
		x.timer.Stop()
		cancel(nil)
	}
}

// Do sends a request once. Anything but an answer with status 200 is a *Failure.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	x.sent = true
	answer, err := x.transport.RoundTrip(r)
	if err != nil {
		return nil, x.unreachable(err)
	}
	x.body = &watched{ReadCloser: answer.Body, x: x}
	answer.Body = x.body
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal)) // the status says enough
	return nil, x.failure(answer.StatusCode, answer.Header, body)
}

// watched is a body that tells its exchange of everything that arrives.
type watched struct {
	io.ReadCloser
	x *exchange
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.x.timer.Reset(w.x.silence)
		w.x.alive()
	}
	return n, err
}

// why turns the end of an exchange without a reply into what Send returns; err is nil if the answer just ended.
func (x *exchange) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the caller's, or that of silence
	}
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case !x.sent:
		return &Failure{Kind: Bad, Text: x.clean(err.Error())}
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Failure{Kind: Broken, Text: "the provider's answer broke off"}
	}
	return &Failure{Kind: Broken, Text: x.clean("the provider's answer broke off: " + err.Error())}
}

// unreachable says that a server is not there, in the words of the operating system.
func (w *wire) unreachable(err error) *Failure {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	place := w.address
	if u, err := url.Parse(place); err == nil {
		place = u.Scheme + "://" + u.Host // what else stands there may be a secret
	}
	text := fmt.Sprintf("no server answers at %s: %v", place, err)
	if w.base != "" {
		text += "; start it, or check " + w.base
	}
	return &Failure{Kind: Broken, Text: w.clean(text)}
}

// What providers say and call it when a request does not fit into the window.
var tooLong = []string{
	"prompt is too long", "input is too long", "context_length_exceeded", "exceed_context_size", "context length",
	"context size", "context window", "context limit", "request_too_large",
}

// failure sorts an answer that is no reply.
func (w *wire) failure(status int, header http.Header, body []byte) *Failure {
	text, code := refusal(body)
	text = cmp.Or(text, http.StatusText(status), "the server gave no reason")
	about := strings.ToLower(text + " " + code)
	says := func(phrase string) bool { return strings.Contains(about, phrase) }
	f := &Failure{Status: status}
	switch {
	case says("model_not_found"), status == http.StatusNotFound && says("model"):
		f.Kind = NoModel
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Kind = NoKey
	case status == http.StatusTooManyRequests:
		f.Kind, f.After = Limited, w.after(text, header)
	case status == http.StatusServiceUnavailable, status == 529:
		f.Kind, f.After = Overloaded, w.after(text, header)
	case status == http.StatusRequestEntityTooLarge, slices.ContainsFunc(tooLong, says):
		f.Kind = TooLong
	case status >= 500, status == http.StatusRequestTimeout:
		f.Kind = Broken
	case status < 400:
		f.Kind, text = Bad, fmt.Sprintf("the server refers to %s; change %s", header.Get("Location"), w.base)
	default:
		f.Kind = Bad
	}
	f.Text = w.clean(text)
	if f.Kind == NoKey && w.key != "" {
		f.Text += "; check " + w.key
	}
	return f
}

// after says how long to wait: what the headers say, or else the words.
func (w *wire) after(text string, header http.Header) time.Duration {
	times := map[string]string{}
	for name := range header {
		if lower := strings.ToLower(name); strings.Contains(lower, "retry-after") || strings.Contains(lower, "ratelimit") {
			times[lower] = header.Get(name)
		}
	}
	data, _ := json.Marshal(times) // strings can always be written
	now := w.now()
	limit, _ := ratelimit.Collect(text, http.StatusTooManyRequests, data, now).Limit()
	if limit.Until.IsZero() {
		return 0
	}
	return limit.Until.Sub(now)
}

// clean makes a text fit to be shown: one line, not long, without secrets.
func (w *wire) clean(text string) string {
	return plain.Cut(strings.Join(strings.Fields(w.secrets.Text(text)), " "), maxText)
}

// refusal reads the message of an error, and what programs call it. Every server writes it in another way.
func refusal(body []byte) (text, code string) {
	var whole map[string]any
	if json.Unmarshal(body, &whole) != nil {
		text = strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") { // a page for people who use a browser
			text = ""
		}
		return text, ""
	}
	inner, ok := whole["error"].(map[string]any)
	if !ok {
		inner = whole
	}
	for _, v := range []any{inner["message"], whole["error"], inner["detail"], whole["message"]} {
		if s, ok := v.(string); ok && text == "" {
			text = s
		}
	}
	if text == "" {
		text = string(body)
	}
	return text, fmt.Sprint(inner["type"], " ", inner["code"])
}
