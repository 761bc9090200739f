package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/mcp"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/loop/attempt"
)

var mcpCommand = command{
	name: "mcp", short: "serve tools for planning to an assistant, over the Model Context Protocol",
	long: `An assistant that speaks MCP starts it, and calls its tools on stdin and stdout: add, list, show, change and
search tasks, the journal and what the project has learned. They do what the commands of the same names do.
ralph starts it itself for the agents of a run.`,
	example: "claude mcp add ralph -- ralph mcp", exits: "1 refused (the run that started it has ended)",
	run: action(runMCP),
}

func runMCP(ctx context.Context, a *app, _ plainOptions) error {
	if socket := a.getenv(mcp.SocketVariable); socket != "" {
		if err := mcp.Pipe(ctx, a.stdin, a.raw, socket, a.getenv(mcp.TokenVariable)); err != nil {
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		}
		return nil
	}
	if _, err := a.findProject(); err != nil {
		return err
	}
	session := mcp.New(mcp.Options{Command: carryOut(a, nil), Version: buildVersion().Version, Now: a.now})
	return session.Serve(ctx, stdio{a.stdin, a.raw})
}

// stdio is a connection on stdin and stdout.
type stdio struct {
	io.Reader
	io.Writer
}

// Close leaves both to the process.
func (stdio) Close() error { return nil }

// carryOut runs commands in this process, on a project that is open if one is given. What they print is what they
// return, or with another status than 0 the error.
func carryOut(a *app, opened *session) func(ctx context.Context, stdin string, args ...string) (string, error) {
	return func(ctx context.Context, stdin string, args ...string) (string, error) {
		var out, problem bytes.Buffer
		sys := a.system
		sys.stdin, sys.stdout, sys.stderr, sys.signals = strings.NewReader(stdin), &out, &problem, nil
		sys.asks, sys.outIsTerm, sys.errIsTerm, sys.width, sys.errWidth = false, false, false, 0, func() int { return 0 }
		inner := appOf(sys, a.root)
		inner.redact, inner.opened = a.redact, opened
		if a.dir != "" {
			args = append([]string{"--project=" + a.dir}, args...)
		}
		argv, help, err := permute(inner.root, append([]string{"ralph"}, args...))
		if err == nil && !help {
			err = inner.cli.RunContext(ctx, argv)
		}
		inner.cleanUp()
		if err != nil {
			_ = inner.fail(err)
			return "", errors.New(a.redact.Text(strings.TrimPrefix(strings.TrimSpace(problem.String()), "ralph: ")))
		}
		return a.redact.Text(strings.TrimSpace(out.String())), nil
	}
}

// offerTools lets the agents of a run call ralph's tools, each through a socket below a folder of the run.
func offerTools(a *app, s *session, o *agents.Opener, opts *loop.Options) {
	folder, err := toolFolder(a)
	if err != nil {
		a.note("warning: agents cannot call ralph's tools: %v", err)
		opts.Agents.Toolless = nil
		return
	}
	shared := *s
	shared.shared = true
	command := carryOut(a, &shared)
	o.ToolFolders = []string{folder}
	opts.Agents.Tools = func(c loop.Caller) attempt.Tools {
		return runTools{mcp.New(mcp.Options{
			Command: command, Version: o.Version, Now: a.now, Warn: c.Warn,
			Work: &mcp.Work{
				Store: opts.Graph.Store, Claim: c.Claim, Redact: a.redact, Locks: opts.Workers.Locks, Wake: c.Wake, Tell: c.Tell,
				Limits: dag.AdditionLimits{PerAttempt: s.config.Run.MaxSubtasks, Depth: s.config.Run.MaxDepth},
			},
		})}
	}
}

// runTools are the tools of an attempt.
type runTools struct{ *mcp.Session }

// Reach lets the agent ask.
func (t runTools) Reach(i attempt.Inbox) { t.Session.Reach(i) }

// toolFolder makes the folder for sockets where their names are short enough. The next run removes that of one that was killed.
func toolFolder(a *app) (string, error) {
	err := errors.New("no folder is short enough for a socket")
	for _, parent := range []string{a.getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if !filepath.IsAbs(parent) {
			continue
		}
		sandbox.ClearTemps(parent)
		folder, ferr := sandbox.MakeTemp(parent)
		if ferr != nil {
			err = ferr
			continue
		}
		probe, lerr := mcp.Listen(folder)
		if lerr == nil {
			a.atEnd = append(a.atEnd, func() error { return os.RemoveAll(folder) })
			return folder, probe.Close()
		}
		err = errors.Join(lerr, os.Remove(folder))
	}
	return "", err
}
