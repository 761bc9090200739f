package servecmd

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
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/proc"
	"ralph/internal/project"
)

// maxServeLogs is how many logs of runs that were started are kept.
const maxServeLogs = 20

// maxServeSaid is how much of one is shown.
const maxServeSaid = 4 << 10

// Started is a run in a process that outlives this one.
type Started struct {
	Process dag.Process
	Ended   <-chan error // how the process ended, while this one lives
	log     string
}

// startRun starts a command that runs tasks as a process that outlives this one. What it prints is in .ralph/serve.
func startRun(a *cli.App, p project.Project, args []string) (Started, error) {
	program, err := os.Executable()
	if err != nil {
		return Started{}, err
	}
	return StartProgram(a, p, program, args)
}

// StartProgram starts a program in a session of its own.
func StartProgram(a *cli.App, p project.Project, program string, args []string) (Started, error) {
	log, err := serveLog(a, p)
	if err != nil {
		return Started{}, fmt.Errorf("make the log of a run: %w", err)
	}
	defer log.Close()
	id, ended, err := proc.Detach(program, append([]string{"--project=" + p.Root}, args...), p.Root, startedEnviron(a, p), log)
	return Started{launch.ProcessOf(id), ended, log.Name()}, err
}

// startedEnviron is the environment of what a server starts. Its own secrets are not in it: gates run code that agents wrote, and
// whoever has the token of the server has a shell here.
func startedEnviron(a *cli.App, p project.Project) []string {
	own := []string{"RALPH_SERVER", "RALPH_SERVER_TOKEN"}
	config, _ := a.LoadConfig(p.Config()) // what cannot be read names nothing
	own = append(own, config.Serve.TokenEnv)
	for _, c := range config.Chat {
		own = append(own, c.TokenEnv, c.AppTokenEnv)
	}
	for _, c := range config.Inbound {
		own = append(own, c.SecretEnv)
	}
	kept := slices.DeleteFunc(slices.Clone(a.Environ()), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, name)
	})
	return append(kept, cli.ServedVariable+"=1")
}

// Said is the end of what the process printed.
func (r Started) Said() string {
	data, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-maxServeSaid):])
}

// began says whether the run is on record, also if it has ended.
func (r Started) began(ctx context.Context, a *cli.App) (found bool) {
	err := a.View(ctx, func(_ *cli.Session, g *dag.Graph) error {
		runs, err := g.History.OpenRuns()
		if last, lerr := g.History.RunOrLast(""); lerr == nil {
			runs = append(runs, last)
		}
		found = slices.ContainsFunc(runs, func(run dag.Run) bool { return run.Process == r.Process })
		return err
	})
	return found && err == nil
}

// beginRun starts a run for somebody who waits to see it: it returns when the run is on record, or with what the process said if it
// ended before that.
func beginRun(ctx context.Context, a *cli.App, p project.Project, args []string) error {
	r, err := startRun(a, p, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second) // a slow machine: the page shows it when it is there
	defer cancel()
	for tick := time.Tick(100 * time.Millisecond); ; {
		select {
		case err := <-r.Ended:
			if err != nil && !r.began(ctx, a) { // else it was a run, and its page says how it ended
				return errors.New(strings.TrimPrefix(strings.TrimSpace(r.Said()), "ralph: "))
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

// serveLog makes the next log, and removes the oldest.
func serveLog(a *cli.App, p project.Project) (*os.File, error) {
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
	at := a.Now().UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("run-%s-%02d.log", at, n)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// checkRunArgs refuses what `ralph run` would refuse as a command line. It runs nothing.
func checkRunArgs(ctx context.Context, a *cli.App, args []string) error {
	dry := launch.Command
	dry.Run = cli.Action(func(_ context.Context, _ *cli.App, o launch.Options) error { return o.Check() })
	inner := cli.New(a.System, cli.Command{Flags: cli.GlobalFlags, Sub: []cli.Command{dry}})
	help, err := inner.Do(ctx, append([]string{"ralph", "run"}, args...))
	switch {
	case err != nil:
		return err
	case help:
		return cli.Usagef("--help starts no run")
	case inner.Dir != "":
		return cli.Usagef("--project is always this one")
	}
	return nil
}
