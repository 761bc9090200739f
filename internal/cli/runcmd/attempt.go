package runcmd

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
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/wiring"
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

// Attempt makes one attempt of a run that is on another machine.
var Attempt = cli.Command{
	Name: "attempt", Hidden: true, Short: "make one attempt of a run on another machine",
	Long: `Reads a job from stdin and makes the attempt in a slot of this clone; package internal/dispatch says what it
prints. It ends when stdin does: whoever started it is gone then. ralph-temporal worker starts it.`,
	Flags: []cli.Flag{
		{Name: "remote", Usage: "get the code from `REMOTE` and leave the work there", Shown: "temporal.remote"},
		{Name: "try", Usage: "call this try at the attempt `NAME`: letters and digits that no other try at it has", Value: "1"},
		{Name: "lost-usage", Usage: "earlier tries used `JSON` and did not come back"},
	},
	Example: "ralph-temporal worker --queue ralph --slots 4", Exits: "1 it could not be made here", Run: cli.Action(runAttempt),
}

type attemptOptions struct {
	Remote, LostUsage, Try string
}

func (o *attemptOptions) Parse(cli.CommandLine) error {
	for _, r := range o.Try {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return cli.Usagef("--try: %q has more than letters and digits", o.Try)
		}
	}
	if o.Try == "" {
		return cli.Usagef("--try is empty")
	}
	return nil
}

func runAttempt(ctx context.Context, a *cli.App, o attemptOptions) error {
	var lost event.Usage
	if o.LostUsage != "" {
		if err := json.Unmarshal([]byte(o.LostUsage), &lost); err != nil {
			return cli.Usagef("--lost-usage: %v", err)
		}
	}
	in := json.NewDecoder(a.Stdin)
	var job remote.Job
	if err := in.Decode(&job); err != nil {
		return cli.Usagef("stdin has no job: %v", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, a.Stdin)
		a.Exit(cli.ExitBug) // its agents end with it
	}()
	s, err := a.OpenFor(ctx, db.Options{Conns: launch.RunConns})
	if err != nil {
		return err
	}
	defer s.Close()
	a.TakeSignals()
	target := job.Target
	opts, err := launch.LoopOptions(ctx, a, s, launch.Options{
		OpenerOptions: wiring.OpenerOptions{Agent: job.Agent.Name}, PlaceOptions: launch.PlaceOptions{Target: &target}, Start: launch.Start{Executor: true},
	}, nil)
	if err != nil {
		return err
	}
	repo := opts.Landing.Repo
	if opts.Landing.Remote, err = launch.FindRemote(ctx, repo, cmp.Or(o.Remote, s.Config.Temporal.Remote), target); err != nil {
		return err
	}
	slot, alone, err := freeSlot(repo)
	if err != nil {
		return err
	}
	defer alone.Close()
	defer a.Sandbox.RecordProcesses(job.Run.Owner)()
	out := &reporter{w: a.Raw, attempt: job.Run.Attempt, now: a.Now}
	ctx, stop := cli.Interruptible(ctx, a, nil, 0)
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
	return cli.Written(r.w.Write(append(b, '\n')))
}
