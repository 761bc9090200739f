package wiring

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ralph/internal/cli"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/term"
)

// MaxDiff is how much of a patch is shown. Who wants more has git.
const MaxDiff = 256 << 10

// PatchOf is the patch between two commits, its statistics, or both, fit for a terminal, and bounded.
func PatchOf(ctx context.Context, repo *git.Repo, base, work string, what ...string) (string, error) {
	args := append([]string{"diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv"}, what...)
	text, cut, err := repo.Head(ctx, MaxDiff, append(args, base, work)...)
	text = term.Block(text)
	if cut {
		text += fmt.Sprintf("... only the first %s; all of it: %s diff %.10s %.10s\n", human.Bytes(MaxDiff), git.Typed(repo.Dir()), base, work)
	}
	return text, err
}

// OpenRepo opens the repository of a project, if this git can merge without a working tree.
func OpenRepo(ctx context.Context, root string) (*git.Repo, error) {
	repo, err := git.OpenRepo(ctx, root)
	if err != nil {
		return nil, err
	}
	version, _ := git.Version(ctx)
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n == 2 && (major < 2 || major == 2 && minor < 38) {
		return nil, fmt.Errorf("git 2.38 is needed, and this is %s", version)
	}
	return repo, nil
}

// otherName matches what git would make a branch of, and reads as something else: a commit's ID, a ref, or a HEAD of its own.
var otherName = lazyregexp.New(`^([0-9a-fA-F]{40}|[0-9a-fA-F]{64}|refs/.*|[A-Z_]+_HEAD)$`)

// BranchNamed is the full name of a branch that need not exist.
func BranchNamed(ctx context.Context, repo *git.Repo, typed string) (string, error) {
	name, err := repo.Line(ctx, "check-ref-format", "--branch", strings.TrimPrefix(typed, "refs/heads/"))
	if err != nil || name == "@" {
		return "", cli.Usagef("%q is not the name of a branch", typed)
	}
	if ref := "refs/heads/" + name; !otherName.Get().MatchString(name) {
		return ref, nil
	} else if at, err := repo.Commit(ctx, ref); err != nil || at != "" {
		return ref, err
	}
	return "", cli.Hint(cli.Usagef("%q is not the name of a branch", typed), "name a branch; to make one there: git branch NAME %s", name)
}

// CheckedOut is the branch that is checked out in the project's folder, a full name, or its HEAD, if that is detached.
func CheckedOut(ctx context.Context, repo *git.Repo) (string, error) {
	branch, err := repo.Git(ctx, git.Call{Own: repo.Own()}, "symbolic-ref", "--quiet", "HEAD") // a linked worktree has its own HEAD
	if git.Status(err) == 1 {
		return merge.HeadRef(repo)
	}
	return strings.TrimSpace(branch), err
}

// FindTarget is what work lands on: the branch that was named, which may not exist yet, or what is checked out, a branch or a detached HEAD.
func FindTarget(ctx context.Context, repo *git.Repo, named *string) (string, error) {
	if err := RefuseBare(repo); err != nil {
		return "", err
	}
	head, err := CheckedOut(ctx, repo)
	detached, herr := merge.HeadRef(repo)
	if err != nil || herr != nil {
		return "", cmp.Or(err, herr)
	}
	target := head
	switch {
	case named == nil:
	case (*named == "HEAD" || *named == detached) && head != detached:
		return "", cli.Hint(cli.Usagef("--target: HEAD is not detached: %s is checked out", render.Branch(head)), "name that branch, or detach HEAD: git checkout --detach")
	case *named != "HEAD" && *named != detached:
		if target, err = BranchNamed(ctx, repo, *named); err != nil {
			return "", fmt.Errorf("--target: %w", err)
		}
		if at, err := repo.Commit(ctx, target); err != nil {
			return "", err
		} else if at == "" {
			name := render.Branch(target)
			if remote, err := repo.Commit(ctx, "refs/remotes/"+name); err != nil || remote != "" {
				_, local, _ := strings.Cut(name, "/")
				return "", cmp.Or(err, cli.Hint(cli.Usagef("--target: %s is a branch of a remote, where only a push lands", name), "name one of your own: --target %s; --push sends it there", local))
			}
		}
	}
	if doing := repo.Unfinished(); merge.Detached(target) && doing != "" {
		return "", cli.Hint(cli.Usagef("HEAD is detached, and a %s is in progress", doing), "finish it, or abort it: git status shows how; or let work land on a branch: --target BRANCH")
	}
	return target, nil
}

// RefuseBare refuses a repository without a working tree.
func RefuseBare(repo *git.Repo) error {
	if repo.Dir() == repo.Own() {
		return cli.Hint(cli.Usagef("%s is a bare repository, and its files are nowhere", repo.Dir()), "clone it and run there")
	}
	return nil
}
