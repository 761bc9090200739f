package attempt

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/verify"
)

// Baselines remembers what the gates said before the work of the tasks at hand, by commit.
type Baselines struct {
	mu sync.Mutex
	at map[string]*baseline
}

type baseline struct {
	running sync.Mutex // held while gates run
	results map[string]verify.Result
}

// of returns what gates said, and runs those that were not run yet. Of several attempts at
// one commit one at a time runs gates. Where only one folder is worked in, what was said of
// another commit is forgotten: somebody else moved the head.
func (b *Baselines) of(head string, forget bool, commands []string, run func(command string) (verify.Result, error)) ([]verify.Result, error) {
	b.mu.Lock()
	at := b.commit(head, forget)
	b.mu.Unlock()
	at.running.Lock()
	defer at.running.Unlock()
	var list []verify.Result
	for _, command := range commands {
		res := b.known(head, command)
		if res == nil {
			said, err := run(command)
			if err != nil {
				return nil, err
			}
			b.mu.Lock()
			at.results[command], res = said, &said
			b.mu.Unlock()
		}
		list = append(list, *res)
	}
	return list, nil
}

// known returns what a gate said, if it was run at that commit.
func (b *Baselines) known(head, command string) *verify.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.at[head]; at != nil {
		if res, known := at.results[command]; known {
			return &res
		}
	}
	return nil
}

// forget forgets all: what work that was not accepted left behind is not the next task's fault.
func (b *Baselines) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = nil
}

// landed says that what the gates said of accepted work is what the next task begins with, and that what
// holds for the commit below holds on. It does not wait for gates that run there, because nobody else can
// land meanwhile.
func (b *Baselines) landed(onto, commit string, gates []verify.Check) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.commit(commit, false)
	if below := b.at[onto]; below != nil {
		maps.Copy(at.results, below.results)
	}
	for _, g := range gates {
		at.results[g.Command] = g.Result
	}
}

// commit is what is known of one. The lock is held.
func (b *Baselines) commit(head string, forget bool) *baseline {
	if b.at == nil || forget && b.at[head] == nil {
		b.at = map[string]*baseline{}
	}
	if b.at[head] == nil {
		b.at[head] = &baseline{results: map[string]verify.Result{}}
	}
	return b.at[head]
}

// baseline records what the gates said before the task's work, as far as that is not known.
func (a *attempt) baseline(ctx context.Context) error {
	base := &a.evidence.base
	unknown := slices.DeleteFunc(slices.Clone(a.job.Verify.Gates), func(command string) bool {
		_, known := base.Gates[command]
		return known
	})
	shown := a.ports.Lane == nil
	results, err := a.Baselines.of(a.evidence.before.Head, a.ports.Lane == nil, unknown, func(command string) (verify.Result, error) {
		var res verify.Result
		var err error
		if !shown {
			if err := a.ports.Lane.Show(ctx, a.evidence.before.Head); err != nil {
				return res, err
			}
			shown = true
		}
		a.Demand.measure(a.Now, func() (time.Duration, bool) {
			res, err = a.gate(ctx, command, "before the work", a.baselineLog())
			return res.CPU, res.CPU > 0
		})
		if err == nil {
			a.gateEnded(verify.Check{Result: res}, "before the work")
			err = a.mustStart(res)
		}
		return res, err
	})
	if err != nil {
		return err
	}
	if base.Gates == nil {
		base.Gates = map[string]verify.Result{}
	}
	for _, res := range results {
		res.Tail = "" // only the names of failures are compared
		base.Gates[res.Command] = res
	}
	a.warnUnprovable()
	return a.ports.Record.SetBase(ctx, *base)
}

// mustStart ends the run for a gate that cannot start without the work of any task: no task can be blamed for it, or shown to be done.
// What a task's own gate runs may be what the task is about.
func (a *attempt) mustStart(res verify.Result) error {
	own := a.job.Verify.Gates[a.job.Verify.Own:]
	if !res.Unstartable || slices.Contains(own, res.Command) {
		return nil
	}
	remedy := "install what it runs"
	if a.ports.Lane != nil {
		remedy += ", or have [parallel] setup in .ralph.toml install it in each slot"
	}
	return policy.Halted{Reason: res.Why() + "; " + remedy + "; what a task is to create belongs into a gate of that task (--gate)"}
}

// warnUnprovable says that no gate can show that the work is good, before anybody is paid for it.
func (a *attempt) warnUnprovable() {
	gates := a.job.Verify.Gates
	red := func(command string) bool { return !a.evidence.base.Gates[command].Passed }
	if len(gates) == 0 || a.job.Verify.Own < len(gates) || a.job.Verify.AgentVerdict || a.job.Task.Kind == dag.Check {
		return
	}
	if !slices.ContainsFunc(gates, func(command string) bool { return !red(command) }) {
		a.WarnOnce("unprovable", "every gate is red before the work, and there is no verifier: work that turns none of them green is kept, "+
			"but is not done; repair them, give tasks a gate of their own (--gate), or set [verify] enabled = true")
	}
}

func (a *attempt) baselineLog() string {
	return filepath.Join(filepath.Dir(a.job.Place.Folder), "baseline.log")
}

// below is what a gate says of the commit below the candidate. If that is unknown, the room shows that commit
// while the gate runs.
func (a *attempt) below(ctx context.Context, command string) (*verify.Result, error) {
	c := a.evidence.landing
	results, err := a.Baselines.of(c.Onto, false, []string{command}, func(command string) (verify.Result, error) {
		if err := a.ports.Lane.Show(ctx, c.Onto); err != nil {
			return verify.Result{}, err
		}
		res, err := a.gate(ctx, command, "without the work", a.baselineLog())
		if err == nil {
			a.gateEnded(verify.Check{Result: res}, "without the work")
			err = cmp.Or(a.mustStart(res), a.ports.Lane.Show(ctx, c.Commit))
		}
		return res, err
	})
	if err != nil {
		return nil, err
	}
	return &results[0], nil
}

// gates runs every gate of the task up to the first that fails. In the queue a red one is compared with what it
// says of the commit below, where somebody may have repaired or broken it since the task began.
func (a *attempt) gates(ctx context.Context) ([]verify.Check, error) {
	var checks []verify.Check
	log := a.verifyLog()
	for i, command := range a.job.Verify.Gates {
		if a.talk.set.Closing && i >= a.job.Verify.Own { // its last subtask has them
			break
		}
		check := verify.Check{Own: i >= a.job.Verify.Own, ExpectRed: command == a.job.Task.ExpectRed}
		if before, known := a.evidence.base.Gates[command]; known {
			check.Before = &before
		}
		res, err := a.gate(ctx, command, "", log)
		if err != nil {
			return checks, err
		}
		if a.job.Finished != nil && !a.job.Accepted { // no agent is there to repair it, and none is to be paid for the same work again
			if err := a.mustStart(res); err != nil {
				return checks, err
			}
		}
		check.Result = res
		compare := a.ports.Lane != nil && !check.Own
		if compare && !res.Passed {
			check.Before = a.Baselines.known(a.evidence.landing.Onto, command)
		}
		for range a.job.Verify.Reruns {
			// What fails by chance must not cost an agent's turn; what was red
			// before has not failed by chance.
			if check.Verdict() != event.GateFailed || res.Killed || check.ExpectRed || check.Before != nil && !check.Before.Passed {
				break
			}
			if res, err = a.gate(ctx, command, "again, because it failed", log); err != nil {
				return checks, err
			}
			if res.Passed {
				check.Result, check.Flaky = res, true
			}
		}
		if compare && !check.Passed && check.Before == nil {
			if check.Before, err = a.below(ctx, command); err != nil {
				return checks, err
			}
		}
		a.gateEnded(check, "")
		checks = append(checks, check)
		if check.Verdict() == event.GateFailed {
			break
		}
	}
	return checks, nil
}

// gate runs one gate once, where the work is.
func (a *attempt) gate(ctx context.Context, command, why, path string) (verify.Result, error) {
	return a.gateIn(ctx, a.runner(), command, why, path)
}

// runner runs commands where the work is judged.
func (a *attempt) runner() verify.Gates {
	runner := a.Gates
	runner.Dir = a.job.Place.Dir
	if a.ports.Lane != nil {
		runner, _ = a.ports.Lane.Room()
	}
	return runner
}

// gateIn runs one gate once, with its whole output kept at the end of a file.
func (a *attempt) gateIn(ctx context.Context, runner verify.Gates, command, why, path string) (verify.Result, error) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return verify.Result{}, err
	}
	defer log.Close()
	a.tell(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: command}, Reason: why})
	heading := ""
	switch why {
	case "":
		failpoint.Hit("K9")
	case withOldTests:
		failpoint.Hit("K24")
		fallthrough
	case inACopy, asBefore, asTheFeatureBegan, asTheFeatureBeganTested, asTheTaskBegan:
		heading = "# " + why + ":\n"
	}
	if _, err := log.WriteString(heading + "$ " + a.Redact.Text(command) + "\n"); err != nil {
		return verify.Result{}, err
	}
	runner.Owner, runner.Redact = a.job.Run.Owner, a.Redact // what a gate leaves running dies with the run's
	res, err := runner.Run(ctx, command, log)
	a.cpu += res.CPU
	if err == nil && !res.Passed && a.Withheld != "" {
		a.WarnOnce("withheld", a.Withheld)
	}
	return res, err
}

func (a *attempt) gateEnded(c verify.Check, why string) {
	r := record(c)
	output := ""
	if !c.Passed && (why == "" || why == withOldTests) {
		output = c.Tail
	}
	a.tell(event.Event{Type: event.GateEnded, Reason: why, Text: output, Gate: &event.Gate{
		Command: c.Command, Passed: c.Passed, Exit: c.Exit, Baseline: r.Baseline, Verdict: r.Verdict, Tests: r.Tests, TestsBefore: r.TestsBefore,
		Log: a.verifyLog(),
	}})
}

func record(c verify.Check) dag.GateRecord {
	r := dag.GateRecord{Command: c.Command, Passed: c.Passed, Exit: c.Exit, Verdict: c.Verdict(), Tests: c.Tests}
	if c.Before != nil {
		r.TestsBefore = c.Before.Tests
	}
	switch {
	case c.Before == nil:
	case c.Before.Passed:
		r.Baseline = event.BaselineGreen
	default:
		r.Baseline = event.BaselineRed
	}
	return r
}
