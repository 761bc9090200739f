package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/permission"
	"ralph/internal/proc"
	"ralph/internal/render/transcript"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/internal/toolcall"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/recovery"
)

var recoverCommand = command{
	name: "recover", short: "recover tasks from crashed runs; every run starts with it",
	long: `Ends the processes that a dead run left, then releases its tasks, or resumes them at verification
if their work was finished. That does not count as a retry. Every "ralph run" does the same when it
starts, and doing it twice changes nothing.`,
	flags: []flagSpec{
		boolFlag("dry-run", "say what would be done, and do nothing"),
		boolFlag("take-back", "also take back tasks that other machines work on, if the run they work for is not served any more; what they deliver counts for nothing"),
		jsonFlag,
	},
	example: "ralph recover --dry-run\nralph recover", exits: "1 a process of a dead run could not be ended",
	run: action(runRecover),
}

type recoverOptions struct{ DryRun, TakeBack, JSON bool }

func (o *recoverOptions) parse(commandLine) error {
	if o.DryRun && o.TakeBack {
		return usagef("--dry-run does nothing: it does not go with --take-back")
	}
	return nil
}

func runRecover(ctx context.Context, a *app, o recoverOptions) error {
	s, err := a.openFor(ctx, db.Options{Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if o.TakeBack {
		if err := s.store.Update(ctx, func(g *dag.Graph) error { return g.History.DisownRuns(life) }); err != nil {
			return err
		}
	}
	r := recoverer(a, s)
	do := r.Recover
	if o.DryRun {
		do = r.Preview
	}
	rec, err := do(ctx)
	if err == nil && !o.DryRun {
		err = loop.WriteKnowledge(ctx, s.store, knowledge.Open(s.project.Root), nil)
	}
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if o.JSON {
		return a.printJSON(recoveryAsJSON(rec, o.DryRun))
	}
	p := a.palette()
	var b strings.Builder
	for _, t := range rec.Tasks {
		fmt.Fprintf(&b, "%s  %s\n    %s\n", p.Cyan(t.Task), term.Line(t.Title), term.Line(t.Reason))
	}
	if o.DryRun {
		fmt.Fprint(&b, "nothing was done; a run would say: ")
	}
	fmt.Fprintln(&b, rec.Summary())
	return written(fmt.Fprint(a.stdout, b.String()))
}

func recoverer(a *app, s *session) recovery.Recoverer {
	var o loop.Options
	o.Place.Runs, o.Prompt.Knowledge, o.Host.Redact, o.Host.Now = filepath.Join(s.project.State(), "runs"), knowledge.Open(s.project.Root), a.redact, a.now
	if check := s.config.Verify; len(check.Reviewers) > 0 || check.Feature {
		finder := a.finder(s.config)
		chosen, _ := finder.Choose("") // a run says so if there is none
		o.Verify.Reviewers, o.Verify.Acceptor = reviewers(a, check, finder, chosen), acceptor(a, s, finder, chosen)
	}
	return recovery.Recoverer{
		Store: s.store, Life: life, Sweep: sandbox.Sweep(s.project.Root), Count: sandbox.Count(s.project.Root), Rules: recoveryRules(s), Now: a.now,
		Dir:      s.project.Root,
		Parallel: findParallel(a, s), Complete: loop.Completer(&o), Calls: riskyCalls(a, s), Expire: s.config.Inbox.Expire.Std(),
		Trust: trustOf(a, s.project),
	}
}

// riskyCalls finds the tool calls of an attempt that may have done something which cannot be seen in the project's files.
// A person is asked about those that a rule wants to be asked about.
func riskyCalls(a *app, s *session) func(dag.Attempt) ([]string, []inbox.Cut, error) {
	return func(at dag.Attempt) (began []string, cut []inbox.Cut, err error) {
		all, err := transcript.Calls(at.Transcript)
		if err != nil {
			return nil, nil, err
		}
		book, err := newBook(a, s.project, s.config)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range all {
			if !slices.Contains([]string{toolcall.Execute, toolcall.Delete, toolcall.Other, ""}, c.Kind) {
				continue
			}
			text := cmp.Or(c.Command, strings.TrimSpace(c.Text+" "+strings.Join(c.Paths, ", ")))
			began = append(began, text)
			if !c.Over {
				cut = append(cut, inbox.Cut{Text: text, Ask: book.Decide(c.Call).Answer == permission.Ask})
			}
		}
		return began, cut, nil
	}
}

func recoveryRules(s *session) recovery.Rules {
	r := s.config.Recovery
	return recovery.Rules{
		MaxAge: r.MaxAge.Std(), MaxInterruptions: r.MaxInterruptions, MaxAttempts: s.config.Run.MaxAttempts, OnDirty: recovery.OnDirty(r.OnDirty),
	}
}

func recoveryAsJSON(rec recovery.Recovery, dry bool) jsonval.Object {
	n := rec.Summary()
	tasks := seq.Map(rec.Tasks, func(r recovery.Reclaimed) jsonval.Object {
		return jsonval.Object{
			"id", r.Task, "title", r.Title, "run", r.Run, "attempt", null(r.Attempt), "phase", null(r.Phase), "action", r.Action, "reason", r.Reason,
		}
	})
	return jsonval.Object{
		"dry_run", dry, "runs", rec.Runs, "released", n.Released, "resumed", n.Resumed, "abandoned", n.Abandoned,
		"failed", n.Failed, "orphans", n.Orphans, "landed", n.Landed, "tasks", tasks,
	}
}

// life asks the operating system about a process that claimed a task. One whose attempts are made on other machines counts as
// alive until its run has ended: somebody will go on with it.
func life(p dag.Process) dag.Life {
	if p.Remote != "" {
		return dag.Alive
	}
	switch proc.Liveness(proc.Identity{Pid: int(p.PID), Start: uint64(p.Start), BootID: p.BootID, PIDNS: p.Namespace}) {
	case proc.Alive:
		return dag.Alive
	case proc.Dead:
		return dag.Dead
	default:
		return dag.Unknown
	}
}
