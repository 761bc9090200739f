package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/dispatch"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/loop"
	"ralph/loop/policy"
	"ralph/loop/remote"
)

// attemptCommand makes one attempt of a run that is on another machine.
var attemptCommand = command{
	name: "attempt", hidden: true, short: "make one attempt of a run on another machine",
	long: `Reads a job from stdin and makes the attempt in a slot of this clone; package internal/dispatch says what it
prints. It ends when stdin does: whoever started it is gone then. ralph-temporal worker starts it.`,
	flags: []flagSpec{
		{name: "remote", usage: "get the code from `REMOTE` and leave the work there", shown: "temporal.remote"},
		{name: "try", usage: "call this try at the attempt `NAME`: letters and digits that no other try at it has", value: "1"},
		{name: "lost-usage", usage: "earlier tries used `JSON` and did not come back"},
	},
	example: "ralph-temporal worker --queue ralph --slots 4", exits: "1 it could not be made here", run: action(runAttempt),
}

type attemptOptions struct {
	Remote, LostUsage, Try string
}

func (o *attemptOptions) parse(commandLine) error {
	for _, r := range o.Try {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return usagef("--try: %q has more than letters and digits", o.Try)
		}
	}
	if o.Try == "" {
		return usagef("--try is empty")
	}
	return nil
}

func runAttempt(ctx context.Context, a *app, o attemptOptions) error {
	var lost event.Usage
	if o.LostUsage != "" {
		if err := json.Unmarshal([]byte(o.LostUsage), &lost); err != nil {
			return usagef("--lost-usage: %v", err)
		}
	}
	in := json.NewDecoder(a.stdin)
	var job remote.Job
	if err := in.Decode(&job); err != nil {
		return usagef("stdin has no job: %v", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin)
		a.exit(exitBug) // its agents end with it
	}()
	s, err := a.openFor(ctx, db.Options{Conns: runConns})
	if err != nil {
		return err
	}
	defer s.Close()
	a.takeSignals()
	target := job.Target
	opts, err := loopOptions(ctx, a, s, runOptions{
		openerOptions: openerOptions{Agent: job.Agent.Name}, placeOptions: placeOptions{Target: &target}, executor: true,
	}, nil)
	if err != nil {
		return err
	}
	repo := opts.Landing.Repo
	if opts.Landing.Remote, err = findRemote(ctx, repo, cmp.Or(o.Remote, s.config.Temporal.Remote), target); err != nil {
		return err
	}
	slot, alone, err := freeSlot(repo)
	if err != nil {
		return err
	}
	defer alone.Close()
	defer a.sandbox.RecordProcesses(job.Run.Owner)()
	out := &reporter{w: a.raw, attempt: job.Run.Attempt, now: a.now}
	ctx, stop := interruptible(ctx, a, nil, 0)
	defer stop()
	x := loop.Executor(opts)
	x.Slot, x.Try, x.Lost, x.Report = slot, o.Try, lost, out.progress
	res, err := x.Execute(ctx, job)
	if err != nil {
		return fmt.Errorf("attempt %s: %w", job.Run.Attempt, err)
	}
	return out.deliver(res)
}

// farSlots are the numbers of slots in which attempts of runs elsewhere are made, so that they are no run's of this machine.
const farSlots = 100

// freeSlot is a slot that no other process uses, until the file is closed.
func freeSlot(repo *git.Repo) (int, *os.File, error) {
	for n := farSlots + 1; ; n++ {
		f, err := merge.TryLock(repo, fmt.Sprintf("far-slot-%d", n))
		if err != nil || f != nil {
			return n, f, err
		}
	}
}

// reporter prints how far an attempt has come.
type reporter struct {
	attempt string
	now     func() time.Time

	mu    sync.Mutex
	w     io.Writer
	last  time.Time
	phase dag.Phase
}

// maxSaid is how much of what the agent said last is printed.
const maxSaid = 200

// often is how often at most something is printed, unless a phase begins.
const often = 500 * time.Millisecond

func (r *reporter) progress(o remote.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if o.Phase == r.phase && now.Sub(r.last) >= 0 && now.Sub(r.last) < often {
		return
	}
	r.last, r.phase = now, o.Phase
	lines := strings.Split(strings.TrimSpace(o.Text), "\n")
	host, _ := os.Hostname()
	_ = r.print(dispatch.FromAttempt{Progress: &dispatch.Progress{Attempt: r.attempt, Host: host, Phase: string(o.Phase), Usage: o.Usage, Text: plain.Cut(lines[len(lines)-1], maxSaid)}}) // the delivery says so if nobody reads
}

func (r *reporter) deliver(res remote.Result) error {
	body, err := json.Marshal(res)
	if err != nil {
		return err
	}
	out := dispatch.Delivery{Attempt: r.attempt, Body: body}
	if decision := res.Decision; decision.Action == policy.Wait && decision.Limits != policy.OneTask {
		out.Limited = &dispatch.Limit{Agent: res.Agent.Name, For: max(decision.Delay, decision.Least)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.print(dispatch.FromAttempt{Delivery: &out}))
}

// print writes a line. The lock is held.
func (r *reporter) print(m dispatch.FromAttempt) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return written(r.w.Write(append(b, '\n')))
}
