// Command ralph-temporal has the attempts of a run made on many machines, through a Temporal server. It carries orders to
// workers and what came of them back; it never claims, verifies or lands: ralph run does that at home, and ralph attempt on
// a worker.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"ralph/internal/human"
	"ralph/internal/project"
)

const statuses = "Exit status: 0 success, 1 failed or refused, 3 not found, 64 bad usage or not a project, 130 and 143 interrupted."

// exitError is an exit status, and what is left to say about it.
type exitError struct {
	status int
	msg    string
}

func (e exitError) Error() string { return e.msg }

func usageError(msg string) error { return exitError{64, msg} }

func main() { os.Exit(exitStatus(app().Run(os.Args))) }

func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	exit := exitError{1, err.Error()}
	if errors.As(err, &exit); exit.msg != "" {
		say("%v", err)
	}
	if errors.Is(err, project.ErrNone) || errors.Is(err, project.ErrConfig) {
		return 64
	}
	return exit.status
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "ralph-temporal: "+format+"\n", args...)
}

func app() *cli.App {
	passed := func(name, usage, args, text string, argv ...string) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, ArgsUsage: args, SkipFlagParsing: true,
			Description: text + "\nIt runs \"ralph " + strings.Join(argv, " ") + "\" on the machine of the run, from any clone of the repository.\n\n" + statuses,
			Action: helped(func(c *cli.Context, s *setup) error {
				return remote(c.Context, s, append(slices.Clone(argv), c.Args().Slice()...))
			}),
		}
	}
	return &cli.App{
		Name: "ralph-temporal", Usage: "run the tasks of a project on many machines, through a Temporal server",
		Description: "The server, the queue and the git remote are set in [temporal] of .ralph.toml; temporal/README.md explains them.\n" +
			"Without an address there, TEMPORAL_ADDRESS and Temporal's own profile count.",
		HideVersion: true, HideHelpCommand: true, ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError: badUsage,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "project", Usage: "the `NAME` of the project's folder on the machine of the run (default: the name of this one)"},
			&cli.StringFlag{Name: "run", Usage: "which run is meant if several of the project are open: the `ID` of its workflow"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log what the Temporal SDK does"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError(fmt.Sprintf("there is no command %q; see ralph-temporal --help", c.Args().First()))
			}
			return cli.ShowAppHelp(c)
		},
		Commands: []*cli.Command{
			{
				Name: "worker", Usage: "make attempts on this machine, in a clone of the repository", OnUsageError: badUsage,
				Description: "The first Ctrl-C or SIGTERM takes no more attempts, ends the agents and delivers what they did. The second leaves at once.\n\n" + statuses,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "queue", Usage: "take attempts from the queue `Q`; those of tasks with a tag in temporal.needs are in QUEUE-TAG (default: temporal.queue)"},
					&cli.IntFlag{Name: "slots", Value: 1, Usage: "make at most `N` attempts at once"},
				},
				Action: func(c *cli.Context) error {
					if c.Args().Present() || c.Int("slots") < 1 {
						return usageError("usage: ralph-temporal worker [--queue Q] [--slots N], with a slot at least")
					}
					s, err := prepare(c)
					if err != nil {
						return err
					}
					return work(c.Context, s, c.String("queue"), c.Int("slots"))
				},
			},
			{
				Name: "run", Usage: "start or join a run whose attempts are made by workers", ArgsUsage: "[TARGET] [ralph run's flags]", SkipFlagParsing: true,
				Description: "It is ralph run, here, where the project and its branch are: the same flags, output and exit statuses. Only the attempts\n" +
					"are made elsewhere. A run whose ralph-temporal was killed is joined. --jobs is temporal.jobs unless it is given.\n" +
					"Ctrl-C ends the attempts on all workers, as it does in ralph run.",
				Action: helped(func(c *cli.Context, s *setup) error { return runCommand(c.Context, s, c.Args().Slice()) }),
			},
			{
				Name: "status", Usage: "show the attempts that are under way, and the status at home", SkipFlagParsing: true,
				Description: "The attempts are shown also while the machine of the run is away.\n\n" + statuses,
				Action: helped(func(c *cli.Context, s *setup) error {
					if c.Args().Present() {
						return usageError("usage: ralph-temporal status")
					}
					return status(c.Context, s, os.Stdout)
				}),
			},
			passed("pause", "pause the project, or one task", "[TASK]", "Attempts that are under way go on.", "pause"),
			passed("resume", "continue what was paused", "[TASK]", "", "resume"),
			passed("stop", "stop the run after its current tasks, or the work on one task", "[--now] [TASK]", "With --now the agents on all workers are stopped.", "stop"),
			passed("send", "tell the agent of a task something", "TASK TEXT", "It cannot be @FILE or - for stdin, as for ralph send.", "send"),
			passed("answer", "answer what an agent asked", "Q [TEXT]", "A credential cannot be given this way, because the server would store it.", "inbox", "answer"),
		},
	}
}

func badUsage(_ *cli.Context, err error, _ bool) error { return usageError(err.Error()) }

// helped is an action of a command whose flags are ralph's, and which has no --help of its own therefore.
func helped(fn func(*cli.Context, *setup) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if hasFlag(c.Args().Slice(), "help", "h") {
			return cli.ShowSubcommandHelp(c)
		}
		s, err := prepare(c)
		if err != nil {
			return err
		}
		return fn(c, s)
	}
}

// prepare reads the project here and its settings.
func prepare(c *cli.Context) (*setup, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p, err := project.Find(dir)
	if err != nil {
		return nil, err
	}
	config, err := project.Load(userConfig(), p.Config(), os.Getenv)
	if err != nil {
		return nil, err
	}
	level := slog.LevelError + 1 // what a worker meets it says itself
	switch {
	case c.Bool("verbose"):
		level = slog.LevelInfo
	case c.Command.Name == "run": // a workflow that cannot go on would just hang
		level = slog.LevelError
	}
	srv, err := connect(p, config.Temporal, level, say)
	if err != nil {
		return nil, err
	}
	return &setup{project: p, named: c.String("project"), run: c.String("run"), conf: config.Temporal, srv: srv}, nil
}

// userConfig is where ralph has the user's own settings.
func userConfig() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		if dir = os.Getenv("HOME"); !filepath.IsAbs(dir) {
			return ""
		}
		dir = filepath.Join(dir, ".config")
	}
	return filepath.Join(dir, "ralph", "config.toml")
}

// work makes attempts until a signal.
func work(ctx context.Context, s *setup, queue string, slots int) error {
	if queue == "" {
		queue = s.conf.Queue
	}
	a := &attempts{ralph: &ralph{}, dir: s.project.Root, remote: s.conf.Remote, say: say}
	a.host, _ = os.Hostname()
	build, err := a.ralph.build(ctx)
	if err != nil {
		return err
	}
	a.beat = func(ctx context.Context, token []byte, p Beat) error {
		return s.srv.RecordActivityHeartbeat(ctx, token, p)
	}
	a.limited = func(ctx context.Context, id, agent string) (left time.Duration, err error) {
		value, err := s.srv.QueryWorkflow(ctx, id, "", queryLimited, agent)
		if err != nil {
			return 0, err
		}
		return left, value.Get(&left)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.waitFor(ctx, signals); err != nil {
		return err
	}
	go s.srv.watch(ctx)
	polling, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- s.srv.poll(polling, queue, worker.Options{
			MaxConcurrentActivityExecutionSize: slots, DisableWorkflowWorker: true,
			WorkerStopTimeout: time.Hour, // agents are asked to end, and what they did is delivered
		}, func(w worker.Worker) {
			w.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: activityAttempt})
		}, func() {
			say("polling queue %s on %s for %d attempts at once, with ralph %s", queue, s.srv.name, slots, build)
		})
	}()
	select {
	case <-signals:
		say("leaving; the attempts are ended and delivered; again to leave at once")
		stop()
	case err := <-done:
		return err
	}
	select {
	case sig := <-signals: // the attempts end with us: each sees the end of its stdin
		return interrupted(sig)
	case err := <-done:
		return err
	}
}

// remote runs a command of ralph at home and prints what it printed.
func remote(ctx context.Context, s *setup, argv []string) error {
	if err := allowed(argv); err != nil {
		return usageError(err.Error())
	}
	runs, err := s.runs(ctx)
	if err != nil {
		return err
	}
	if len(runs) > 1 {
		return usageError(fmt.Sprintf("%s are open; say which: ralph-temporal --run %s %s", human.List(runs, 5), runs[0], strings.Join(argv, " ")))
	}
	if w, err := s.srv.whose(ctx, runs[0]); err == nil && w.place != "" {
		say("run %s of %s", w.run, w.place) // projects of one name are told apart by that
	}
	ran, err := s.srv.atHome(ctx, runs[0], argv)
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, ran.Stdout)
	fmt.Fprint(os.Stderr, ran.Stderr)
	if ran.Status != 0 {
		return exitError{status: ran.Status}
	}
	return nil
}
