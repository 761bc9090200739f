package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"ralph/internal/dispatch"
	"ralph/internal/proc"
)

// Types of the errors of Attempt.
const (
	errVersion = "Version" // another worker may be of the right one
	errLost    = "Lost"    // ralph attempt ended without a delivery
	errRefused = "Refused" // no worker can make it
)

// maxPayload is what one value may have; the server takes 2 MB.
const maxPayload = 3 << 19

// attempts makes attempts on a worker, each with a process of ralph attempt.
type attempts struct {
	ralph   *ralph
	dir     string // of the clone
	remote  string
	host    string
	beat    func(ctx context.Context, token []byte, p dispatch.Progress) error
	limited func(ctx context.Context, workflowID, agent string) (time.Duration, error)
	say     func(format string, args ...any)
}

// Attempt is the activity. It fails only when the attempt was not made; what came of it, also that it failed, is a delivery.
func (a *attempts) Attempt(ctx context.Context, o dispatch.Order) (dispatch.Delivery, error) {
	info := activity.GetInfo(ctx)
	if build, err := a.ralph.build(ctx); err != nil || build != o.Build {
		msg := fmt.Sprintf("worker %s has ralph %q and the run has %q; install the same build on both", a.host, build, o.Build)
		if err != nil {
			msg = fmt.Sprintf("worker %s cannot run ralph: %v", a.host, err)
		}
		a.say("%s: %s", o.Task, msg)
		return dispatch.Delivery{}, temporal.NewApplicationErrorWithOptions(msg, errVersion, temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Second})
	}
	// The workflow knew the limits when it scheduled this; what had to wait for a slot asks again. Both times are the server's.
	if info.StartedTime.Sub(info.ScheduledTime) > time.Second {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		left, err := a.limited(asking, info.WorkflowExecution.ID, o.Agent)
		cancel()
		if err == nil && left > 0 {
			return dispatch.Delivery{Attempt: o.Attempt, Limited: &dispatch.Limit{Agent: o.Agent, For: left}}, nil
		}
	}
	c := &child{order: o, last: dispatch.Progress{Attempt: o.Attempt, Host: a.host, Phase: "starting"}}
	if activity.HasHeartbeatDetails(ctx) {
		var lost dispatch.Progress
		if err := activity.GetHeartbeatDetails(ctx, &lost); err == nil {
			c.last.Usage, c.lost = lost.Usage, lost
		}
	}
	a.say("%s: attempt %s, try %d", o.Task, o.Attempt, info.Attempt)
	if err := c.start(a, info.Attempt); err != nil {
		return dispatch.Delivery{}, lost(err.Error(), info.Attempt)
	}
	defer c.stdin.Close()
	a.accompany(ctx, c, info)
	<-c.ended
	d, err := c.result(info.Attempt)
	if err != nil {
		a.say("%s: %s", o.Task, plain(err))
	}
	return d, err
}

// accompany reports how far the attempt has come until its process ended, and passes on that it shall end. That the server
// cannot be reached is no reason to end it: work of hours may be delivered yet.
func (a *attempts) accompany(ctx context.Context, c *child, info activity.Info) {
	every := min(info.HeartbeatTimeout/3, 5*time.Second)
	if every <= 0 {
		every = 5 * time.Second
	}
	tick := time.NewTicker(min(every, time.Second))
	defer tick.Stop()
	stopped, done := activity.GetWorkerStopChannel(ctx), ctx.Done()
	for sent := (time.Time{}); ; {
		progress, news := c.progress()
		if news || time.Since(sent) >= every {
			sent = time.Now()
			once, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(every, time.Second))
			if err := a.beat(once, info.TaskToken, progress); given(err) {
				c.terminate()
			}
			cancel()
		}
		select {
		case <-c.ended:
			return
		case <-tick.C:
		case <-stopped:
			stopped = nil
			c.terminate()
		case <-done:
			done = nil
			c.terminate()
		}
	}
}

// given says that the server wants the attempt no more: it was cancelled, or has timed out and is somebody else's.
func given(err error) bool {
	var cancelled *temporal.CanceledError
	var gone *serviceerror.NotFound
	return errors.As(err, &cancelled) || errors.As(err, &gone) || errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}

// child is a process of ralph attempt.
type child struct {
	order dispatch.Order
	lost  dispatch.Progress // of tries whose worker was lost
	cmd   *exec.Cmd
	stdin io.Closer
	tail  tail
	ended chan struct{}
	err   error // how it ended

	mu       sync.Mutex
	last     dispatch.Progress
	news     bool
	delivery *dispatch.Delivery
	asked    bool
}

func (c *child) start(a *attempts, try int32) error {
	path, err := a.ralph.path()
	if err != nil {
		return err
	}
	args := []string{"attempt", "--remote", a.remote, "--try", strconv.Itoa(int(try))}
	if c.lost.Attempt != "" {
		usage, err := json.Marshal(c.lost.Usage)
		if err != nil {
			return err
		}
		args = append(args, "--lost-usage", string(usage))
	}
	c.cmd = exec.Command(path, args...) //nolint:noctx // it is asked to end, and delivers
	c.cmd.Dir, c.cmd.Stderr = a.dir, &c.tail
	proc.Apart(c.cmd) // Ctrl-C is ours to pass on
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start ralph attempt: %w", err)
	}
	c.stdin, c.ended = stdin, make(chan struct{}) // stdin stays open: its end says that we are gone
	go func() { _, _ = stdin.Write(append(bytes.TrimSpace(c.order.Body), '\n')) }()
	go func() {
		defer close(c.ended)
		c.read(stdout)
		c.err = c.cmd.Wait()
	}()
	return nil
}

func (c *child) read(stdout io.Reader) {
	conn := dispatch.NewConn[struct{}, dispatch.FromAttempt](struct {
		io.Reader
		io.Writer
	}{stdout, io.Discard})
	for {
		line, err := conn.Receive()
		if err != nil {
			_, _ = io.Copy(io.Discard, stdout) // it must not hang in a write
			return
		}
		c.mu.Lock()
		if p := line.Progress; p != nil {
			p.Attempt, p.Host = c.order.Attempt, c.last.Host // what lost tries used is in it
			c.last, c.news = *p, true
		}
		if line.Delivery != nil {
			c.delivery = line.Delivery
		}
		c.mu.Unlock()
	}
}

func (c *child) progress() (p dispatch.Progress, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news, c.news = c.news, false
	return c.last, news
}

// terminate asks for an end, once: a second time would be less patient.
func (c *child) terminate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked {
		return
	}
	c.asked = true
	if c.cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = c.cmd.Process.Kill()
	}
}

// lost is the error of an attempt that ended without a delivery. What fails each time is tried ever less often, up to once a
// minute; a worker that dies is another thing, and its attempt is begun again at once.
func lost(msg string, try int32) error {
	delay := min(time.Second<<min(try-1, 6), time.Minute)
	return temporal.NewApplicationErrorWithOptions(msg, errLost, temporal.ApplicationErrorOptions{NextRetryDelay: delay})
}

// result is the delivery, also of a process that failed afterwards.
func (c *child) result(try int32) (dispatch.Delivery, error) {
	d := c.delivery
	if d == nil {
		msg := "ralph attempt ended without a delivery"
		if c.err != nil {
			msg += ": " + c.err.Error()
		}
		if text := c.tail.String(); text != "" {
			msg += "\n" + text
		}
		return dispatch.Delivery{}, lost(msg, try)
	}
	d.Attempt = c.order.Attempt
	if len(d.Body) > maxPayload {
		return dispatch.Delivery{Attempt: d.Attempt, Error: fmt.Sprintf("what came of it has %d bytes, more than the Temporal server takes", len(d.Body))}, nil
	}
	return *d, nil
}

// tail keeps the end of what was written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > most {
		t.text = bytes.Clone(t.text[len(t.text)-most:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.text)), "?")
}
