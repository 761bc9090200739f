package modelagent

import (
	"cmp"
	"context"
	"errors"
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
	maxScript      = 64 << 10 // bytes of a command: rules do not read longer ones
	// commandGrace is how long a command gets to clean up, its locks for one, when its time is over.
	commandGrace = 2 * time.Second
	// outputGrace is how long output is waited for that something keeps open which could not be ended.
	outputGrace = time.Second
)

type bashArgs struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds, 120 by default, at most 600"`
}

func (b *toolbox) bashTools() []tool {
	return []tool{newTool(tool{
		Spec: Spec{Name: "bash", Description: "Run a command with " + shell(b.dir, b.env) + " in the project's folder. It has no input and no terminal; each call is a new shell. What it leaves running in the background is ended with the call. Of long output you get the beginning and the end."},
		kind: acp.ToolKindExecute, asks: true, alone: true, timeout: maxCommand + time.Minute,
	}, b.bash)}
}

// shell is what runs commands.
func shell(dir string, env []string) string {
	if _, err := proc.Lookup("bash", dir, env); err != nil {
		return "sh"
	}
	return "bash"
}

func (b *toolbox) bash(in bashArgs) (action, doing, error) {
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) {
		return action{}, nil, errors.New("the command is empty, or has a NUL byte in it")
	}
	if len(in.Command) > maxScript {
		return action{}, nil, fmt.Errorf("the command is longer than %d KiB; write it into a file and run that", maxScript>>10)
	}
	limit := defaultCommand
	if in.Timeout > 0 {
		limit = time.Duration(min(in.Timeout, int(maxCommand.Seconds()))) * time.Second
	}
	return action{Title: "Run: " + in.Command}, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, timedOut(limit))
		defer cancel()
		text, exit, err := b.execute(ctx, shell(b.dir, b.env), "-c", in.Command)
		switch {
		case err == nil && !exit.Ok():
			err = fmt.Errorf("(%s)", exit)
		case err == nil:
			text = cmp.Or(text, "(no output)")
		}
		return text, err
	}, nil
}

// execute runs a command to its end and returns what it printed. It ends everything that the command started, at the
// latest when ctx ends.
func (b *toolbox) execute(ctx context.Context, argv ...string) (string, proc.Exit, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", proc.Exit{}, err
	}
	defer r.Close()
	// Whoever ends what the owner of this agent left behind ends this, too.
	owner, _, _ := strings.Cut(proc.Getenv(b.env, proc.MarkerEnv), "/")
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: b.dir, Env: b.env, Stdout: w, Stderr: w, Owner: owner})
	w.Close()
	if err != nil {
		return "", proc.Exit{}, err
	}
	var output ends
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&output, r) // until its end
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
