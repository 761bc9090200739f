package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/acp"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// trial is what is needed to try an agent: somebody who opens it, and a folder for
// what was said.
type trial struct {
	opener    *opener
	dir, logs string
}

// openTrial makes one, with everything as in a run: an agent that needs more than it
// would be given there fails here, too. Without a project it works in an empty folder.
func (a *app) openTrial(s session, ag agent, timeout project.Duration) (*trial, error) {
	servers, err := a.mcpServers(s.config)
	if err != nil {
		return nil, err
	}
	dir, err := makeTemp(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("make a folder to test in: %w", err)
	}
	t := &trial{dir: dir, logs: filepath.Join(dir, "logs")}
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(t.logs, 0o700)); err != nil {
		t.close()
		return nil, fmt.Errorf("make a folder to test in: %w", err)
	}
	if s.project.Root == "" {
		s.project.Root = work
	}
	t.opener = &opener{
		app: a, root: s.project.Root, config: s.config, chosen: ag, version: buildVersion().Version, launch: a.launcher, asked: true,
		turn: timeout, idle: timeout, servers: servers,
	}
	t.opener.sandbox, err = a.confiner(s.config.Sandbox.Mode, &s)
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *trial) started(string, proc.Identity) error { return nil }

// close removes it. What cannot be removed is in the system's folder for such things.
func (t *trial) close() { _ = sandbox.RemoveAll(t.dir) }

// says is the name and the version that the agent answered initialize with.
func (t *trial) says() string {
	f, err := os.Open(filepath.Join(t.logs, "transcript.jsonl"))
	if err != nil {
		return "an agent"
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line struct {
			Dir string `json:"dir"`
			Msg struct {
				Result struct {
					Agent acp.Agent `json:"agentInfo"`
				} `json:"result"`
			} `json:"msg"`
		}
		if json.Unmarshal(in.Bytes(), &line) == nil && line.Dir == "in" && line.Msg.Result.Agent.Name != "" {
			return strings.TrimSpace(line.Msg.Result.Agent.Name + " " + line.Msg.Result.Agent.Version)
		}
	}
	return "an agent that does not tell its version"
}
