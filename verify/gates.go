// Package verify checks work that an agent says is done. Gates are commands that ralph
// runs itself; their exit status is the verdict. It never changes a task.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"ralph/internal/bounded"
	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/redact"
)

// Gates runs the commands that check a task's work.
type Gates struct {
	Dir     string        // where they run
	Env     []string      // their complete environment
	Owner   string        // marks their processes
	Confine []byte        // handed to the Confiner of proc.RunHelper; nil confines nothing
	Timeout time.Duration // for each; 0 means 10 minutes

	Seen string // where they find Dir; "" if they find it where it is
	Temp string // a folder outside of what is judged, which they may write and find where it is; "" for the system's

	Redact *redact.Redactor // what of their output is hidden; nil hides nothing
}

// Result is what one gate said.
type Result struct {
	Command string
	Passed  bool
	Exit    string // how it ended, in words
	Tail    string // the end of what it printed

	Failures string // the lines that seem to name a failure, sorted, numbers left out
	Killed   bool   // it did not come to an end by itself

	Unstartable bool `json:",omitempty"` // the shell could not start it, or what it runs: it says nothing about the work

	Tests *int `json:",omitempty"` // that passed, if it says so in a way that cannot be mistaken

	Reported *Report `json:",omitempty"` // nil where an older ralph stored it: not known

	CPU time.Duration `json:"-"` // what it took of the processors, 0 if that is not known

	Lacks string `json:"-"` // what may be missing where it failed, in words
}

// Comparable reports whether it can be said what another run of the gate has in common with this one, if there was one.
func (r *Result) Comparable() bool {
	if r == nil {
		return false
	}
	return r.Passed || r.Failures != ""
}

// tailSize is how much of a gate's output travels into a prompt.
const tailSize = 8 << 10

// Run runs one gate with its whole output, redacted, going to log, and returns when the
// gate and everything it started has ended. The error is for what kept it from
// running at all, and for a context that ended.
func (g Gates) Run(ctx context.Context, command string, log io.Writer) (Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	p, err := proc.Start(proc.Spec{
		Argv: []string{"sh", "-c", command}, Dir: g.Dir, Env: g.Env, Stdout: w, Stderr: w, Owner: g.Owner, Confine: g.Confine,
	})
	w.Close()
	if err != nil {
		return Result{}, fmt.Errorf("gate %q: %w", command, err)
	}
	tail, reader, drained := &tail{}, newReader(), make(chan error, 1)
	go func() {
		drained <- drain(r, g.Redact.Stream(), log, func(p []byte) {
			tail.add(p)
			reader.add(p)
		})
	}()
	timedOut, err := g.await(ctx, p)
	if err != nil {
		return Result{}, fmt.Errorf("gate %q: %w", command, err)
	}
	exit, err := p.Wait()
	if err != nil {
		return Result{}, fmt.Errorf("gate %q: %w", command, err)
	}
	if err := <-drained; err != nil {
		return Result{}, fmt.Errorf("gate %q: keep its output: %w", command, err)
	}
	res := Result{
		Command: command, Passed: exit.Ok() && !timedOut, Exit: exit.String(), Tail: tail.String(),
		Killed: timedOut || exit.Signal != "", CPU: p.CPU(),
		Unstartable: exit.Code == 126 || exit.Code == 127,
	}
	res.Reported, res.Tests = reader.end()
	if !res.Passed {
		res.Failures = reader.failureLines()
	}
	if timedOut {
		res.Exit = fmt.Sprintf("still running after %s", g.timeout())
	}
	return res, nil
}

// Why says why a gate failed, or could not even be started, as far as its last line names it.
func (r Result) Why() string {
	text := strings.TrimSpace(r.Tail)
	last := fmt.Sprintf("%.200s", text[strings.LastIndexByte(text, '\n')+1:])
	what := "fails"
	if r.Unstartable {
		what = "cannot start"
	}
	return fmt.Sprintf("gate %q %s (%s)", r.Command, what, r.Exit) + human.Lead(": ", last)
}

func (g Gates) timeout() time.Duration { return cmp.Or(g.Timeout, 10*time.Minute) }

// await returns when the gate has ended, by itself or by us.
func (g Gates) await(ctx context.Context, p *proc.Process) (timedOut bool, err error) {
	timer := time.NewTimer(g.timeout())
	defer timer.Stop()
	select {
	case <-p.Done():
		return false, nil
	case <-timer.C:
		return true, p.Kill()
	case <-ctx.Done():
		return false, errors.Join(context.Cause(ctx), p.Kill())
	}
}

// drain copies to log until it has had enough, and to read for ever, so that
// the gate never blocks on its output.
func drain(r io.Reader, clean *redact.Stream, log io.Writer, read func(p []byte)) error {
	kept, buf := 0, make([]byte, 32<<10)
	var failed error
	for {
		n, err := r.Read(buf)
		text := clean.Push(string(buf[:n]))
		if err != nil {
			text += clean.Flush()
		}
		said := []byte(text)
		read(said)
		if room := bounded.Data - kept; len(said) > 0 && failed == nil && room > 0 {
			var m int
			m, failed = log.Write(said[:min(len(said), room)])
			kept += m
		}
		if err != nil {
			return failed
		}
	}
}

// tail is the end of an output, and more than tailSize if there was more.
type tail []byte

func (t *tail) add(p []byte) {
	if *t = append(*t, p...); len(*t) > 2*tailSize {
		*t = slices.Clone((*t)[len(*t)-tailSize-1:])
	}
}

// String begins at a line if something was cut.
func (t *tail) String() string {
	s := string(*t)
	if len(s) > tailSize {
		s = s[len(s)-tailSize:]
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		}
	}
	return strings.ToValidUTF8(s, "?")
}
