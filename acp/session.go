package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ralph/internal/proc"
	"ralph/internal/redact"
	"ralph/internal/seen"
)

// Session is a running agent with one session. Prompt is for one goroutine at a
// time; the other methods may be called beside it.
type Session struct {
	cfg  Config
	hide *redact.Redactor

	proc      *proc.Process
	stdout    *os.File
	conn      *sdk.Connection
	intake    *intake
	outlet    *outlet
	stderr    *stderrLog
	observer  *observer
	files     *files
	terminals *terminals
	about     About
	calls     uint64
	maxText   int // of a turn

	deciding   chan struct{} // a place for each call that is being decided
	cancelling atomic.Bool   // the turn is being cancelled
	faults     chan *Error   // what ends a turn from inside; holds one
	closing    sync.Once     // guards the end
	closed     chan struct{} // the end has begun
	closeErr   error

	mu      sync.Mutex
	id      string
	model   ModelChoice
	effort  EffortChoice
	options []json.RawMessage // of the session, as the agent told them last
	turn    *turn             // nil between turns
	said    *Speech           // of the last turn
	meter   meter
}

// Start runs the agent and takes it to a session that can be prompted. On an
// error, which is an *Error unless Started returned it, nothing is left running.
func Start(ctx context.Context, cfg Config) (*Session, error) {
	ctx, cancel := cfg.withDefaults().limit(ctx)
	defer cancel()
	s, err := Launch(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cfg.Started = nil // has been called
	if err := s.Begin(ctx, cfg); err != nil {
		return nil, err
	}
	return s, nil
}

// Launch runs the agent and asks it who it is. It needs to know nothing of what Begin
// is told. Its errors are those of Start.
func Launch(ctx context.Context, cfg Config) (*Session, error) {
	cfg = cfg.withDefaults()
	s := &Session{
		cfg:     cfg,
		maxText: maxText,
		hide:    cfg.Redact,
		faults:  make(chan *Error, 1),
		closed:  make(chan struct{}),

		deciding: make(chan struct{}, maxDeciding),
		meter:    newMeter(cfg.UsageCumulative, 0),
	}
	files, err := openFiles(cfg.Dir, cfg.Place, cfg.Protected, cfg.ProtectedNames, cfg.Hidden)
	if err == nil && cfg.Reads != "" {
		if files.also, err = openFiles(cfg.Reads, seen.Folder{}, nil, nil, cfg.Hidden); err != nil {
			files.close()
		}
	}
	if err != nil {
		return nil, &Error{Kind: CannotStart, Op: "start", Text: err.Error(), Err: err}
	}
	s.files, files.below = files, cfg.Below
	began := cfg.Now()
	if err := s.spawn(); err != nil {
		files.close()
		kind := CannotStart
		if errors.Is(err, proc.ErrNotFound) {
			kind = NotFound
		}
		return nil, &Error{Kind: kind, Op: "start", Text: s.hide.Text(err.Error()), Err: err}
	}
	s.step("start", began)
	if err := s.record(); err != nil {
		return nil, err
	}
	ctx, cancel := cfg.limit(ctx)
	defer cancel()
	if err := s.initialize(ctx); err != nil {
		return nil, s.abandon(err)
	}
	return s, nil
}

// Begin takes an agent that was launched to a session that can be prompted, with the
// Conversation, Pick, MCP and Started of cfg. On an error nothing is left running.
func (s *Session) Begin(ctx context.Context, cfg Config) error {
	s.cfg.Pick, s.cfg.MCP, s.cfg.Started = cfg.Pick, cfg.MCP, cfg.Started
	s.mu.Lock() // an agent may ask before it has a session
	s.cfg.Conversation = cfg.Conversation
	s.mu.Unlock()
	if err := s.record(); err != nil {
		return err
	}
	ctx, cancel := s.cfg.limit(ctx)
	defer cancel()
	if err := s.handshake(ctx); err != nil {
		return s.abandon(err)
	}
	return nil
}

// record tells whoever wants to know which process it is.
func (s *Session) record() error {
	if s.cfg.Started == nil {
		return nil
	}
	if err := s.cfg.Started(s.proc.Identity()); err != nil {
		return s.abandon(err)
	}
	return nil
}

// abandon ends a session that never began. Its error stays an *Error if it can.
func (s *Session) abandon(err error) error {
	if closeErr := s.Close(); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	return err
}

// cwd is the working folder as the agent finds it.
func (s *Session) cwd() string { return s.cfg.Place.Inside(s.cfg.Dir) }

func (s *Session) spawn() error {
	childIn, stdin, err1 := os.Pipe()
	stdout, childOut, err2 := os.Pipe()
	stderr, childErr, err3 := os.Pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		s.proc, err = proc.Start(proc.Spec{
			Argv: s.cfg.Argv, Dir: s.cfg.Dir, Env: s.cfg.Env, Owner: s.cfg.Owner, Confine: s.cfg.Confine,
			Stdin: childIn, Stdout: childOut, Stderr: childErr,
		})
	}
	ours := []*os.File{childIn, childOut, childErr} // closing a nil file does nothing
	if err != nil {
		ours = append(ours, stdin, stdout, stderr)
	}
	for _, f := range ours {
		f.Close()
	}
	if err != nil {
		return err
	}
	s.stdout = stdout
	s.observer = newObserver(s.cfg.Observe, s.hide)
	s.stderr = copyStderr(stderr, s.cfg.Stderr, s.hide, s.cfg.Log)
	s.connect(stdin)
	return nil
}

func (s *Session) connect(stdin *os.File) {
	tape := &transcript{now: s.cfg.Now, hide: s.hide, log: s.cfg.Log, w: s.cfg.Transcript}
	s.intake = newIntake(s.stdout, tape)
	s.intake.update = s.onUpdate
	s.intake.answer = s.onAnswer
	s.outlet = newOutlet(stdin, tape, s.intake.answeredRequest)
	s.terminals = &terminals{session: s, waits: make(chan struct{}, maxTerminalWaits), open: make(map[string]*terminal)}
	s.conn = sdk.NewConnection(s.handle, s.outlet, s.intake)
	s.conn.SetLogger(slog.New(slog.DiscardHandler)) // it logs what the agent sent, which the transcript has, redacted
	close(s.intake.open)                            // and would use it while it is set
}

// Model is which model was chosen.
func (s *Session) Model() ModelChoice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// About is what the agent says about itself and the session.
func (s *Session) About() About { return s.about }

// ID is the session's name, given by the agent.
func (s *Session) ID() string { return s.id }

// Usage is what the session has used so far, also in a turn that lasts, as far as the
// agent says so. It may be more than its turns said together: agents report the cost after the turn.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.total()
}

// SessionUSD is what the agent says the whole session has cost, including before it was
// resumed; nil if it does not say. It belongs to Earlier.CostUSD.
func (s *Session) SessionUSD() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.meter.costSeen {
		return nil
	}
	cost := s.meter.cost
	return &cost
}

// Close ends the agent: stdin closed, SIGTERM, a grace, SIGKILL to the whole
// tree. It returns when nothing is left, with an error if something is. Closing
// twice is harmless. A turn that is Long can no longer be read.
func (s *Session) Close() error {
	err := s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.close()
	return err
}

func (s *Session) end() error {
	s.closing.Do(func() {
		close(s.closed)
		terminals := s.terminals.close()
		s.closeErr = errors.Join(s.stop(), terminals)
		s.observer.flush(true)
		s.files.close()
	})
	return s.closeErr
}

// Kill ends the agent's whole tree at once; a Prompt under way returns. Close is
// still to be called.
func (s *Session) Kill() error { return s.proc.Kill() }

// Freeze stops the agent and all it started until it is thawed, between two turns.
func (s *Session) Freeze() (thaw func()) {
	thaws := []func(){s.proc.Freeze()}
	for _, p := range s.terminals.processes() {
		thaws = append(thaws, p.Freeze())
	}
	return func() {
		for _, thaw := range thaws {
			thaw()
		}
	}
}

// stop takes the process down the ladder and waits until all it said is read.
func (s *Session) stop() error {
	s.outlet.close()
	select {
	case <-s.proc.Exited():
	case <-time.After(s.cfg.Grace / 4):
	}
	err := s.proc.Terminate(s.cfg.Grace)
	close(s.intake.closing)
	// Where something could survive it may hold the other ends.
	force := time.AfterFunc(s.cfg.Grace, func() {
		s.stdout.Close()
		s.stderr.r.Close()
	})
	defer force.Stop()
	<-s.intake.done
	<-s.stderr.done
	s.intake.tape.release()
	s.stdout.Close()
	return err
}
