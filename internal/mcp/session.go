// Package mcp serves ralph's tools over the Model Context Protocol: to the agent of an attempt, through a socket into its
// sandbox, and to a person's own assistant. It never decides what becomes of a task: what an agent reports is for its
// attempt to weigh.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/plain"
	"ralph/internal/redact"
	"ralph/sigils"
)

// What one session may do. Agents are not trusted to be reasonable.
const (
	maxAnswer     = 16 << 10
	maxAtOnce     = 10
	maxPerMinute  = 600
	maxRefused    = 1000 // calls beyond that, before the connection is closed
	maxNoted      = 64 << 10
	maxDetailsLen = 4 << 10
)

// Options are what tools work with.
type Options struct {
	// Command runs a command of ralph with that text on its stdin, and returns what it prints.
	Command func(ctx context.Context, stdin string, args ...string) (string, error)
	Version string
	Now     func() time.Time
	Work    *Work             // nil for a person's assistant
	Warn    func(text string) // tells people about an agent that asks for too much; may be nil
}

// Work is the attempt whose agent calls.
type Work struct {
	Store  *dag.Store
	Claim  dag.Claim
	Limits dag.AdditionLimits
	Locks  map[string]int   // how many may hold a lock at once, where that is not 1
	Redact *redact.Redactor // what agents write has no secrets
	Wake   func()           // there may be something to claim

	Tell func(event.Event) // what the agent changed; nil tells nobody
}

// Session answers the calls of one attempt, or of one assistant, on all of its connections.
type Session struct {
	opts   Options
	rate   *rate.Limiter
	places chan struct{} // one for each call under way

	mu      sync.Mutex
	said    sigils.Set
	notes   []string
	refused int
	inbox   Inbox // nil if nobody can be asked
	warned  map[string]bool
}

// New makes a session.
func New(opts Options) *Session {
	return &Session{
		opts: opts, rate: rate.NewLimiter(maxPerMinute/60, maxPerMinute/10), places: make(chan struct{}, maxAtOnce), warned: map[string]bool{},
	}
}

// Serve answers the calls on one connection until it ends, or ctx does. A message that is none ends it.
func (s *Session) Serve(ctx context.Context, conn io.ReadWriteCloser) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := sdk.NewServer(&sdk.Implementation{Name: "ralph", Version: s.opts.Version}, &sdk.ServerOptions{
		Instructions: s.instructions(), Capabilities: &sdk.ServerCapabilities{}, PageSize: 100,
	})
	for _, t := range tools() {
		if (t.worker && s.opts.Work != nil || t.person && s.opts.Work == nil) && (!t.asks || s.reached() != nil) {
			t.add(ctx, server, s)
		}
	}
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler { return s.limited(next, stop) })
	err := server.Run(ctx, transport{conn, ctx.Done()})
	if !over(err) && ctx.Err() == nil {
		s.warn("a connection to ralph's tools was closed: " + err.Error())
		return err
	}
	return nil
}

func (s *Session) instructions() string {
	if s.opts.Work != nil {
		return "Tools of ralph, which gave you this task. Use report to say how it stands."
	}
	return "Plan the tasks of a ralph project: add, list, show and change them. ralph runs coding agents through them."
}

// limited lets only so many calls through. Whoever goes on all the same is disconnected: its calls would pile up.
func (s *Session) limited(next sdk.MethodHandler, disconnect func()) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if !s.rate.AllowN(s.opts.Now(), 1) {
			return nil, s.refuse(disconnect, fmt.Sprintf("more than %d calls a minute", maxPerMinute))
		}
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
			return next(ctx, method, req)
		default:
			return nil, s.refuse(disconnect, fmt.Sprintf("more than %d calls at once", maxAtOnce))
		}
	}
}

func (s *Session) refuse(disconnect func(), why string) error {
	s.mu.Lock()
	s.refused++
	over := s.refused >= maxRefused
	s.mu.Unlock()
	s.warn("its agent makes " + why + "; they are refused")
	if over {
		s.warn("its agent does not stop calling: it was disconnected from the tools")
		disconnect()
	}
	return errors.New(why + ": wait before you call again")
}

// warn tells people something once.
func (s *Session) warn(text string) {
	s.mu.Lock()
	known := s.warned[text] || len(s.warned) >= 20
	s.warned[text] = true
	s.mu.Unlock()
	if !known && s.opts.Warn != nil {
		s.opts.Warn(plain.Head(text, maxDetailsLen))
	}
}

// change runs fn in a transaction, if the attempt still has its task.
func (s *Session) change(ctx context.Context, fn func(g *dag.Graph, c dag.Claim) error) error {
	w := s.opts.Work
	err := w.Store.Update(ctx, func(g *dag.Graph) error {
		if err := g.Queue.Holds(w.Claim); err != nil {
			return err
		}
		return fn(g, w.Claim)
	})
	if errors.Is(err, dag.ErrLost) {
		err = fmt.Errorf("%w; this task is no longer yours: end your turn", err)
	}
	return err
}

// command runs a command of ralph. An attempt that lost its task gets no answer.
func (s *Session) command(ctx context.Context, stdin string, args ...string) (string, error) {
	if s.opts.Work != nil {
		if err := s.change(ctx, func(*dag.Graph, dag.Claim) error { return nil }); err != nil {
			return "", err
		}
	}
	return s.opts.Command(ctx, stdin, args...)
}

// Said is what the agent has reported since the last Forget.
func (s *Session) Said(ctx context.Context) sigils.Set {
	s.mu.Lock()
	set := s.said
	set.Journal = strings.Join(s.notes, "\n\n")
	s.mu.Unlock()
	err := s.opts.Work.Store.View(ctx, func(g *dag.Graph) (err error) {
		set.Split, set.Closing, err = g.Plan.Split(s.opts.Work.Claim)
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.warn("whether it was split cannot be seen: " + err.Error())
	}
	return set
}

// Forget begins a new round: what was reported no longer counts.
func (s *Session) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said, s.notes = sigils.Set{}, nil
}

// cut shortens an answer.
func cut(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	const note = "\n(cut: ask for less)"
	return plain.Head(text, maxAnswer-len(note)) + note
}
