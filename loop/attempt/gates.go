package attempt

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/failpoint"
	"ralph/verify"
	"ralph/verify/coverage"
)

// Baselines remembers what the gates said before the work of the tasks at hand, by commit.
type Baselines struct {
	mu sync.Mutex
	at map[string]*baseline

	silence coverage.Silence // and which of them cannot tell what they execute
}

type baseline struct {
	running sync.Mutex // held while gates run
	results map[string]verify.Result
}

// of returns what gates said, and runs those that were not run yet. What these say counts once begin has nothing against it. Of
// several attempts at one commit one at a time runs gates.
func (b *Baselines) of(
	head string, commands []string, run func(command string) (verify.Result, error), begin func([]verify.Result) error,
) ([]verify.Result, error) {
	b.mu.Lock()
	at := b.commit(head)
	b.mu.Unlock()
	at.running.Lock()
	defer at.running.Unlock()
	var list, fresh []verify.Result
	for _, command := range commands {
		res := b.known(head, command)
		if res == nil {
			said, err := run(command)
			if err != nil {
				return nil, err
			}
			b.mu.Lock()
			at.results[command] = said
			b.mu.Unlock()
			fresh, res = append(fresh, said), &said
		}
		list = append(list, *res)
	}
	err := begin(fresh)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, res := range fresh {
			delete(at.results, res.Command)
		}
	}
	return list, err
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

// landed says that what the gates said of accepted work is what the next task begins with, and that what
// holds for the commit below holds on. It does not wait for gates that run there, because no one else can
// land meanwhile.
func (b *Baselines) landed(onto, commit string, gates []verify.Check) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.commit(commit)
	if below := b.at[onto]; below != nil {
		maps.Copy(at.results, below.results)
	}
	for _, g := range gates {
		at.results[g.Command] = g.Result
	}
}

// commit is what is known of one. The lock is held.
func (b *Baselines) commit(head string) *baseline {
	if b.at == nil {
		b.at = map[string]*baseline{}
	}
	if b.at[head] == nil {
		b.at[head] = &baseline{results: map[string]verify.Result{}}
	}
	return b.at[head]
}

// baseline records what the gates said before the task's work, as far as that is not known. The gates of every task have
// to say of the target what they may, whatever they said when the task began.
func (a *attempt) baseline(ctx context.Context) error {
	base, shared := &a.evidence.base, a.job.Verify.Gates[:a.job.Verify.Own]
	unknown := slices.DeleteFunc(slices.Clone(a.job.Verify.Gates), func(command string) bool {
		_, known := base.Gates[command]
		return known && !slices.Contains(shared, command)
	})
	head, shown := a.ports.Lane.Base(), false // without what an earlier attempt left
	results, err := a.Baselines.of(head, unknown, func(command string) (res verify.Result, err error) {
		if !shown {
			if err := a.ports.Lane.Show(ctx, head); err != nil {
				return res, err
			}
			shown = true
		}
		a.Demand.measure(a.Now, func() (time.Duration, bool) {
			res, err = a.before(ctx, command, "before the work")
			return res.CPU, res.CPU > 0
		})
		return res, err
	}, func(fresh []verify.Result) error { return a.begin(ctx, fresh) })
	if err != nil {
		return err
	}
	if base.Gates == nil {
		base.Gates = map[string]verify.Result{}
	}
	for _, res := range results {
		if _, known := base.Gates[res.Command]; !known {
			res.Tail = "" // only the names of failures are compared
			base.Gates[res.Command] = res
		}
	}
	a.warnUnprovable()
	return a.ports.Record(ctx, Record{Base: base})
}

// warnUnprovable warns that no gate can show that the work is good, before a session is paid.
func (a *attempt) warnUnprovable() {
	gates := a.job.Verify.Gates
	switch {
	case len(gates) == 0, a.job.Verify.Own < len(gates), a.job.Verify.AgentVerdict, a.job.Task.Kind == dag.Check:
		return
	}
	if !slices.ContainsFunc(gates, func(command string) bool { return a.evidence.base.Gates[command].Passed }) {
		a.WarnOnce("unprovable", "every gate fails before the work, and there is no verifier: work that makes none of them pass is kept, "+
			"but is not done; repair them, give tasks a gate of their own (--gate), or set [verify] enabled = true")
	}
}

// byChance reports whether a gate that fails may have failed by chance: that must not cost an agent's turn. What was red before has not.
func byChance(c verify.Check, r verify.Result) bool {
	return !r.Killed && !c.ExpectRed && !c.FailedBefore()
}

func (a *attempt) baselineLog() string {
	return filepath.Join(filepath.Dir(a.job.Place.Folder), "baseline.log")
}

// rerun does something, and again as often as gates are run again, as long as it says so: what fails once may fail by chance.
func (a *attempt) rerun(do func() (again bool, err error)) error {
	again, err := do()
	for range a.job.Verify.Reruns {
		if err != nil || !again {
			break
		}
		again, err = do()
	}
	return err
}

// gates runs every gate of the task up to the first that fails.
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
			if res.Unstartable && !check.Own {
				return checks, a.broken(res)
			}
		}
		check.Result = res
		if check.Allowed, err = a.ports.Excuses.Allowed(ctx, command); err != nil {
			return checks, err
		}
		for range a.job.Verify.Reruns {
			if check.Verdict() != event.GateFailed || !byChance(check, res) {
				break
			}
			if res, err = a.gate(ctx, command, "again, because it failed", log); err != nil {
				return checks, err
			}
			if res.Passed {
				check.Result, check.Flaky = res, true
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
	runner, _ := a.ports.Lane.Room()
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
		failpoint.Hit("in-gate")
	case withOldTests:
		failpoint.Hit("in-old-tests")
		fallthrough
	case inACopy, asBefore, withFirstChecks, measuring, forNames, asBegan, asHollow:
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
