package modelagent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/proc"
)

const (
	defaultCommand = 120 * time.Second
	maxCommand     = 600 * time.Second
	// commandGrace is how long a command gets to clean up, its locks for one, when its time is over.
	commandGrace = 2 * time.Second
	// outputGrace is how long output is waited for that something keeps open which could not be ended.
	outputGrace = time.Second
)

type bashArgs struct {
	Command     string `json:"command"`
	Timeout     whole  `json:"timeout,omitempty" jsonschema:"seconds, 120 by default, at most 600"`
	Description string `json:"description,omitempty" jsonschema:"what it is for, in a few words"`
}

func (b *toolbox) bashTools() []tool {
	return []tool{newTool(tool{
		Spec: Spec{Name: "bash", Description: "Run a command with bash in the project's folder. It has no input and no terminal; each call is a new shell. What it leaves running in the background is ended with the call. Of long output you get the beginning and the end."},
		kind: acp.ToolKindExecute, asks: true, alone: true, timeout: maxCommand + time.Minute,
	}, func(in bashArgs) (action, error) {
		return action{Title: "Run: " + in.Command}, in.check()
	}, b.bash)}
}

func (in bashArgs) check() error {
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) {
		return fmt.Errorf("the command is empty, or has a NUL byte in it")
	}
	return nil
}

func (b *toolbox) bash(ctx context.Context, in bashArgs) (string, error) {
	if err := in.check(); err != nil {
		return "", err
	}
	limit := defaultCommand
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Second, maxCommand)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timedOut(limit))
	defer cancel()
	shell := "bash"
	if _, err := proc.Lookup(shell, b.dir, b.env); err != nil {
		shell = "sh"
	}
	output, exit, err := b.execute(ctx, shell, "-c", in.Command)
	if err == nil && !exit.Ok() {
		err = fmt.Errorf("(%s)", exit)
	}
	if err == nil {
		output = cmp.Or(output, "(no output)")
	}
	return output, err
}

// execute runs a command to its end and returns what it printed. It ends everything that the command started, at the
// latest when ctx ends.
func (b *toolbox) execute(ctx context.Context, argv ...string) (string, proc.Exit, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", proc.Exit{}, err
	}
	defer r.Close()
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: b.dir, Env: b.env, Stdout: w, Stderr: w, Owner: b.owner()})
	w.Close()
	if err != nil {
		return "", proc.Exit{}, err
	}
	output, read := &ends{}, make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(output, r) // until its end
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Terminate(commandGrace) // Wait says what survives
	}
	exit, err := p.Wait()
	select {
	case <-read:
	case <-time.After(outputGrace):
	}
	if err == nil && ctx.Err() != nil && !exit.Ok() {
		err = context.Cause(ctx)
	}
	return output.text(maxResult - 1000), exit, err
}

// owner is for whom the agent itself was started: whoever ends what that one left behind ends this, too.
func (b *toolbox) owner() string {
	owner, _, _ := strings.Cut(proc.Getenv(b.env, proc.MarkerEnv), "/")
	return owner
}
