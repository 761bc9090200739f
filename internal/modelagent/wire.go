package modelagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ralph/internal/bounded"
	"ralph/internal/human"
	"ralph/internal/outbox"
	"ralph/internal/plain"
	"ralph/internal/ratelimit"
	"ralph/internal/redact"
)

const (
	silence = 5 * time.Minute // for which a provider may say nothing
	maxText = 4 << 20         // of a file, a page or an answer, and of a line that it comes in: a model reads less
)

// wire is the way to one server.
type wire struct {
	address   string
	header    http.Header // of every request
	key, base string      // the variables with the key and with the address, for people who are told to look there
	transport http.RoundTripper
	via       func(*http.Request) (*url.URL, error) // finds the proxy
	get       func(string) string
	now       func() time.Time
	secrets   *redact.Redactor
}

func newWire(get func(string) string, address, key, base string, secrets ...string) *wire {
	transport := outbox.Web{Getenv: get}.Transport()
	// A turn is many requests to the same server.
	transport.DisableKeepAlives, transport.ForceAttemptHTTP2, transport.IdleConnTimeout = false, true, 90*time.Second
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second} // or a connection that is gone looks like a slow model
	if way, err := url.Parse(get("RALPH_PROXY")); err == nil && way.Host != "" {
		transport.Proxy = http.ProxyURL(way) // the only way out of the sandbox, also to servers on this machine
	}
	header := http.Header{"User-Agent": {"ralph"}, "Content-Type": {"application/json"}}
	w := &wire{address: address, header: header, key: key, base: base, transport: transport, via: transport.Proxy, get: get, secrets: redact.New(secrets...)}
	w.now = time.Now
	return w
}

// exchange sends a request, or asks without a body, and has the answer read. It calls alive whenever something arrives,
// and gives up where nothing does. Its error is a *Failure unless ctx ended.
func (w *wire) exchange(ctx context.Context, path string, body []byte, alive func(), read func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := &Failure{Kind: Broken, Text: "the provider sent nothing for " + human.Duration(silence)}
	timer := time.AfterFunc(silence, func() { cancel(silent) })
	defer timer.Stop()
	err := w.roundTrip(ctx, path, body, func(answer io.Reader) error {
		return read(io.TeeReader(answer, arrived(func() { timer.Reset(silence); alive() })))
	})
	var f *Failure
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f):
		return f
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Failure{Kind: Broken, Text: "the provider's answer broke off"}
	}
	return &Failure{Kind: Broken, Text: w.clean("the provider's answer broke off: " + err.Error())}
}

// roundTrip follows no redirect, which could take the key elsewhere.
func (w *wire) roundTrip(ctx context.Context, path string, body []byte, read func(io.Reader) error) error {
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, w.address+path, bytes.NewReader(body))
	if err != nil {
		return w.unreachable(err)
	}
	r.Header = w.header
	answer, err := w.transport.RoundTrip(r)
	if err != nil {
		return w.unreachable(err)
	}
	defer answer.Body.Close()
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // some servers do not say
	switch {
	case answer.StatusCode == http.StatusOK && media == "text/html":
		return &Failure{Kind: Bad, Text: fmt.Sprintf("%s answers with a web page; check %s", w.place(), w.base)}
	case answer.StatusCode == http.StatusOK:
		return read(answer.Body)
	}
	text, _ := bounded.Read(answer.Body, maxText) // the status says enough
	return w.failure(answer.StatusCode, answer.Header, text)
}

// arrived is told of everything that is read.
type arrived func()

func (a arrived) Write(p []byte) (int, error) { a(); return len(p), nil }

// The status that an error in the midst of an answer would have had, by what it is called.
var statuses = map[string]int{
	"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429, "billing_error": 403, "overloaded_error": 529, "overloaded": 529,
	"authentication_error": 401, "invalid_api_key": 401, "permission_error": 403, "not_found_error": 404,
	"invalid_request_error": 400, "context_length_exceeded": 400, "exceed_context_size_error": 400, "request_too_large": 413,
}

func streamStatus(code string, otherwise int) int {
	for word := range strings.FieldsSeq(code) {
		number, _ := strconv.Atoi(word)
		if status := cmp.Or(statuses[word], number); status >= 400 && status < 600 {
			return status
		}
	}
	return otherwise
}

// unreachable says that a server is not there, in the words of the operating system.
func (w *wire) unreachable(err error) *Failure {
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	place, advice := w.place(), "start it, or check "+w.base
	if proxy, variable := w.proxy(); proxy != "" {
		place, advice = place+" through the proxy "+proxy, "check "+variable
	} else if w.address == anthropicAddress || w.address == openaiAddress {
		advice = "check the network"
	}
	return &Failure{Kind: Broken, Text: w.clean(fmt.Sprintf("no server answers at %s: %v; %s", place, err, advice))}
}

// What providers say and call it when a request does not fit into the window.
var tooLong = []string{
	"prompt is too long", "input is too long", "context_length_exceeded", "exceed_context_size", "context length",
	"context size", "context window", "context limit", "request_too_large",
}

// What they say and call it when nobody has paid. Waiting does not mend that.
var unpaid = []string{"credit balance is too low", "insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active"}

// failure sorts an answer that is no reply. Without a status it was part of one, and with 200 in place of one.
func (w *wire) failure(status int, header http.Header, body []byte) *Failure {
	text, code := refusal(body)
	switch status {
	case 0:
		status = streamStatus(code, http.StatusInternalServerError)
	case http.StatusOK:
		status = streamStatus(code, http.StatusBadRequest)
	}
	text = cmp.Or(text, http.StatusText(status), "the server gave no reason")
	about := strings.ToLower(text + " " + code)
	says := func(phrase string) bool { return strings.Contains(about, phrase) }
	f := &Failure{Status: status}
	advice := ""
	switch {
	case says("model_not_found"), status == http.StatusNotFound && says("model"):
		f.Kind = NoModel
	case status == http.StatusProxyAuthRequired:
		proxy, variable := w.proxy()
		f.Kind, text = Bad, fmt.Sprintf("the proxy %s wants a name and a password; put them into %s", proxy, variable)
	case status == http.StatusForbidden && strings.HasPrefix(text, "ralph's proxy refuses"):
		f.Kind, advice = Bad, "; add it there as it is written here"
	case status == http.StatusPaymentRequired, slices.ContainsFunc(unpaid, says):
		f.Kind, advice = NoKey, "; pay for more, or use another key in "+w.key
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Kind, advice = NoKey, "; check "+w.key
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
	f.Text = w.clean(text) + advice
	return f
}

// after says how long to wait: what the headers say, or else the words.
func (w *wire) after(text string, header http.Header) time.Duration {
	times := maps.Clone(header)
	maps.DeleteFunc(times, func(name string, _ []string) bool {
		return !strings.Contains(name, "Retry-After") && !strings.Contains(name, "Ratelimit")
	})
	data, _ := json.Marshal(times) // strings can always be written
	now := w.now()
	if limit, _ := ratelimit.Collect(text, http.StatusTooManyRequests, data, now).Limit(); limit.Until.After(now) {
		return limit.Until.Sub(now)
	}
	return 0
}

// clean makes a text fit to be shown: one line, not long, without secrets.
func (w *wire) clean(text string) string {
	return plain.Excerpt(w.secrets.Text(text))
}

// refusal reads the message of an error, and what programs call it. Every server writes it in another way.
func refusal(body []byte) (text, code string) {
	var whole map[string]any
	if json.Unmarshal(body, &whole) != nil {
		if text = strings.TrimSpace(string(body)); strings.HasPrefix(text, "<") {
			text = "" // a page for people who use a browser
		}
		return text, ""
	}
	inner, ok := whole["error"].(map[string]any)
	if !ok {
		inner = whole
	}
	for _, name := range []string{"message", "error", "detail"} {
		if s, ok := inner[name].(string); ok {
			text = cmp.Or(text, s)
		}
	}
	return cmp.Or(text, string(body)), fmt.Sprint(inner["type"], " ", inner["code"])
}
