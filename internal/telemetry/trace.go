package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"ralph/internal/event"
	"ralph/internal/outbox"
	"ralph/internal/plain"
)

// Tracer makes spans of events: the run, in it its attempts, in those what was
// verified and the calls of tools. It sends them from a goroutine of its own.
type Tracer struct {
	opts     ExportOptions
	exporter *exporter
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	hide     func(string) string

	mu       sync.Mutex
	run      trace.Span
	attempts map[string]*attempt
	ended    int // spans
}

type attempt struct {
	span trace.Span
	open map[string]trace.Span // in it: the gate, the verifier, calls of tools
}

// maxOpen is how many spans of one attempt may be open at once.
const maxOpen = 1000

// NewTracer returns a tracer that sends its spans to a collector; hide removes secrets.
func NewTracer(opts ExportOptions, hide func(string) string) (*Tracer, error) {
	otel.SetLogger(logr.Discard()) // the SDK's default writes to stderr
	x, err := newExporter(opts)
	if err != nil {
		return nil, err
	}
	t := &Tracer{opts: opts, exporter: x, provider: newProvider(x), hide: hide, attempts: map[string]*attempt{}}
	t.tracer = t.provider.Tracer("ralph", trace.WithInstrumentationVersion(opts.Version))
	return t, nil
}

// Close sends what is left, for as long as ExportOptions.Flush, and reports how many
// spans were not sent.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(t.opts.Flush, 5*time.Second))
	defer cancel()
	why := outbox.ErrCrowded
	if t.provider.Shutdown(ctx) != nil {
		why = errors.New("no answer yet")
	}
	t.exporter.mu.Lock()
	sent, last := t.exporter.sent, t.exporter.last
	t.exporter.mu.Unlock()
	_ = t.exporter.Shutdown(context.WithoutCancel(ctx)) // ends a request that hangs
	t.mu.Lock()
	defer t.mu.Unlock()
	if lost := t.ended - sent; lost > 0 {
		return fmt.Errorf("traces: %d spans were not sent to %s: %w", lost, outbox.Host(t.opts.Endpoint), cmp.Or(last, why))
	}
	return nil
}

// Event begins and ends spans.
func (t *Tracer) Event(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case event.RunStarted:
		t.run = t.begin("ralph run", t.opts.Parent, e.At)
		set(t.run, "ralph.run", e.Run)
		if e.Setup != nil {
			set(t.run, "ralph.scope", t.hide(e.Setup.Scope), "ralph.agent", e.Setup.Agent)
		}
	case event.RunEnded:
		t.runEnded(e)
	case event.TaskClaimed:
		a := &attempt{span: t.begin("attempt", t.runContext(), e.At), open: map[string]trace.Span{}}
		set(a.span, "ralph.run", e.Run, "ralph.task", e.Task, "ralph.attempt", e.Attempt, "ralph.title", t.hide(e.Title),
			"ralph.iteration", e.Iteration, "gen_ai.request.model", e.Model)
		t.attempts[e.Attempt] = a
	default:
		if a := t.attempts[e.Attempt]; a != nil {
			t.within(a, e)
		}
	}
}

// within is what happens in an attempt.
func (t *Tracer) within(a *attempt, e event.Event) {
	begin := func(key, name string, facts ...any) {
		if a.open[key] == nil && len(a.open) < maxOpen {
			a.open[key] = t.begin(name, a.span.SpanContext(), e.At)
			set(a.open[key], facts...)
		}
	}
	end := func(key string, failed bool, why string, facts ...any) {
		if s := a.open[key]; s != nil {
			set(s, facts...)
			t.end(s, e.At, failed, why)
			delete(a.open, key)
		}
	}
	switch e.Type {
	case event.GateStarted:
		begin("gate", "verify gate", "ralph.gate", t.hide(e.Gate.Command), "ralph.when", e.Reason)
	case event.GateEnded:
		end("gate", !e.Gate.Passed && e.Reason == "", e.Gate.Exit, "ralph.exit", e.Gate.Exit, "ralph.verdict", string(e.Gate.Verdict))
	case event.VerifierStarted:
		begin("verifier", "verify judge")
	case event.VerifierEnded:
		end("verifier", e.Verdict() == event.VerdictFail, e.Reason, "ralph.verdict", e.Outcome)
	case event.AgentTool:
		key, failed := "tool "+e.Tool.ID, e.Tool.Status == "failed"
		if e.Tool.New {
			begin(key, "tool "+kindOf(e.Tool.Kind), "ralph.tool", t.hide(plain.Cut(e.Tool.Title, most)))
		}
		if failed || e.Tool.Status == "completed" {
			end(key, failed, e.Tool.Error)
		}
	case event.AttemptEnded:
		t.attemptEnded(a, e)
	}
}

func (t *Tracer) attemptEnded(a *attempt, e event.Event) {
	for _, open := range a.open {
		t.end(open, e.At, false, "")
	}
	set(a.span, "ralph.outcome", e.Outcome, "ralph.status", string(e.Status), "ralph.agent", e.Agent, "gen_ai.response.model", e.Model)
	setUsage(a.span, e.Usage)
	t.end(a.span, e.At, !e.AttemptOutcome().Done(), e.Reason)
	delete(t.attempts, e.Attempt)
}

func (t *Tracer) runEnded(e event.Event) {
	for _, a := range t.attempts { // whose end was not reported
		t.end(a.span, e.At, true, "it was not settled")
	}
	clear(t.attempts)
	if t.run == nil {
		return
	}
	set(t.run, "ralph.outcome", e.Outcome)
	if c := e.Counts; c != nil {
		set(t.run, "ralph.done", c.Done, "ralph.failed", c.Failed, "ralph.remaining", c.Remaining)
	}
	setUsage(t.run, e.Usage)
	t.end(t.run, e.At, failed(e), e.Reason)
	t.run = nil
}

func (t *Tracer) runContext() trace.SpanContext {
	if t.run == nil {
		return t.opts.Parent
	}
	return t.run.SpanContext()
}

func (t *Tracer) begin(name string, parent trace.SpanContext, at time.Time) trace.Span {
	ctx := trace.ContextWithSpanContext(context.Background(), parent)
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(at))
	return s
}

func (t *Tracer) end(s trace.Span, at time.Time, failed bool, why string) {
	if failed {
		s.SetStatus(codes.Error, valid(t.hide(plain.Cut(why, most))))
	}
	s.End(trace.WithTimestamp(at))
	t.ended++
}

// set adds facts, pairs of keys and values; an empty text is unknown and left out.
func set(s trace.Span, pairs ...any) {
	for pair := range slices.Chunk(pairs, 2) {
		key := attribute.Key(pair[0].(string))
		switch v := pair[1].(type) {
		case string:
			if v != "" {
				s.SetAttributes(key.String(valid(v)))
			}
		case int:
			s.SetAttributes(key.Int(v))
		}
	}
}

func setUsage(s trace.Span, u *event.Usage) {
	if u == nil {
		return
	}
	for _, t := range tokensOf(u) {
		s.SetAttributes(attribute.Int64("gen_ai.usage."+t.kind+"_tokens", t.n))
	}
	if u.CostUSD != nil {
		s.SetAttributes(attribute.Float64("ralph.cost_usd", *u.CostUSD))
	}
	if u.Unknown {
		s.SetAttributes(attribute.Bool("ralph.cost_unknown", true))
	}
}

// valid is needed because protobuf refuses a whole batch for one broken character.
func valid(s string) string { return strings.ToValidUTF8(s, "?") }

// most is how many bytes are kept of what somebody said.
const most = 1000
