package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"ralph/internal/dispatch"
	"ralph/internal/event"
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
	beat    func(ctx context.Context, token []byte, p Beat) error
	limited func(ctx context.Context, workflowID, agent string) (time.Duration, error)
	say     func(format string, args ...any)
}

// Beat is what heartbeats carry, also to the next try.
type Beat struct {
	dispatch.Progress
	Fails int `json:"fails,omitempty"` // how many tries ended without a delivery
}

// maxFails is how many tries may end so until the run is told. Lost workers do not count.
const maxFails = 10

// Attempt is the activity. It fails only when the attempt was not made; what came of it, also that it failed, is a delivery.
func (a *attempts) Attempt(ctx context.Context, o Wanted) (Made, error) {
	info := activity.GetInfo(ctx)
	if build, err := a.ralph.build(ctx); err != nil || build != o.Build {
		msg := fmt.Sprintf("worker %s has ralph %q and the run has %q; install the same build on both", a.host, build, o.Build)
		if err != nil {
			msg = fmt.Sprintf("worker %s cannot run ralph: %v", a.host, err)
		}
		a.say("%s: %s", o.Task, msg)
		return Made{}, temporal.NewApplicationErrorWithOptions(msg, errVersion, temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Second})
	}
	c := &child{order: o.Order, used: o.Used, last: Beat{Progress: dispatch.Progress{Attempt: o.Attempt, Host: a.host, Phase: "starting"}}}
	if before := (Beat{}); activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &before) == nil {
		c.used, c.last.Fails = &before.Usage, before.Fails
	}
	if c.used != nil {
		c.last.Usage = *c.used
	}
	// The workflow knew the limits when it scheduled this; what had to wait for a slot asks again. Both times are the server's.
	if info.StartedTime.Sub(info.ScheduledTime) > time.Second {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		left, err := a.limited(asking, info.WorkflowExecution.ID, o.Agent)
		cancel()
		if err == nil && left > 0 {
			return Made{Delivery: dispatch.Delivery{Attempt: o.Attempt}, Held: true, Used: c.used}, nil
		}
	}
	try := tryName(info)
	a.say("%s: attempt %s, try %s", o.Task, o.Attempt, try)
	err := c.start(a, try)
	if err == nil {
		defer c.stdin.Close()
		a.accompany(ctx, c, info)
		<-c.ended
		err = c.err
	}
	if c.delivery != nil {
		return Made{Delivery: c.deliver()}, nil
	}
	msg := c.failed(err)
	a.say("%s: %s", o.Task, msg)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 64 {
		return Made{}, temporal.NewNonRetryableApplicationError(msg, errRefused, nil)
	}
	if c.last.Fails++; c.last.Fails >= maxFails {
		return Made{Delivery: dispatch.Delivery{Attempt: o.Attempt, Error: fmt.Sprintf("it was tried %d times: %s", c.last.Fails, msg)}}, nil
	}
	_ = a.report(ctx, c, info)
	// What fails each time is tried ever less often; a worker that dies is another thing, and its attempt is begun again at once.
	delay := min(time.Second<<min(c.last.Fails-1, 6), time.Minute)
	return Made{}, temporal.NewApplicationErrorWithOptions(msg, errLost, temporal.ApplicationErrorOptions{NextRetryDelay: delay})
}

// tryName tells the tries at an attempt apart, also those that another workflow begins after this one was lost: the end of a
// run ID is random. Activities that follow one that was put off have a number of their own.
func tryName(info activity.Info) string {
	run := strings.ReplaceAll(info.WorkflowExecution.RunID, "-", "")
	name := fmt.Sprintf("%s%d", run[max(0, len(run)-8):], info.Attempt)
	if parts := strings.Split(info.ActivityID, "/"); len(parts) > 2 {
		name += "h" + parts[2]
	}
	return name
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
		if c.fresh() || time.Since(sent) >= every {
			sent = time.Now()
			if given(a.report(ctx, c, info)) {
				c.terminate()
			}
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

// report is one heartbeat.
func (a *attempts) report(ctx context.Context, c *child, info activity.Info) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(min(info.HeartbeatTimeout/3, 5*time.Second), time.Second))
	defer cancel()
	return a.beat(ctx, info.TaskToken, c.progress())
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
	used  *event.Usage // by tries that were lost
	cmd   *exec.Cmd
	stdin io.Closer
	tail  tail
	ended chan struct{}
	err   error // how it ended

	mu       sync.Mutex
	last     Beat
	news     bool
	delivery *dispatch.Delivery
	asked    bool
}

func (c *child) start(a *attempts, try string) error {
	path, err := a.ralph.path()
	if err != nil {
		return err
	}
	args := []string{"attempt", "--remote", a.remote, "--try", try}
	if c.used != nil {
		usage, err := json.Marshal(c.used)
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
	stdout, out := io.Pipe()
	c.cmd.Stdout = out
	c.cmd.WaitDelay = patience / 4 // something that it started may hold its output open
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start ralph attempt: %w", err)
	}
	c.stdin, c.ended = stdin, make(chan struct{}) // stdin stays open: its end says that we are gone
	go func() { _, _ = stdin.Write(append(bytes.TrimSpace(c.order.Body), '\n')) }()
	go func() {
		c.err = c.cmd.Wait()
		_ = out.Close()
	}()
	go func() {
		defer close(c.ended)
		c.read(stdout)
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
			c.last.Progress, c.news = *p, true
		}
		if line.Delivery != nil {
			c.delivery = line.Delivery
		}
		c.mu.Unlock()
	}
}

func (c *child) progress() Beat {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// fresh says, once, that there is news.
func (c *child) fresh() (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news, c.news = c.news, false
	return news
}

// patience is how long a process that was asked to end may take for it.
var patience = 2 * time.Minute

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
	time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() }) // one that has ended is not found
}

// failed says how it ended without a delivery.
func (c *child) failed(err error) string {
	msg := "ralph attempt ended without a delivery"
	if err != nil {
		msg += ": " + err.Error()
	}
	if text := c.tail.String(); text != "" {
		msg += "\n" + text
	}
	return msg
}

// deliver is the delivery, also of a process that failed afterwards.
func (c *child) deliver() dispatch.Delivery {
	d := *c.delivery
	d.Attempt = c.order.Attempt
	if len(d.Body) > maxPayload {
		return dispatch.Delivery{Attempt: d.Attempt, Error: fmt.Sprintf("what came of it has %d bytes, more than the Temporal server takes", len(d.Body))}
	}
	return d
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
