package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/proc"
	"ralph/internal/project"
)

// maxServeLogs is how many logs of runs that were started are kept.
const maxServeLogs = 20

// maxServeSaid is how much of one is shown.
const maxServeSaid = 4 << 10

// started is a run in a process that outlives this one.
type started struct {
	process dag.Process
	ended   <-chan error // how the process ended, while this one lives
	log     string
}

// startRun starts a command that runs tasks as a process that outlives this one. What it prints is in .ralph/serve.
func startRun(a *app, p project.Project, args []string) (started, error) {
	program, err := os.Executable()
	if err != nil {
		return started{}, err
	}
	return startProgram(a, p, program, args)
}

func startProgram(a *app, p project.Project, program string, args []string) (started, error) {
	log, err := serveLog(a, p)
	if err != nil {
		return started{}, fmt.Errorf("make the log of a run: %w", err)
	}
	defer log.Close()
	id, ended, err := proc.Detach(program, append([]string{"--project=" + p.Root}, args...), p.Root, startedEnviron(a, p), log)
	return started{processOf(id), ended, log.Name()}, err
}

// startedEnviron is the environment of what a server starts. Its own secrets are not in it: gates run code that agents wrote, and
// whoever has the token of the server has a shell here.
func startedEnviron(a *app, p project.Project) []string {
	own := []string{"RALPH_SERVER", "RALPH_SERVER_TOKEN"}
	config, _ := a.loadConfig(p.Config()) // what cannot be read names nothing
	own = append(own, config.Serve.TokenEnv)
	for _, c := range config.Chat {
		own = append(own, c.TokenEnv, c.AppTokenEnv)
	}
	for _, c := range config.Inbound {
		own = append(own, c.SecretEnv)
	}
	kept := slices.DeleteFunc(slices.Clone(a.environ()), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, name)
	})
	return append(kept, servedVariable+"=1")
}

// said is the end of what the process printed.
func (r started) said() string {
	data, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-maxServeSaid):])
}

// began says whether the run is on record, also if it has ended.
func (r started) began(ctx context.Context, a *app) (found bool) {
	err := a.view(ctx, func(_ *session, g *dag.Graph) error {
		runs, err := g.History.OpenRuns()
		if last, lerr := g.History.RunOrLast(""); lerr == nil {
			runs = append(runs, last)
		}
		found = slices.ContainsFunc(runs, func(run dag.Run) bool { return run.Process == r.process })
		return err
	})
	return found && err == nil
}

// beginRun starts a run for somebody who waits to see it: it returns when the run is on record, or with what the process said if it
// ended before that.
func beginRun(ctx context.Context, a *app, p project.Project, args []string) error {
	r, err := startRun(a, p, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second) // a slow machine: the page shows it when it is there
	defer cancel()
	for tick := time.Tick(100 * time.Millisecond); ; {
		select {
		case err := <-r.ended:
			if err != nil && !r.began(ctx, a) { // else it was a run, and its page says how it ended
				return errors.New(strings.TrimPrefix(strings.TrimSpace(r.said()), "ralph: "))
			}
			return nil
		case <-ctx.Done():
			return nil
		case <-tick:
			if r.began(ctx, a) {
				return nil
			}
		}
	}
}

// processOf is the identity of a process as the database has it.
func processOf(id proc.Identity) dag.Process {
	return dag.Process{PID: int64(id.Pid), Start: int64(id.Start), BootID: id.BootID, Namespace: id.PIDNS}
}

// serveLog makes the next log, and removes the oldest.
func serveLog(a *app, p project.Project) (*os.File, error) {
	folder := filepath.Join(p.State(), "serve")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	old, _ := filepath.Glob(filepath.Join(folder, "run-*.log")) // the pattern is well-formed
	slices.Sort(old)
	for len(old) >= maxServeLogs {
		if err := os.Remove(old[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break // on Windows, while a run writes it
		}
		old = old[1:]
	}
	at := a.now().UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("run-%s-%02d.log", at, n)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// checkRunArgs refuses what `ralph run` would refuse as a command line. It runs nothing.
func checkRunArgs(ctx context.Context, a *app, args []string) error {
	dry := runCommand
	dry.run = action(func(_ context.Context, _ *app, o runOptions) error { return o.check() })
	inner := appOf(a.system, command{flags: globalFlags, sub: []command{dry}})
	help, err := inner.do(ctx, append([]string{"ralph", "run"}, args...))
	switch {
	case err != nil:
		return err
	case help:
		return usagef("--help starts no run")
	case inner.dir != "":
		return usagef("--project is always this one")
	}
	return nil
}
