package launch

import (
	"errors"
	"os"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/mcp"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/loop/attempt"
)

// offerTools lets the agents of a run call ralph's tools, each through a socket below a folder of the run.
func offerTools(a *cli.App, s *cli.Session, o *agents.Opener, opts *loop.Options) {
	folder, err := toolFolder(a)
	if err != nil {
		a.Note("warning: agents cannot call ralph's tools: %v", err)
		opts.Agents.Toolless = nil
		return
	}
	command := cli.Answering(a, s)
	o.ToolFolders = []string{folder}
	opts.Agents.Tools = func(c loop.Caller) attempt.Tools {
		return runTools{mcp.New(mcp.Options{
			Command: command, Version: o.Version, Now: a.Now, Warn: c.Warn,
			Work: &mcp.Work{
				Store: opts.Graph.Store, Claim: c.Claim, Redact: a.Redact, Locks: opts.Workers.Locks, Wake: c.Wake, Tell: c.Tell,
				Limits: dag.AdditionLimits{PerAttempt: s.Config.Run.MaxSubtasks, Depth: s.Config.Run.MaxDepth},
			},
		})}
	}
}

// runTools are the tools of an attempt.
type runTools struct{ *mcp.Session }

// Reach lets the agent ask.
func (t runTools) Reach(i attempt.Inbox) { t.Session.Reach(i) }

// toolFolder makes the folder for sockets where their names are short enough. The next run removes that of one that was killed.
func toolFolder(a *cli.App) (string, error) {
	err := errors.New("no folder is short enough for a socket")
	for _, parent := range []string{a.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
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
			a.AtEnd = append(a.AtEnd, func() error { return os.RemoveAll(folder) })
			return folder, probe.Close()
		}
		err = errors.Join(lerr, os.Remove(folder))
	}
	return "", err
}
