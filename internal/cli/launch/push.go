package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// OwnRemote has git choose where a branch is pushed to.
const OwnRemote = "auto"

// FindRemote is the remote that a branch is pushed to, "" for none.
func FindRemote(ctx context.Context, repo *git.Repo, named, target string) (string, error) {
	if named == OwnRemote {
		choice, _ := repo.Line(ctx, "for-each-ref", "--format=%(push:remotename)", target)
		pushed, _ := repo.Line(ctx, "config", "--get", "remote.pushDefault") // of a branch that does not exist yet
		named = cmp.Or(choice, pushed, "origin")
	}
	if named == "" || strings.ContainsAny(named, "/:") && !strings.HasPrefix(named, "-") {
		return named, nil // nothing, or an address
	}
	if _, err := repo.Line(ctx, "config", "--get", "remote."+named+".url"); err != nil {
		return "", cli.Hint(cli.Usagef("there is no remote %q", named), "see the remotes with: git remote -v")
	}
	return named, nil
}

// Destination is where what landed is pushed to; the zero one is nowhere.
type Destination struct {
	Remote string
	branch string // its full name there; "" is the name that it has here
}

func (d Destination) String() string {
	return strings.Join(human.Parts(d.Remote, render.Branch(d.branch)), ":")
}

// findDestination reads REMOTE[:BRANCH]. An address may have a colon, too, but the name of a remote has none.
func findDestination(ctx context.Context, repo *git.Repo, named, target string) (to Destination, err error) {
	name, branch, split := strings.Cut(named, ":")
	if split {
		if _, err := FindRemote(ctx, repo, name, target); err == nil {
			named = name
		} else if split = false; !strings.ContainsAny(named, `/\@`) {
			return to, cli.Hint(err, "see the remotes with: git remote -v; an address has a / or an @")
		}
	}
	if to.Remote, err = FindRemote(ctx, repo, named, target); err == nil && split {
		to.branch, err = wiring.BranchNamed(ctx, repo, branch)
	}
	if err == nil && to.Remote != "" && to.branch == "" && merge.Detached(target) {
		err = cli.Hint(cli.Usagef("HEAD is detached, so nothing names the branch that it is pushed to"), "name it: --push=%s:BRANCH", to.Remote)
	}
	return to, err
}

// pushLanded pushes what landed, as the user would: with their git, hooks and credentials. What a run before this one
// landed and did not push counts too; commits of people alone do not.
func (x *execution) pushLanded(ctx context.Context) error {
	to := x.opts.Landing
	if x.push == (Destination{}) {
		return nil
	}
	if at, err := merge.At(ctx, to.Repo, to.Target); err != nil {
		return err
	} else if at.Landed != "" {
		return cli.Unpushed{Err: cli.Hint(fmt.Errorf("what landed was not pushed: %s does not have it yet", render.Branch(to.Target)),
			"push both once it has: ralph merge --target %s --push=%s", render.Branch(to.Target), x.push)}
	}
	if left, err := merge.Unpushed(ctx, to.Repo, to.Target, x.push.Remote, x.push.branch); err != nil || !left {
		return err
	}
	if head, err := wiring.CheckedOut(ctx, to.Repo); merge.Detached(to.Target) && (err != nil || head != to.Target) {
		return cli.Unpushed{Err: cli.Hint(cmp.Or(err, errors.New("what landed was not pushed: HEAD is not detached any more")), "check it out again, and push it with: ralph merge --push=%s:%s", x.push.Remote, render.Branch(x.push.branch))}
	}
	ctx, stop := cli.Interruptible(ctx, x.app, nil, 0)
	defer stop()
	return PushBranch(ctx, x.app, to.Repo, x.push, to.Target)
}

// PushBranch is the one place where ralph pushes. It never forces: what a remote has and we do not is somebody's work.
func PushBranch(ctx context.Context, a *cli.App, repo *git.Repo, to Destination, target string) error {
	what := human.Branch(target)
	if to.branch != "" && to.branch != target {
		what += ":" + to.branch
	}
	command := []string{"git", "push", to.Remote, what}
	line := term.Line(strings.Join(seq.Map(command, plain.ShellQuote), " "))
	a.Note("%s", line)
	if err := UserGit(ctx, a, repo, a.Stderr, command[1:]...); err != nil {
		return cli.Unpushed{Err: cli.Hint(fmt.Errorf("what landed was not pushed: %w", cmp.Or(context.Cause(ctx), err)), "push it with: %s", line)}
	}
	return nil
}

// UserGit runs git as the user would. They see what it says, and it may ask them.
func UserGit(ctx context.Context, a *cli.App, repo *git.Repo, stdout io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = repo.Dir(), a.Stdin, stdout, a.Stderr
	return cmd.Run()
}
