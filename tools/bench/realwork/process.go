package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// identity is who commits in projects.
var identity = []string{
	"GIT_AUTHOR_NAME=realwork", "GIT_AUTHOR_EMAIL=realwork@localhost", "GIT_COMMITTER_NAME=realwork", "GIT_COMMITTER_EMAIL=realwork@localhost",
	"GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1",
}

// command is a program that is run in a folder.
type command struct {
	dir   string
	env   []string // besides that of realwork
	stdin string
	limit time.Duration
}

// errSlow is of a program that took too long.
var errSlow = errors.New("it took too long")

// run runs a program and returns what it prints. It is ended with all that it started in its process group.
func (c command) run(ctx context.Context, name string, args ...string) (string, error) {
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.limit, errSlow)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, append(append(os.Environ(), identity...), c.env...), strings.NewReader(c.stdin)
	cmd.WaitDelay = 20 * time.Second // ralph needs some of it to end its agents
	group(cmd)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(out), err
}

// shell runs a line as a shell reads it.
func (c command) shell(ctx context.Context, line string) (string, error) {
	return c.run(ctx, "sh", "-c", line)
}

// git runs git. What it prints is part of the error.
func (c command) git(ctx context.Context, args ...string) (string, error) {
	out, err := c.run(ctx, "git", args...)
	if err != nil {
		return out, fmt.Errorf("git %s: %w: %s", args[0], err, tail(out))
	}
	return out, nil
}

// tail is the end of an output, for a message.
func tail(s string) string {
	const most = 300
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-most):]
}

// checkout makes a clone of a repository that shows a commit on the branch main.
func checkout(ctx context.Context, source, commit, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if _, err := (command{}).git(ctx, "clone", "-q", "--shared", "--no-checkout", source, dir); err != nil {
		return err
	}
	if _, err := (command{dir: dir}).git(ctx, "checkout", "-q", "-B", "main", commit); err != nil {
		return err
	}
	_, err := (command{dir: dir}).git(ctx, "remote", "remove", "origin")
	return err
}
