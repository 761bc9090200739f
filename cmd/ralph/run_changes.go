package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/merge"
)

// uncommitted is what the folder of a person has and the last commit does not, but for what is ralph's own.
type uncommitted struct {
	names    []string // as people read them: from the project on
	paths    []string // as git does, without what it would commit as a repository inside
	inside   []string // those: names of repositories that git does not track
	conflict []string
}

func findChanges(ctx context.Context, a *app, s *session, repo *git.Repo, output runOutput) (c uncommitted, err error) {
	call := git.Call{Own: repo.Own(), WorkTree: repo.Dir(), Env: []string{"GIT_OPTIONAL_LOCKS=0"}}
	out, err := repo.Git(ctx, call, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	own := ownFiles(a, s, output)(nil)
	for _, line := range git.Split(out) {
		state, path := line[:2], line[3:]
		name, _ := repo.Within(s.project.Root, path)
		switch {
		case slices.Contains(strings.Split(path, "/"), ".ralph"), slices.Contains(own, name):
			continue
		case strings.HasSuffix(path, "/"):
			c.inside = append(c.inside, name)
			continue
		case strings.Contains(state, "U") || state == "AA" || state == "DD":
			c.conflict = append(c.conflict, name)
		}
		c.names = append(c.names, name)
		if state[1] != ' ' { // the rest is staged
			c.paths = append(c.paths, path)
		}
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names) // one that is no longer tracked has two states
	return c, err
}

// noteChanges names the files that agents do not see because they begin with a commit, and refuses to commit them where
// a person would not find them in that commit.
func noteChanges(ctx context.Context, a *app, s *session, repo *git.Repo, target string, given runOptions) error {
	head, err := checkedOut(ctx, repo)
	if err != nil {
		return err
	}
	if target != head {
		at, err := repo.Commit(ctx, target)
		switch {
		case err != nil:
			return err
		case at != "" && given.WithChanges:
			return hint(usagef("--with-changes commits on %s, which is checked out, and agents begin with %s", render.Branch(head), render.Branch(target)),
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
		return hint(usagef("--with-changes: work is landing on %s, or a run died while it was, so what is uncommitted may be that", render.Branch(head)), "clean up first: ralph recover")
	case half:
		return nil
	}
	c, err := findChanges(ctx, a, s, repo, given.runOutput)
	if err != nil {
		return fmt.Errorf("what is uncommitted cannot be seen: %w", err)
	}
	unseen, advice := slices.Concat(c.names, c.inside), "; to commit it first: --with-changes"
	if given.WithChanges {
		doing := repo.Unfinished()
		switch {
		case doing != "":
			return hint(usagef("--with-changes: a %s is in progress", doing), "finish it, or abort it: git status shows how")
		case len(c.conflict) > 0:
			return hint(usagef("--with-changes: in conflict: %s", human.List(c.conflict, 5)), "resolve that first: git status shows how")
		case given.DryRun && len(c.names) > 0:
			a.note("to be committed on %s first: %s", render.Branch(head), human.List(c.names, 5))
		}
		unseen, advice = c.inside, ""
	}
	if len(unseen) == 0 {
		return nil
	}
	begin, unborn := "the last commit of %s", false
	if unborn, err = merge.Unborn(ctx, repo); unborn && !given.WithChanges {
		begin = "nothing, because %s has no commit yet,"
	}
	a.note("agents begin with "+begin+" and do not see what is uncommitted: %s%s", render.Branch(head), human.List(unseen, 5), advice)
	return err
}

// halfLanded reports that work may be landing on a branch at this moment, or a run died while it was: then what is
// uncommitted may be ralph's. Work that a person's changes keep from landing has changed nothing yet.
func halfLanded(ctx context.Context, s *session, target string) (half bool, err error) {
	err = s.store.View(ctx, func(g *dag.Graph) error {
		landing, err := g.MergesIn(dag.MergeLanding)
		for _, m := range landing {
			run, rerr := g.RunOf(m.Attempt)
			half = half || m.Target == target && (m.Reason == "" || life(run.Process) != dag.Alive)
			err = errors.Join(err, rerr)
		}
		return err
	})
	return half, err
}

// commitChanges commits what is uncommitted, as the person would, but without hooks: gates are for that.
func commitChanges(ctx context.Context, a *app, s *session, repo *git.Repo, output runOutput) error {
	c, err := findChanges(ctx, a, s, repo, output)
	call := git.Call{Own: repo.Own(), WorkTree: repo.Dir(), Env: []string{"GIT_LITERAL_PATHSPECS=1"}, In: git.Lines(c.paths)}
	if len(c.paths) > 0 && err == nil {
		_, err = repo.Git(ctx, call, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
	}
	if err == nil {
		if _, err = repo.Git(ctx, call, "diff", "--cached", "--quiet"); err == nil { // nothing is staged
			return nil
		} else if git.Status(err) == 1 {
			_, err = repo.Git(ctx, call, "commit", "--quiet", "--no-verify", "--message=Save changes before ralph run")
		}
	}
	if err != nil {
		return hint(usagef("--with-changes: %v", err), "commit yourself: git commit --all")
	}
	head, err := checkedOut(ctx, repo)
	at, cerr := repo.Commit(ctx, head)
	a.note("committed on %s as %s: %s", render.Branch(head), render.Commit(at), human.List(c.names, 5))
	return cmp.Or(err, cerr)
}
