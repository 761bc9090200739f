package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
	example: "claude mcp add ralph -- ralph mcp", exits: "1 refused (the run that started it has ended, or what the client sends is no message)",
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
	session := mcp.New(mcp.Options{Command: answering(a, nil), Version: a.version().Version, Now: a.now})
	if err := session.Serve(ctx, stdio{a.stdin, a.raw}); err != nil {
		return fmt.Errorf("mcp: %w: the client sent what is no message: %w", dag.ErrRefused, err)
	}
	return nil
}

// stdio is a connection on stdin and stdout.
type stdio struct {
	io.Reader
	io.Writer
}

// Close leaves both to the process.
func (stdio) Close() error { return nil }

// offerTools lets the agents of a run call ralph's tools, each through a socket below a folder of the run.
func offerTools(a *app, s *session, o *agents.Opener, opts *loop.Options) {
	folder, err := toolFolder(a)
	if err != nil {
		a.note("warning: agents cannot call ralph's tools: %v", err)
		opts.Agents.Toolless = nil
		return
	}
	command := answering(a, s)
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
