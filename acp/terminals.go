package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ralph/internal/proc"
	"ralph/internal/toolcall"
)

const (
	maxTerminals      = 64
	maxTerminalWaits  = 256
	defaultOutput     = 1 << 20
	maxTerminalOutput = 4 << 20
	settlePatience    = 100 * time.Millisecond
)

var (
	errNoTerminal       = errors.New("no such terminal")
	errTooManyTerminals = fmt.Errorf("more than %d terminals are open", maxTerminals)
	errTooManyWaits     = fmt.Errorf("more than %d requests wait for terminals", maxTerminalWaits)
	errSessionEnds      = errors.New("the session ends")
)

// terminals are the commands that run for the agent. Each is a process tree of
// its own; none outlives its release or the session.
type terminals struct {
	session *Session
	waits   chan struct{} // a place for each request that waits

	starting sync.WaitGroup // commands between reserve and open

	mu     sync.Mutex
	open   map[string]*terminal // nil while it starts
	next   int
	closed bool
}

type terminal struct {
	proc   *proc.Process
	output *ring
	read   chan struct{} // closed at the end of the output

	call    *toolcall.Call // that opened it; nil if nobody looks at what came of it
	after   sync.Once
	instead *string // of the output
}

// create starts a command. What it leaves in the background lives until the
// terminal is released.
func (t *terminals) create(req sdk.CreateTerminalRequest, call *toolcall.Call) (string, error) {
	dir, err := t.dir(req.Cwd)
	if err != nil {
		return "", err
	}
	argv := append([]string{req.Command}, req.Args...)
	if t.forShell(req) {
		argv = []string{"/bin/sh", "-c", req.Command}
	}
	env := slices.Clone(t.session.cfg.TerminalEnv)
	for _, v := range req.Env {
		if v.Name != "" && !strings.ContainsAny(v.Name, "=\x00") && !strings.Contains(v.Value, "\x00") {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	limit := defaultOutput
	if req.OutputByteLimit != nil && *req.OutputByteLimit >= 0 {
		limit = min(*req.OutputByteLimit, maxTerminalOutput)
	}
	id, err := t.reserve()
	if err != nil {
		return "", err
	}
	defer t.starting.Done()
	term, err := t.start(proc.Spec{Argv: argv, Dir: dir, Env: env, Owner: t.session.cfg.Owner, Confine: t.session.cfg.Confine, Linger: true}, limit)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		delete(t.open, id)
		return "", fmt.Errorf("create terminal: %w", err)
	}
	term.call = call
	t.open[id] = term
	return id, nil
}

// forShell says that the command is a line for a shell.
func (t *terminals) forShell(req sdk.CreateTerminalRequest) bool {
	return t.session.traits().TerminalShell && len(req.Args) == 0 && strings.ContainsAny(req.Command, " \t\n;|&<>$`\"'*?(){}")
}

// line is the command as a shell reads it.
func (t *terminals) line(req sdk.CreateTerminalRequest) string {
	if t.forShell(req) {
		return req.Command
	}
	return toolcall.ShellLine(append([]string{req.Command}, req.Args...))
}

// reserve takes an ID, so that the number of terminals is bounded also while
// they start.
func (t *terminals) reserve() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", errSessionEnds
	}
	if len(t.open) >= maxTerminals {
		return "", errTooManyTerminals
	}
	t.starting.Add(1)
	t.next++
	id := "term-" + strconv.Itoa(t.next)
	t.open[id] = nil
	return id, nil
}

// dir is where a command runs: the project or a folder really inside it.
func (t *terminals) dir(cwd *string) (string, error) {
	if cwd == nil || *cwd == "" {
		return t.session.files.dirs[0], nil
	}
	rel, ok := t.session.files.relative(*cwd)
	if !ok {
		return "", fmt.Errorf("create terminal in %s: %w", *cwd, errOutside)
	}
	// The root refuses links that lead out.
	if info, err := t.session.files.root.Stat(rel); err != nil {
		return "", fmt.Errorf("create terminal in %s: %w", rel, pathCause(err))
	} else if !info.IsDir() {
		return "", fmt.Errorf("create terminal in %s: not a folder", rel)
	}
	return filepath.Join(t.session.files.dirs[0], rel), nil
}

func (t *terminals) start(spec proc.Spec, limit int) (*terminal, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	spec.Stdout, spec.Stderr = w, w
	p, err := proc.Start(spec)
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	term := &terminal{proc: p, output: &ring{limit: limit, alive: func() { t.session.intake.activity.Add(1) }}, read: make(chan struct{})}
	go func() {
		defer close(term.read)
		defer r.Close()
		_, _ = io.Copy(term.output, r) // until its end
	}()
	return term, nil
}

func (t *terminals) get(id string) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if term := t.open[id]; term != nil {
		return term, nil
	}
	return nil, fmt.Errorf("terminal %s: %w", cut(id, 100), errNoTerminal)
}

// wait waits for the command itself to end, or for the request to be given up.
// yield is called around the waiting.
func (t *terminals) wait(ctx context.Context, id string, yield func(func())) (*terminal, error) {
	term, err := t.get(id)
	if err != nil {
		return nil, err
	}
	select {
	case t.waits <- struct{}{}:
		defer func() { <-t.waits }()
	default:
		return nil, errTooManyWaits
	}
	yield(func() {
		select {
		case <-term.proc.Exited():
			term.settle()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	})
	return term, err
}

// settle waits for what was written before the exit to be read. That is when
// the output ends, unless somebody in the background keeps it open.
func (term *terminal) settle() {
	select {
	case <-term.read:
	case <-time.After(settlePatience):
	}
}

func (t *terminals) release(id string) error {
	term, err := t.get(id)
	if err != nil {
		return err
	}
	t.mu.Lock()
	delete(t.open, id)
	t.mu.Unlock()
	return term.proc.Kill()
}

// processes are those that terminals have started.
func (t *terminals) processes() (list []*proc.Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, term := range t.open {
		if term != nil {
			list = append(list, term.proc)
		}
	}
	return list
}

// close kills everything and waits until it is gone.
func (t *terminals) close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.starting.Wait()
	t.mu.Lock()
	open := t.open
	t.open = nil
	t.mu.Unlock()
	errs := make(chan error, len(open))
	for _, term := range open {
		go func() { errs <- term.proc.Kill() }()
	}
	var all error
	for range open {
		all = errors.Join(all, <-errs)
	}
	return all
}
