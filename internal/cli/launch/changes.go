package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/loop"
)

// findEdits looks for what the folder of a person has and the last commit does not, but for what is ralph's own.
func findEdits(ctx context.Context, a *cli.App, s *cli.Session, repo *git.Repo, output wiring.OutputOptions) (merge.Edits, error) {
	return merge.FindEdits(ctx, repo, isOurs(ctx, a, s, repo, output))
}

// isOurs tells files in a repository that ralph writes.
func isOurs(ctx context.Context, a *cli.App, s *cli.Session, repo *git.Repo, output wiring.OutputOptions) func(path string) bool {
	own := loop.OwnFiles(ctx, s.Store, wiring.OwnFiles(a, s, output))
	return func(path string) bool {
		name, _ := repo.Within(s.Project.Root, path)
		return slices.Contains(own, name)
	}
}

// asRead are names of a repository as people read them: from the project on.
func asRead(s *cli.Session, repo *git.Repo, paths []string) []string {
	return seq.Map(paths, func(path string) string {
		name, _ := repo.Within(s.Project.Root, path)
		return name
	})
}

// noteChanges names the files that agents do not see because they begin with a commit, and refuses to commit them where
// a person would not find them in that commit.
func noteChanges(ctx context.Context, a *cli.App, s *cli.Session, repo *git.Repo, target string, given Options) error {
	head, err := wiring.CheckedOut(ctx, repo)
	if err != nil {
		return err
	}
	if target != head {
		at, err := repo.Commit(ctx, target)
		switch {
		case err != nil:
			return err
		case at != "" && given.WithChanges:
			return cli.Hint(cli.Usagef("--with-changes commits on %s, which is checked out, and agents begin with %s", render.Branch(head), render.Branch(target)),
				"commit on %s yourself, or let work land on %s: --target %[2]s", render.Branch(target), render.Branch(head))
		case at != "":
			return nil
		}
	}
	half, err := halfLanded(ctx, s, head)
	switch {
	case err != nil:
		return err
	case half && given.WithChanges:
		return cli.Hint(cli.Usagef("--with-changes: work is landing on %s, or a run died while it was, so what is uncommitted may be that", render.Branch(head)), "clean up first: ralph recover")
	case half:
		return nil
	}
	c, err := findEdits(ctx, a, s, repo, given.OutputOptions)
	if err != nil {
		return fmt.Errorf("what is uncommitted cannot be seen: %w", err)
	}
	names, inside := asRead(s, repo, c.Names), asRead(s, repo, c.Inside)
	unseen, advice := slices.Concat(names, inside), "; to commit it first: --with-changes"
	if given.WithChanges {
		doing := repo.Unfinished()
		switch {
		case doing != "":
			return cli.Hint(cli.Usagef("--with-changes: a %s is in progress", doing), "finish it, or abort it: git status shows how")
		case len(c.Conflict) > 0:
			return cli.Hint(cli.Usagef("--with-changes: in conflict: %s", human.List(asRead(s, repo, c.Conflict), 5)), "resolve that first: git status shows how")
		case given.DryRun && len(c.Names) > 0:
			a.Note("to be committed on %s first: %s", render.Branch(head), human.List(names, 5))
		}
		unseen, advice = inside, ""
	}
	if len(unseen) == 0 {
		return nil
	}
	begin := "the last commit of %s"
	unborn, err := merge.Unborn(ctx, repo)
	if unborn && !given.WithChanges {
		begin = "nothing, because %s has no commit yet,"
	}
	a.Note("agents begin with "+begin+" and do not see what is uncommitted: %s%s", render.Branch(head), human.List(unseen, 5), advice)
	return err
}

// halfLanded reports that work may be landing on a branch at this moment, or a run died while it was: then what is
// uncommitted may be ralph's. Work that a person's changes keep from landing has changed nothing yet.
func halfLanded(ctx context.Context, s *cli.Session, target string) (half bool, err error) {
	err = s.Store.View(ctx, func(g *dag.Graph) error {
		landing, err := g.Queue.MergesIn(dag.MergeLanding)
		for _, m := range landing {
			run, rerr := g.History.RunOf(m.Attempt)
			half = half || m.Target == target && (m.Reason == "" || cli.Life(run.Process) != dag.Alive)
			err = errors.Join(err, rerr)
		}
		return err
	})
	return half, err
}

// commitChanges commits what is uncommitted, as the person would, but without hooks: gates are for that.
func commitChanges(ctx context.Context, a *cli.App, s *cli.Session, repo *git.Repo, output wiring.OutputOptions) error {
	head, err := wiring.CheckedOut(ctx, repo)
	if err != nil {
		return err
	}
	c, commit, err := merge.SaveEdits(ctx, repo, head, "Save changes before ralph run", false, isOurs(ctx, a, s, repo, output))
	if err != nil {
		return cli.Hint(cli.Usagef("--with-changes: %v", err), "commit yourself: git commit --all")
	}
	if commit != "" {
		a.Note("committed on %s as %s: %s", render.Branch(head), render.Commit(commit), human.List(asRead(s, repo, c.Names), 5))
	}
	return nil
}
