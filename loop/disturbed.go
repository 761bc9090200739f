package loop

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/loop/policy"
)

// changedMeanwhile lists the project's files that differ from a tree that was taken
// before the verifier was asked, whoever changed them. Where other agents work in the
// same folder that says nothing, and the list is empty.
func (a *attempt) changedMeanwhile(ctx context.Context, before string, since time.Time) []string {
	if before == "" {
		if a.blind != nil {
			a.bus.warnOnce("git", "whether files change during verification cannot be noticed: "+a.blind.Error())
		}
		return nil
	}
	taken, err := a.take(ctx)
	if err != nil {
		return nil // the next look at the project fails, too, and says why
	}
	files := slices.DeleteFunc(a.since(ctx, before, taken.Tree), func(name string) bool { return within(name, a.opts.Opened) })
	if len(files) > 0 && a.folderShared(ctx, since) {
		return nil
	}
	return files
}

// folderShared says that other agents may have worked in the project since then: of this
// run, or of another one that lives or has just ended.
func (a *attempt) folderShared(ctx context.Context, since time.Time) bool {
	if a.opts.Jobs > 1 {
		return true
	}
	since = since.Truncate(time.Millisecond) // as times are stored
	runs, err := a.otherRuns(ctx)
	return err == nil && slices.ContainsFunc(runs, func(run dag.Run) bool {
		ended, beaten := !run.EndedAt.Before(since), !run.Heartbeat.Before(since)
		return ended || run.EndedAt.IsZero() && (beaten || a.opts.Life != nil && !a.recoverer().Dead(run))
	})
}

// otherRuns lists the other runs of this project that have not ended, and the last few
// that have.
func (r *Runner) otherRuns(ctx context.Context) ([]dag.Run, error) {
	runs, err := recentRuns(ctx, r.opts.Store)
	return slices.DeleteFunc(runs, func(run dag.Run) bool { return run.ID == r.run.ID }), err
}

func recentRuns(ctx context.Context, store *dag.Store) (runs []dag.Run, err error) {
	const few = 20
	err = store.View(context.WithoutCancel(ctx), func(g *dag.Graph) error {
		open, err := g.OpenRuns()
		if err != nil {
			return err
		}
		recent, err := g.Runs(few)
		runs = slices.Concat(open, recent)
		return err
	})
	return runs, err
}

func (r *Runner) own(ctx context.Context) []string { return OwnFiles(ctx, r.opts.Store, r.opts.Own) }

// OwnFiles lists what ralph itself writes in the project, this process and recent runs:
// that is no evidence of anybody's work.
func OwnFiles(ctx context.Context, store *dag.Store, own func([]dag.Run) []string) []string {
	names := []string{".ralph"}
	if own == nil {
		return names
	}
	runs, _ := recentRuns(ctx, store) // an error comes up wherever else the database is used
	return append(names, own(runs)...)
}

// keepTree notes what the attempt ended with, unless that was noted when its agent
// said that it is done. Work that was not accepted ends here: its agent lived until now.
func (a *attempt) keepTree(ctx context.Context, d policy.Decision) {
	switch {
	case a.tree == "":
	case a.resumed != nil:
		a.note(ctx, dag.Note{TreeAfter: a.finished})
	case a.finished != "" && d.Action != policy.Retry && d.Action != policy.Fail:
	default:
		a.keepTreeNow(ctx)
	}
}

func (a *attempt) keepTreeNow(ctx context.Context) {
	if now, err := a.take(ctx); err == nil { // else all until the next attempt counts as this one's
		a.note(ctx, dag.Note{TreeAfter: now.Tree})
	}
}

// worked lists the files that the attempt's agent changed.
func (a *attempt) worked(ctx context.Context, after git.State) []string {
	switch {
	case a.resumed != nil:
		return slices.Concat(a.claim.Resumed.Files, a.since(ctx, a.claim.Resumed.Tree, a.finished))
	case a.tree == "":
		return git.Changed(ctx, a.opts.Dir, a.before, after)
	default:
		return a.since(ctx, a.tree, cmp.Or(a.finished, a.taken.Tree))
	}
}
