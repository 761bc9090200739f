// Package resource limits what the processes of an attempt use together, and ends the attempt that uses more. It sets no
// limits of single processes: many programs reserve far more memory than they use.
package resource

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ralph/internal/human"
	"ralph/internal/proc"
)

// Limits are what one attempt may use. 0 means as much as there is.
type Limits struct {
	Memory    int64 // bytes
	Processes int   // with their threads, as the system counts
}

// Any reports whether anything is limited.
func (l Limits) Any() bool { return l != Limits{} }

// Exceeded is why an attempt was ended.
type Exceeded struct{ what, text string }

func (e *Exceeded) Error() string { return "resource: " + e.what + ": " + e.text }

// Limiter limits the attempts of a run. A nil Limiter limits nothing.
type Limiter struct {
	limits  Limits
	every   time.Duration
	cgroups cgroup // in which those of attempts are made
}

// New finds out how limits can be enforced. It is nil if there are none.
func New(limits Limits) *Limiter {
	if !limits.Any() {
		return nil
	}
	return &Limiter{limits: limits, every: time.Second, cgroups: delegated(limits)}
}

// Enforced reports whether the limits hold on this system.
func (l *Limiter) Enforced() bool { return l == nil || proc.Measures }

// String says what is limited, and how.
func (l *Limiter) String() string {
	var parts []string
	if l.limits.Memory > 0 {
		parts = append(parts, human.Bytes(l.limits.Memory)+" of memory")
	}
	if l.limits.Processes > 0 {
		parts = append(parts, human.Count(l.limits.Processes, "process"))
	}
	text := human.List(parts, len(parts)) + " for each attempt"
	if !l.Enforced() {
		return text + " not enforced on this system"
	}
	if l.cgroups != "" {
		return text + ", enforced by cgroup"
	}
	return text + ", looked at every second"
}

// Group is what is started for one attempt.
type Group struct {
	limiter *Limiter
	owner   string
	cancel  context.CancelCauseFunc
	ended   sync.WaitGroup
	cgroup  cgroup

	mu       sync.Mutex
	exceeded *Exceeded
}

// Begin limits what this process starts for an owner, until End. The context that it returns ends, with an *Exceeded as
// its cause, when that uses too much.
func (l *Limiter) Begin(ctx context.Context, owner string) (context.Context, *Group) {
	ctx, cancel := context.WithCancelCause(ctx)
	g := &Group{limiter: l, owner: owner, cancel: cancel}
	if l != nil && l.cgroups != "" {
		if made, err := l.cgroups.make(owner, l.limits); err == nil {
			g.cgroup = made
			proc.Into(owner, string(made))
		} else {
			made.remove() // looking has to be enough
		}
	}
	if l != nil && l.Enforced() {
		g.ended.Go(func() { g.watch(ctx) })
	}
	return ctx, g
}

// End ends the context. All that was started has ended by then.
func (g *Group) End() {
	g.cancel(nil)
	g.ended.Wait()
	proc.Into(g.owner, "")
	g.cgroup.remove()
}

// Exceeded is the limit that was exceeded, or nil.
func (g *Group) Exceeded() *Exceeded {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.exceeded == nil { // the system ends processes before anybody looks
		g.exceeded = g.counted()
	}
	return g.exceeded
}

// Reason says which limit was exceeded. It is empty if none was.
func (g *Group) Reason() string {
	if e := g.Exceeded(); e != nil {
		return e.Error()
	}
	return ""
}

func (g *Group) watch(ctx context.Context) {
	tick := time.NewTicker(g.limiter.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if e := g.look(); e != nil {
			g.mu.Lock()
			g.exceeded = e
			g.mu.Unlock()
			g.cancel(e)
			return
		}
	}
}

// counted is the limit that the system has enforced.
func (g *Group) counted() *Exceeded {
	switch {
	case g.cgroup.happened("memory.events", "oom_kill") > 0:
		return &Exceeded{"memory", "more was used together, and [sandbox] memory is " + human.Bytes(g.limiter.limits.Memory)}
	case g.cgroup.happened("pids.events", "max") > 0:
		return &Exceeded{"processes", fmt.Sprintf("more with their threads were to run at once, and [sandbox] processes is %d", g.limiter.limits.Processes)}
	}
	return nil
}

// look compares what the processes use now with what they may.
func (g *Group) look() *Exceeded {
	if e := g.counted(); e != nil {
		return e
	}
	limits := g.limiter.limits
	enough := limits.Memory
	if enough == 0 {
		enough = 1<<63 - 1
	}
	u, err := proc.Measure(g.owner, enough) // if it fails, the next look may work
	switch {
	case err == nil && u.Memory > enough:
		return &Exceeded{"memory", fmt.Sprintf("%s were used together, and [sandbox] memory is %s", human.Bytes(u.Memory), human.Bytes(limits.Memory))}
	case err == nil && limits.Processes > 0 && u.Threads > limits.Processes:
		return &Exceeded{"processes", fmt.Sprintf("%d with their threads ran at once, and [sandbox] processes is %d", u.Threads, limits.Processes)}
	}
	return nil
}
