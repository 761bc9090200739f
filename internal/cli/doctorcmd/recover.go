package doctorcmd

import (
	"context"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/db"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/recovery"
)

// Recover is the command "ralph recover".
var Recover = cli.Command{
	Name: "recover", Short: "recover tasks from crashed runs; every run starts with it",
	Long: `Ends the processes that a dead run left, then releases its tasks, or resumes them at verification
if their work was finished. That does not count as a retry. Every "ralph run" does the same when it
starts, and doing it twice changes nothing.`,
	Flags: []cli.Flag{
		cli.Bool("dry-run", "say what would be done, and do nothing"),
		cli.Bool("take-back", "also take back tasks that other machines work on, if the run they work for is not served any more; what they deliver counts for nothing"),
		cli.JSONFlag,
	},
	Example: "ralph recover --dry-run\nralph recover", Exits: "1 a process of a dead run could not be ended",
	Run: cli.Action(runRecover),
}

type recoverOptions struct{ DryRun, TakeBack, JSON bool }

func (o *recoverOptions) Parse(cli.CommandLine) error {
	if o.DryRun && o.TakeBack {
		return cli.Usagef("--dry-run does nothing: it does not go with --take-back")
	}
	return nil
}

func runRecover(ctx context.Context, a *cli.App, o recoverOptions) error {
	s, err := a.OpenFor(ctx, db.Options{Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if o.TakeBack {
		if err := s.Store.Update(ctx, func(g *dag.Graph) error { return g.History.DisownRuns(cli.Life) }); err != nil {
			return err
		}
	}
	r := wiring.Recoverer(a, s)
	do := r.Recover
	if o.DryRun {
		do = r.Preview
	}
	rec, err := do(ctx)
	if err == nil && !o.DryRun {
		err = loop.WriteKnowledge(ctx, s.Store, knowledge.Open(s.Project.Root), nil)
	}
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if o.JSON {
		return a.PrintJSON(RecoveryAsJSON(rec, o.DryRun))
	}
	p := a.Palette()
	var b strings.Builder
	for _, t := range rec.Tasks {
		fmt.Fprintf(&b, "%s  %s\n    %s\n", p.Cyan(t.Task), term.Line(t.Title), term.Line(t.Reason))
	}
	if o.DryRun {
		fmt.Fprint(&b, "nothing was done; a run would say: ")
	}
	fmt.Fprintln(&b, rec.Summary())
	return cli.Written(fmt.Fprint(a.Stdout, b.String()))
}

// RecoveryAsJSON is what was recovered.
func RecoveryAsJSON(rec recovery.Recovery, dry bool) jsonval.Object {
	n := rec.Summary()
	tasks := seq.Map(rec.Tasks, func(r recovery.Reclaimed) jsonval.Object {
		return jsonval.Object{
			"id", r.Task, "title", r.Title, "run", r.Run, "attempt", cli.Null(r.Attempt), "phase", cli.Null(r.Phase), "action", r.Action, "reason", r.Reason,
		}
	})
	return jsonval.Object{
		"dry_run", dry, "runs", rec.Runs, "released", n.Released, "resumed", n.Resumed, "abandoned", n.Abandoned,
		"failed", n.Failed, "orphans", n.Orphans, "landed", n.Landed, "tasks", tasks,
	}
}
