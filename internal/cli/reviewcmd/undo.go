package reviewcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/decide"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/wiring"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// Undo is the command "ralph undo".
var Undo = cli.Command{
	Name: "undo", Args: "TASK", Short: "take back the work of a task that landed, and open the task again",
	Long: `A commit that reverts the task's commit goes through the queue like other work: gates test it, and it lands on the same
branch. The gates of the tasks that are done and depend on TASK test it, too. If one fails, or the commit
conflicts with what landed since, nothing changes. With --with-dependants, one commit reverts the work of all of
them, the last that landed first, so that all are undone or none is.`,
	Flags: append(undoFlags(), cli.Bool("with-dependants", "take back what depends on it, too"),
		cli.Flag{Name: "message", Short: "m", Usage: "`TEXT`, @FILE, or - for stdin, that tells the next attempt at TASK why"}),
	Example: "ralph undo 1f0c\nralph undo 1f0c -m \"keep the old format readable\"\nralph undo 1f0c --with-dependants",
	Exits:   "1 refused (it did not land, a conflict) or a gate fails, 3 not found, 6 what landed was not pushed,\n" + cli.Interrupted,
	Run:     cli.Action(runUndo),
}

// undoFlags are those of a run that make sense for one commit.
func undoFlags() []cli.Flag {
	return slices.DeleteFunc(mergeFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"feature", "task", "jobs", "target", "in-place", "review"}, f.Name)
	})
}

type undoOptions struct {
	launch.Options
	WithDependants bool
	Message        string
}

// undoing is a revert that is to land.
type undoing struct {
	id, target string              // of the task that it is
	stay       []string            // the tasks that stay done and depend on what is undone
	gates      map[string][]string // their gates, and whose they are
}

func runUndo(ctx context.Context, a *cli.App, o undoOptions) (err error) {
	if o.Message, err = cli.ReadText(a, o.Message); err != nil {
		return err
	}
	return undoTask(ctx, a, o)
}

func undoTask(ctx context.Context, a *cli.App, o undoOptions) error {
	if err := launch.TakeInNow(ctx, a); err != nil {
		return err
	}
	u, err := storeUndo(ctx, a, o)
	if err != nil {
		return err
	}
	id, run := u.id, o.Options
	run.Args, run.Task, run.Target, run.Finished = nil, &id, &u.target, true
	err = launch.Run(ctx, a, run)
	ended := err == nil || errors.As(err, new(cli.RunEnded))
	if ended {
		if werr := decide.AwaitLanding(ctx, a, id); werr != nil {
			return werr
		}
	}
	var undone []string
	var last dag.Attempt
	taken := false
	terr := a.Record(context.WithoutCancel(ctx), func(_ *cli.Session, g *dag.Graph) error {
		last, _ = g.History.LastAttempt(id) // the first error of the database is that of all that follow
		t, err := g.Tasks.Get(id)
		switch {
		case err == nil && t.Status == dag.Done:
			undone, err = g.Tasks.Undone(t)
		case err == nil && t.Status == dag.Pending: // nobody has it
			err = g.Plan.Delete(id)
		}
		taken = t.Status == dag.InProgress
		return err
	})
	if errors.Is(terr, dag.ErrNotFound) { // a gate failed
		terr = nil
	}
	switch {
	case terr != nil:
		return cmp.Or(err, terr)
	case len(undone) > 0:
		a.Note("undone, and open again: %s", strings.Join(undone, ", "))
		if ended { // perhaps by another run
			err = nil
		}
		return err
	case taken:
		return cli.Hint(cmp.Or(err, fmt.Errorf("%w: the run that was landing %s died", dag.ErrRefused, id)), "land it: ralph merge; or give it up: ralph task delete %s", id)
	}
	a.Note("nothing is undone: %s stays as it is", o.Args[0])
	if i := slices.IndexFunc(last.Gates, func(r dag.GateRecord) bool { return r.Verdict == event.GateFailed }); i >= 0 && len(u.stay) > 0 {
		gate, whose := last.Gates[i].Command, u.stay // a gate of the project is one of every task
		if own := u.gates[gate]; own != nil {
			whose = own
		}
		return cli.Hint(fmt.Errorf("%w: without the work of %s, a gate of %s fails: %s", dag.ErrRefused, o.Args[0], human.List(whose, len(whose)), gate),
			"undo what depends on it, too: ralph undo %s --with-dependants", o.Args[0])
	}
	return cmp.Or(err, fmt.Errorf("%w: the revert did not land", dag.ErrRefused))
}

// storeUndo makes the commit that takes back what landed, and stores it as finished work of a task. If there is one
// already, because another ralph undo has made it, it is that.
func storeUndo(ctx context.Context, a *cli.App, o undoOptions) (u undoing, err error) {
	var t dag.Task
	var landed []dag.Merge
	var ids []string
	var repo *git.Repo
	err = a.View(ctx, func(s *cli.Session, g *dag.Graph) error {
		if t, err = cli.ResolveTask(g, o.Args[0]); err != nil {
			return err
		}
		own, _ := g.Queue.LandedWork(t) // the first error of the database is that of all that follow
		after, _ := g.Tasks.DoneAfter(t)
		undone, _ := g.Tasks.Undone(t)
		landed, ids, u.target = []dag.Merge{own}, []string{t.ID}, own.Target
		switch u.id, err = g.Tasks.Undoing(t); {
		case err != nil:
			return err
		case t.Status != dag.Done:
			return fmt.Errorf("%w: %s is not done, so there is nothing to undo", dag.ErrRefused, t.ID)
		case len(undone) > 0:
			return cli.Hint(fmt.Errorf("%w: %s took work back, and what it undid is open: %s", dag.ErrRefused, t.ID, human.List(undone, 5)), "to do that again: ralph run %s", undone[0])
		case own.N == 0:
			return cli.Hint(fmt.Errorf("%w: no work of %s landed through the queue", dag.ErrRefused, t.ID), "to open it again: ralph task reset %s", t.ID)
		case o.WithDependants:
			for _, d := range after {
				ids = append(ids, d.ID)
				if work, _ := g.Queue.LandedWork(d); work.Candidate != work.Onto || len(work.Refs) > 0 { // others changed nothing on a branch
					landed = append(landed, work)
				}
			}
			slices.SortFunc(landed, func(x, y dag.Merge) int { return cmp.Compare(y.N, x.N) })
		default:
			u.stay = seq.Map(after, func(d dag.Task) string { return d.ID })
			u.gates, err = gatesOf(g, after)
		}
		if err == nil && u.id != "" {
			return sameUndo(g, u.id, ids)
		}
		if err == nil {
			repo, err = wiring.OpenRepo(ctx, s.Project.Root)
		}
		return err
	})
	says := func(g *dag.Graph) error { // with the revert, whoever lands it
		if o.Message == "" {
			return nil
		}
		return g.Queue.SayUndone(u.id, t.ID, o.Message)
	}
	if err == nil && u.id != "" && o.Message != "" {
		err = a.Update(ctx, func(_ *cli.Session, g *dag.Graph) error { return says(g) })
	}
	if err != nil || u.id != "" {
		return u, err
	}
	if len(u.stay) > 0 {
		a.Note("what depends on it stays, if its gates pass: %s; to undo that too: --with-dependants", human.List(u.stay, 5))
	}
	m, body, err := revert(ctx, repo, landed, len(u.stay) > 0)
	if err != nil {
		return u, err
	}
	title := fmt.Sprintf("Revert %q", t.Title)
	if n := len(ids) - 1; n > 0 {
		title += " and " + human.Count(n, "dependent")
	}
	var c dag.Claim
	err = a.Update(ctx, func(_ *cli.Session, g *dag.Graph) error {
		gates := slices.Sorted(maps.Keys(u.gates)) // so whoever lands the revert runs them
		if c, err = g.Plan.Undo(dag.NewTask{Detail: dag.Detail{Title: title, Description: body, Gates: gates}, Feature: t.Feature}, m, ids...); err != nil {
			return err
		}
		u.id = c.Task.ID
		return says(g)
	})
	if err == nil && m.Work != m.Base {
		err = merge.SetRefs(ctx, repo, merge.Ref{Name: merge.WorkRef(c.Task.ID, c.Attempt), Commit: m.Work})
	}
	return u, err
}

// gatesOf maps the gates of tasks and of their features to the tasks.
func gatesOf(g *dag.Graph, tasks []dag.Task) (map[string][]string, error) {
	gates := map[string][]string{}
	for _, t := range tasks {
		shared, err := g.Plan.FeatureGates(t.Feature)
		if err != nil {
			return nil, err
		}
		for _, gate := range slices.Concat(t.Gates, shared) {
			if gate != t.ExpectRed && !slices.Contains(gates[gate], t.ID) {
				gates[gate] = append(gates[gate], t.ID)
			}
		}
	}
	return gates, nil
}

// sameUndo refuses an undo that is stored already if it takes back other tasks than these.
func sameUndo(g *dag.Graph, id string, want []string) error {
	t, _ := g.Tasks.Get(id) // the first error of the database is that of all that follow
	undoes, err := g.Tasks.Undone(t)
	slices.Sort(want)
	if slices.Sort(undoes); err != nil || slices.Equal(undoes, want) {
		return err
	}
	return cli.Hint(fmt.Errorf("%w: %s is to land already, and takes back %s", dag.ErrRefused, id, human.List(undoes, 5)),
		"land it first: ralph merge; or give it up: ralph task delete %s", id)
}

// madeBy are the tags and branches that landed work made, to be deleted.
func madeBy(landed dag.Merge) (list []dag.MadeRef) {
	for _, r := range landed.Refs {
		if r.Value != "" && !r.There && !r.Gone {
			list = append(list, dag.MadeRef{Name: r.Name, ID: r.ID, Value: r.Value, Gone: true})
		}
	}
	return list
}

// revert makes one commit on the tip that takes back landed work, and says of which commits. More depends on it and landed.
func revert(ctx context.Context, repo *git.Repo, undo []dag.Merge, more bool) (m dag.NewMerge, says string, err error) {
	m.Target = undo[0].Target
	branch := render.Branch(m.Target)
	at, err := merge.At(ctx, repo, m.Target)
	if err != nil || at.Branch == "" {
		return m, "", cmp.Or(err, fmt.Errorf("%w: there is no branch %s any more", dag.ErrRefused, branch))
	}
	m.Base = at.Tip()
	tip := m.Base
	for _, landed := range undo {
		refs := madeBy(landed)
		m.Refs = append(m.Refs, refs...)
		if landed.Candidate == landed.Onto && len(refs) > 0 {
			for _, r := range refs {
				says += fmt.Sprintf("This takes back %s, the work of %s.\n", r.Short(), landed.Task)
			}
			continue
		}
		commit, built, err := merge.Revert(ctx, repo, m.Base, landed.Attempt, tip)
		switch {
		case err != nil:
			return m, "", err
		case landed.Target != m.Target:
			return m, "", cli.Hint(fmt.Errorf("%w: %s landed on %s, and %s on %s", dag.ErrRefused, undo[0].Task, branch, landed.Task, render.Branch(landed.Target)),
				"undo them one after another: ralph undo %s", undo[0].Task)
		case commit == "" || built.Candidate == tip:
			return m, "", cli.Hint(fmt.Errorf("%w: no change of %s is on %s", dag.ErrRefused, landed.Task, branch), "to open the task again: ralph task reset %s", landed.Task)
		case len(built.Files) > 0:
			advice := "undo it by hand: %s revert %s"
			if more {
				advice = "undo what was built on it too, with --with-dependants, or by hand: %s revert %s"
			}
			return m, "", cli.Hint(fmt.Errorf("%w: what landed on %s since conflicts with undoing %s: %s", dag.ErrRefused, branch, landed.Task, human.List(built.Files, 5)),
				advice, git.Typed(repo.Dir()), render.Commit(commit))
		}
		tip = built.Candidate
		says += fmt.Sprintf("This reverts commit %s, the work of %s.\n", commit, landed.Task)
	}
	if m.Work = m.Base; tip != m.Base {
		m.Work, err = repo.CommitTree(ctx, tip+"^{tree}", says, m.Base)
	}
	if err == nil {
		m.Patch, err = merge.Patch(ctx, repo, m.Base, m.Work)
	}
	return m, says, err
}
