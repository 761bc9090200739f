package launch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
)

// slotRepo opens the repository from which slots are made. A folder that lies in none gets one of ralph's own, but nil for a dry run.
func slotRepo(ctx context.Context, a *cli.App, s *cli.Session, given Options) (*git.Repo, error) {
	root, own := s.Project.Root, git.Own(s.Project.Root)
	if git.Top(root) != "" && !own {
		return wiring.OpenRepo(ctx, root)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("git cannot be started: %w", err)
	}
	if err := refuseBranches(given); err != nil {
		return nil, err
	}
	if !own {
		if repo, err := git.OpenRepo(ctx, root); err == nil { // it has no folder with files
			return nil, wiring.RefuseBare(repo)
		}
		if given.DryRun {
			return nil, nil
		}
		if err := git.MakeOwn(ctx, root); err != nil {
			return nil, err
		}
	}
	repo, err := wiring.OpenRepo(ctx, root)
	if err == nil {
		err = repo.Exclude(leftOut(a, s))
	}
	return repo, err
}

// refuseBranches refuses what needs branches or a remote in a folder without git.
func refuseBranches(given Options) error {
	var flag string
	switch {
	case given.Target != nil && !given.Finished:
		flag = "--target"
	case given.Push != nil:
		flag = "--push"
	default:
		return nil
	}
	return cli.Hint(cli.Usagef("%s needs a git repository: here work lands in this folder", flag), "leave it out; or make one: git init")
}

// leftOut are the patterns of what a repository of ralph's own does not have: dependencies, which slots get another way, and ralph's slots.
func leftOut(a *cli.App, s *cli.Session) []string {
	list := slices.Clone(s.Config.Parallel.Copy)
	for _, dir := range []string{filepath.Join(a.StateHome(), "ralph"), s.Config.Parallel.Dir} {
		if name, err := filepath.Rel(s.Project.Root, dir); err == nil && filepath.IsLocal(name) {
			list = append(list, "/"+filepath.ToSlash(name)+"/")
		}
	}
	return list
}

// takeIn commits what a person changed in a folder without git, before something starts from there. With idle, it leaves alone what work
// that has landed waits for.
func takeIn(ctx context.Context, a *cli.App, s *cli.Session, repo *git.Repo, output wiring.OutputOptions, idle bool) (merge.Edits, error) {
	head, err := wiring.CheckedOut(ctx, repo)
	if err != nil {
		return merge.Edits{}, err
	}
	c, _, err := merge.SaveEdits(ctx, repo, head, "Take in edits", idle, isOurs(ctx, a, s, repo, output))
	switch {
	case err == nil:
	case !errors.Is(err, merge.ErrConflict):
		err = cli.Hint(err, "if it is damaged, move .ralph/repository away: the next run makes a new one, and your files stay")
	default:
		err = cli.Hint(cli.Usagef("files of this folder have markers of a conflict: %s", human.List(c.Conflict, 5)), "choose what stays in them, and remove the lines <<<<<<<, ======= and >>>>>>>")
	}
	return c, err
}

// takeInFirst is takeIn at the start of a run, which names what is left out, and the first time how agents work here.
func takeInFirst(ctx context.Context, a *cli.App, s *cli.Session, repo *git.Repo, output wiring.OutputOptions) error {
	if n, err := repo.Line(ctx, "rev-list", "--count", git.OwnBranch); err == nil && n == "1" {
		a.Note("no git here: agents work in slots, copies of this folder, and finished work is written into it; .ralph/repository keeps what each task changed")
	}
	c, err := takeIn(ctx, a, s, repo, output, false)
	if err != nil {
		return err
	}
	for _, left := range c.Left {
		a.Note("agents do not see %s", left)
	}
	if len(c.Inside) > 0 {
		a.Note("agents do not see the git repositories in this folder: %s", human.List(c.Inside, 5))
	}
	return nil
}

// TakeInNow is takeIn for a command that is about to look at what has landed.
func TakeInNow(ctx context.Context, a *cli.App) error {
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if !git.Own(s.Project.Root) {
		return nil
	}
	repo, err := wiring.OpenRepo(ctx, s.Project.Root)
	if err == nil {
		_, err = takeIn(ctx, a, s, repo, wiring.OutputOptions{}, false)
	}
	return err
}
