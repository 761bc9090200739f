package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/failpoint"
	"ralph/verify"
)

// Baselines remembers what the gates said before the work of the tasks at hand.
type Baselines struct {
	mu      sync.Mutex
	head    string // the commit it holds for
	results map[string]verify.Result
}

// get is what a gate said.
func (b *Baselines) get(command string) *verify.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	if res, ok := b.results[command]; ok {
		return &res
	}
	return nil
}

// fill runs the gates that were not run yet. It starts over when somebody else moved the
// head. Of several attempts one at a time runs gates.
func (b *Baselines) fill(head string, commands []string, run func(command string) (verify.Result, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.results == nil || b.head != head {
		b.head, b.results = head, map[string]verify.Result{}
	}
	for _, command := range commands {
		if _, known := b.results[command]; known {
			continue
		}
		res, err := run(command)
		if err != nil {
			return err
		}
		b.results[command] = res
	}
	return nil
}

// settle says that what the gates said of accepted work is what the next task begins
// with, and that a head we moved ourselves is no surprise.
func (b *Baselines) settle(accepted bool, head string, gates []verify.Check) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.results == nil {
		return
	}
	b.head = head
	if !accepted {
		b.results = nil // what this work left behind is not the next task's fault
		return
	}
	for _, g := range gates {
		b.results[g.Command] = g.Result
	}
}

// baseline runs the gates that were not run yet, so that what was red before is known.
func (a *attempt) baseline(ctx context.Context) error {
	var unknown []string
	for _, command := range a.job.Verify.Gates {
		if _, known := a.evidence.base.Gates[command]; !known {
			unknown = append(unknown, command)
		}
	}
	log := filepath.Join(filepath.Dir(a.job.Place.Folder), "baseline.log")
	return a.Baselines.fill(a.evidence.before.Head, unknown, func(command string) (verify.Result, error) {
		res, err := a.gate(ctx, command, "before the work", log)
		if err == nil {
			a.emit(a.gateEnded(verify.Check{Result: res}, "before the work"))
		}
		return res, err
	})
}

// known is what a gate said before the work, nil if nobody knows.
func (a *attempt) known(command string) *verify.Result {
	if res, ok := a.evidence.base.Gates[command]; ok {
		return &res
	}
	if f := a.job.Finished; f != nil {
		if res, ok := f.Baseline[command]; ok {
			return &res
		}
		return nil
	}
	return a.Baselines.get(command)
}

// keepBase records what the gates said before the task's work, if that is news.
func (a *attempt) keepBase(ctx context.Context) error {
	base := &a.evidence.base
	for _, command := range a.job.Verify.Gates {
		if _, known := base.Gates[command]; known {
			continue
		}
		if res := a.known(command); res != nil {
			if base.Gates == nil {
				base.Gates = map[string]verify.Result{}
			}
			kept := *res
			kept.Tail = "" // only the names of failures are compared
			base.Gates[command] = kept
		}
	}
	return a.ports.Record.SetBase(ctx, *base)
}

// gates runs every gate of the task up to the first that fails.
func (a *attempt) gates(ctx context.Context) ([]verify.Check, error) {
	var checks []verify.Check
	log := filepath.Join(a.job.Place.Folder, "verify.log")
	for i, command := range a.job.Verify.Gates {
		check := verify.Check{Own: i >= a.job.Verify.Own, Before: a.known(command)}
		res, err := a.gate(ctx, command, "", log)
		if err != nil {
			return checks, err
		}
		check.Result = res
		for range a.job.Verify.Reruns {
			// What fails by chance must not cost an agent's turn; what was red
			// before has not failed by chance.
			if check.Verdict() != event.GateFailed || res.Killed || check.Before != nil && !check.Before.Passed {
				break
			}
			if res, err = a.gate(ctx, command, "again, because it failed", log); err != nil {
				return checks, err
			}
			if res.Passed {
				check.Result, check.Flaky = res, true
			}
		}
		a.emit(a.gateEnded(check, ""))
		checks = append(checks, check)
		if check.Verdict() == event.GateFailed {
			break
		}
	}
	return checks, nil
}

// gate runs one gate once, with its whole output kept at the end of a file.
func (a *attempt) gate(ctx context.Context, command, why, path string) (verify.Result, error) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return verify.Result{}, err
	}
	defer log.Close()
	a.tell(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: command}, Reason: why})
	if _, err := log.WriteString("$ " + a.Redact.Text(command) + "\n"); err != nil {
		return verify.Result{}, err
	}
	if why == "" {
		failpoint.Hit("K9")
	}
	runner := a.Gates
	runner.Dir, runner.Owner, runner.Redact = a.job.Place.Dir, a.job.Run.Owner, a.Redact // what a gate leaves running dies with the run's
	res, err := runner.Run(ctx, command, log)
	if err == nil && !res.Passed && len(a.Withheld) > 0 {
		a.warnOnce("withheld", "gates run without variables whose names look like secrets: "+strings.Join(a.Withheld, ", ")+
			`; if a gate needs one, name it in [verify] env_allow in .ralph.toml`)
	}
	return res, err
}

func (a *attempt) gateEnded(c verify.Check, why string) event.Event {
	r := record(c)
	output := ""
	if !c.Passed && why == "" {
		output = c.Tail
	}
	return a.stamped(event.Event{
		Type: event.GateEnded, Reason: why, Text: output,
		Gate: &event.Gate{
			Command: c.Command, Passed: c.Passed, Exit: c.Exit, Baseline: r.Baseline, Verdict: r.Verdict,
			Log: filepath.Join(a.job.Place.Folder, "verify.log"),
		},
	})
}

func records(checks []verify.Check) []dag.GateRecord {
	list := make([]dag.GateRecord, 0, len(checks))
	for _, c := range checks {
		list = append(list, record(c))
	}
	return list
}

func record(c verify.Check) dag.GateRecord {
	r := dag.GateRecord{Command: c.Command, Passed: c.Passed, Exit: c.Exit, Verdict: c.Verdict()}
	switch {
	case c.Before == nil:
	case c.Before.Passed:
		r.Baseline = event.BaselineGreen
	default:
		r.Baseline = event.BaselineRed
	}
	return r
}
