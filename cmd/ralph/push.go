package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/term"
)

// ownRemote has git choose where a branch is pushed to.
const ownRemote = "auto"

// unpushed is a run whose work landed but did not get to the remote.
type unpushed struct{ error }

func (e unpushed) Unwrap() error { return e.error }

// findRemote is the remote that a branch is pushed to: the one that was named, or git's own
// choice. What is mistyped must not show after hours of work.
func findRemote(ctx context.Context, repo *git.Repo, named, target string) (string, error) {
	name := strings.TrimPrefix(target, "refs/heads/")
	if named == ownRemote {
		for _, key := range []string{"branch." + name + ".pushRemote", "remote.pushDefault", "branch." + name + ".remote"} {
			if remote, _ := repo.Line(ctx, "config", "--get", key); remote != "" { // no key, no choice
				return remote, nil
			}
		}
		named = "origin"
	}
	if _, err := repo.Line(ctx, "config", "--get", "remote."+named+".url"); err == nil {
		return named, nil
	}
	if strings.HasPrefix(named, "-") || !strings.ContainsAny(named, "/:") {
		return "", hint(usagef("--push: there is no remote %q", named), "see the remotes with: git remote -v")
	}
	return named, nil
}

// pushCommand is what a person types to push the target.
func pushCommand(remote, target string) []string {
	return []string{"git", "push", remote, strings.TrimPrefix(target, "refs/heads/")}
}

// push pushes what a run landed, as the user would: with their git, hooks and credentials.
func (x *execution) push(ctx context.Context, work *event.Work) error {
	a := x.app
	if x.remote == "" || work == nil || work.Commits == 0 {
		return nil
	}
	command := pushCommand(x.remote, work.Target)
	shown := make([]string, len(command))
	for i, word := range command {
		shown[i] = shellQuote(word)
	}
	line := strings.Join(shown, " ")
	a.note("%s", line)
	ctx, stop := interruptible(ctx, a, nil, 0)
	defer stop()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = x.opts.Landing.Repo.Dir(), a.stdin, a.stderr, a.stderr
	if err := cmd.Run(); err != nil {
		return unpushed{hint(fmt.Errorf("what landed was not pushed: %w", cmp.Or(context.Cause(ctx), err)), "push it with: %s", term.Line(line))}
	}
	return nil
}
