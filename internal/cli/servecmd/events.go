package servecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/inbound"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/schedule"
)

// ServeEvents are what starts runs besides people: run looks at the schedules until its context ends, and the handler answers
// POST /in/NAME. A configuration that cannot be used is an error now; later nothing is started until it can, and the secrets of the last good one count.
func ServeEvents(ctx context.Context, a *cli.App, p project.Project) (run func(context.Context), in http.Handler, err error) {
	self, err := proc.Self()
	if err != nil {
		return nil, nil, fmt.Errorf("look at this process: %w", err)
	}
	warn := func(text string) { a.Note("warning: %s", text) }
	e := &events{app: a, project: p, warn: warn}
	if err := e.load(ctx); err != nil {
		return nil, nil, err
	}
	for _, text := range inbound.Problems(e.hooks) {
		warn(text)
	}
	command := cli.Answering(a, nil)
	in = inbound.New(inbound.Options{
		Hooks: func() []inbound.Hook { _, hooks := e.read(ctx); return hooks }, Update: e.update, Start: e.start, Life: cli.Life, Now: a.Now, Log: warn,
		Command: func(ctx context.Context, args ...string) (string, error) { return command(ctx, "", args...) },
	})
	return func(ctx context.Context) {
		schedule.Run(ctx, schedule.Options{
			Schedules: func() []schedule.Schedule { list, _ := e.read(ctx); return list }, Update: e.update, Start: e.start, Life: cli.Life, Now: a.Now,
			Self: launch.ProcessOf(self), Warn: warn,
		})
	}, in, nil
}

// events reads the configuration when its files have changed, and has the last that could be used.
type events struct {
	app     *cli.App
	project project.Project
	warn    func(string)

	mu        sync.Mutex
	schedules []schedule.Schedule
	hooks     []inbound.Hook
	failed    string
	files     string // as they were when they were read
}

// stat tells whether the files of the configuration have changed. Strangers have it asked, too: reading them would be too much work.
func (e *events) stat() (files string) {
	for _, path := range []string{e.app.UserConfig(), e.project.Config()} {
		if info, err := os.Stat(path); err == nil {
			files += fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano(), " ")
		}
		files += "\n"
	}
	return files
}

func (e *events) load(ctx context.Context) error {
	e.files = e.stat()
	config, err := e.app.LoadConfig(e.project.Config())
	if err != nil {
		return err
	}
	schedules, err := schedulesOf(ctx, e.app, config)
	if err != nil {
		return err
	}
	hooks, err := InboundOf(ctx, e.app, config)
	if err == nil {
		e.schedules, e.hooks = schedules, hooks
	}
	return err
}

func (e *events) read(ctx context.Context) ([]schedule.Schedule, []inbound.Hook) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.files == e.stat() {
		return e.schedules, e.hooks
	}
	failed, unread := "", (*fs.PathError)(nil)
	if err := e.load(ctx); err != nil {
		failed = err.Error()
		if errors.As(err, &unread) { // it may be readable the next time
			e.files = ""
		}
	}
	if failed != "" && failed != e.failed {
		e.warn(failed + "; no schedule and no webhook starts anything until that is mended")
	}
	e.failed = failed
	return e.schedules, e.hooks
}

// update opens the project each time: its database may be another one than before.
func (e *events) update(ctx context.Context, fn func(*dag.Graph) error) error {
	s, err := e.app.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Store.Update(ctx, fn)
}

func (e *events) start(_ context.Context, _ string, args []string) (dag.Process, error) {
	r, err := startRun(e.app, e.project, append([]string{"run"}, args...))
	return r.Process, err
}

// InboundOf are the hooks of a configuration, with their secrets from the environment. One whose flags ralph run would refuse is an error.
func InboundOf(ctx context.Context, a *cli.App, config project.Loaded) (list []inbound.Hook, err error) {
	for i, c := range config.Inbound {
		h := inbound.Hook{InboundConfig: c, Secret: []byte(a.Getenv(c.SecretEnv))}
		a.Redact.Add(string(h.Secret))
		if c.Run != nil {
			key := fmt.Sprintf("inbound.%d", i+1)
			if h.Args, err = runArgs(ctx, a, config, key, c.Name, *c.Run); err != nil {
				return nil, err
			}
			if _, err = cli.OutsideLine(a, append([]string{"run"}, h.Args...)); err != nil {
				return nil, fmt.Errorf("%w: %s: %s (%s): %w", project.ErrConfig, config.Origin(key), key, c.Name, err)
			}
		}
		list = append(list, h)
	}
	return list, nil
}
