package loop

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/failpoint"
	"ralph/verify"
)

// baselines is what the gates said before the work of the tasks at hand.
type baselines struct {
	mu      sync.Mutex
	head    string // the commit it holds for
	results map[string]verify.Result
}

// commands lists the gates of a task: the project's, its feature's, its own.
func (a *attempt) commands() (all []string, own int) {
	all = slices.Concat(a.opts.Gates, a.shared)
	all = slices.Concat(all, a.claim.Task.Gates)
	return all, len(all) - len(a.claim.Task.Gates)
}

// baseline runs the gates that were not run yet, so that what was red before is
// known. It begins anew when somebody else moved the head.
func (a *attempt) baseline(ctx context.Context) error {
	if a.opts.Skip {
		return nil
	}
	if err := a.share(ctx); err != nil {
		return err
	}
	b := &a.gated
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.results == nil || b.head != a.before.Head {
		b.head, b.results = a.before.Head, map[string]verify.Result{}
	}
	commands, _ := a.commands()
	for _, command := range commands {
		if _, known := b.results[command]; known {
			continue
		}
		if _, known := a.base.Gates[command]; known {
			continue
		}
		res, err := a.gate(ctx, command, "before the work", filepath.Join(filepath.Dir(a.folder), "baseline.log"))
		if err != nil {
			return err
		}
		b.results[command] = res
		a.bus.emit(a.gateEnded(verify.Check{Result: res}, "before the work"))
	}
	return nil
}

// share looks up the gates of the task's feature.
func (a *attempt) share(ctx context.Context) error {
	return a.opts.Store.View(ctx, func(g *dag.Graph) (err error) {
		a.shared, err = g.FeatureGates(a.claim.Task.Feature)
		return err
	})
}

// settleBaseline says that what the gates said of accepted work is what the next
// task begins with, and that a head we moved ourselves is no surprise.
func (a *attempt) settleBaseline(accepted bool, head string) {
	b := &a.gated
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
	for _, g := range a.facts.Work.Gates {
		b.results[g.Command] = g.Result
	}
}

// gates runs every gate of the task up to the first that fails.
func (a *attempt) gates(ctx context.Context) ([]verify.Check, error) {
	commands, own := a.commands()
	var checks []verify.Check
	for i, command := range commands {
		check := verify.Check{Own: i >= own, Before: a.known(command)}
		log := filepath.Join(a.folder, "verify.log")
		res, err := a.gate(ctx, command, "", log)
		if err != nil {
			return checks, err
		}
		check.Result = res
		for range a.opts.Reruns {
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
		a.bus.emit(a.gateEnded(check, ""))
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
	a.bus.emit(event.Event{Type: event.GateStarted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Gate: &event.Gate{Command: command}, Reason: why})
	if _, err := log.WriteString("$ " + a.opts.Redact.Text(command) + "\n"); err != nil {
		return verify.Result{}, err
	}
	if why == "" {
		failpoint.Hit("K9")
	}
	judge := a.opts.Judge
	judge.Owner, judge.Redact = a.run.Owner, a.opts.Redact // what a gate leaves running dies with the run's
	res, err := judge.Run(ctx, command, log)
	if err == nil && !res.Passed && len(a.opts.Withheld) > 0 {
		a.bus.warnOnce("withheld", "gates run without variables whose names look like secrets: "+strings.Join(a.opts.Withheld, ", ")+
			`; if a gate needs one, name it in [verify] env_allow in .ralph.toml`)
	}
	return res, err
}

func (a *attempt) gateEnded(c verify.Check, why string) event.Event {
	r := record(c)
	said := ""
	if !c.Passed && why == "" {
		said = c.Tail
	}
	return event.Event{
		Type: event.GateEnded, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Reason: why, Text: said,
		Gate: &event.Gate{Command: c.Command, Passed: c.Passed, Exit: c.Exit, Baseline: r.Baseline, Verdict: r.Verdict, Log: filepath.Join(a.folder, "verify.log")},
	}
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
