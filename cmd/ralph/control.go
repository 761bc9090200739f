package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
)

func (a *app) stopCommand() command {
	return command{
		name: "stop", short: "end what runs here, from another shell, after its current task",
		long: `Every run of this project that is under way is asked to end. It does so within a second or
two, or when its current task is finished; its exit status is 4. With --now its agents are ended
and their tasks given back, as by Ctrl-C. What is running elsewhere on this database is asked, too.`,
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "now", Usage: "do not wait for the current task"},
		},
		example: "ralph stop\nralph stop --now",
		run:     a.runStop,
	}
}

func (a *app) runStop(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	how, when := dag.StopAfterTask, "ends after its current task"
	if c.Bool("now") {
		how, when = dag.StopNow, "ends now"
	}
	var asked []dag.Run
	err := a.update(c.Context, func(_ *session, g *dag.Graph) error {
		open, err := g.OpenRuns()
		if err != nil {
			return err
		}
		for _, run := range open {
			if life(run.Process) == dag.Dead {
				continue
			}
			if err := g.StopRun(run.ID, how); err != nil {
				return err
			}
			asked = append(asked, run)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if len(asked) == 0 {
		a.note("nothing is running")
	}
	for _, run := range asked {
		a.note("%s %s", run.ID, when)
	}
	return nil
}

func (a *app) pauseCommand() command {
	return command{
		name: "pause", args: "[TASK]", short: "begin no task, or not this one, until ralph resume",
		long: `What is at work goes on to its end; then a run that is under way waits, and says so. A run that
is started meanwhile waits on a terminal, and is refused without one. With TASK only that task, and
all that lies below it, is held back; runs go on with the rest.`,
		example: "ralph pause\nralph pause 1f0c", exits: "1 refused (a task that has ended), 3 not found",
		run: func(c *cli.Context) error {
			return a.hold(c, "paused", func(g *dag.Graph) (string, error) {
				changed, err := g.PauseAll()
				if !changed {
					return "paused already; go on with: ralph resume", err
				}
				return "paused: no task is begun until: ralph resume", err
			}, (*dag.Graph).Pause)
		},
	}
}

func (a *app) resumeCommand() command {
	return command{
		name: "resume", args: "[TASK]", short: "go on after ralph pause, or before a limit is over",
		long: `Without TASK the project goes on; tasks that were paused one by one stay so. Agents that have met
a limit of their provider are asked again at once, and not only when it is said to be over.`,
		example: "ralph resume\nralph resume 1f0c", exits: "1 refused (a task that is not paused), 3 not found",
		run: func(c *cli.Context) error {
			return a.hold(c, "resumed", func(g *dag.Graph) (string, error) {
				changed, err := g.ResumeAll()
				if err != nil {
					return "", err
				}
				limits, err := g.AgentLimits()
				if err != nil {
					return "", err
				}
				said := "resumed"
				if !changed {
					said = "it was not paused"
				}
				for _, l := range limits {
					said += fmt.Sprintf("; %s is asked again, though it had no room until %s", l.Agent, l.Until.Local().Format(time.DateTime))
				}
				return said, g.LiftLimit("")
			}, func(g *dag.Graph, id string) error { return hintPaused(g, id, g.Resume(id)) })
		},
	}
}

// hintPaused says what else may keep a task back that is not paused itself.
func hintPaused(g *dag.Graph, id string, err error) error {
	if err == nil {
		return nil
	}
	if control, cerr := g.Control(""); cerr == nil && !control.PausedAt.IsZero() {
		return hint(err, "the whole project is paused; go on with: ralph resume")
	}
	return hint(err, "see what it waits for with: ralph task why %s", id)
}

// hold does one thing to the project, or another to the task that was named.
func (a *app) hold(c *cli.Context, word string, all func(*dag.Graph) (string, error), one func(*dag.Graph, string) error) error {
	if c.NArg() > 1 {
		return usagef("one TASK at most")
	}
	said := ""
	err := a.update(c.Context, func(_ *session, g *dag.Graph) (err error) {
		if c.NArg() == 0 {
			said, err = all(g)
			return err
		}
		t, err := g.Resolve(c.Args().First())
		if err != nil {
			return lookUpHint(err)
		}
		said = fmt.Sprintf("%s %s: %s", t.ID, word, t.Title)
		return one(g, t.ID)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Command.Name, err)
	}
	a.note("%s", said)
	return nil
}

// refusePaused keeps a run that nobody watches from waiting for ever.
func refusePaused(ctx context.Context, a *app, s *session) error {
	if a.errIsTerm {
		return nil
	}
	return s.store.View(ctx, func(g *dag.Graph) error {
		control, err := g.Control("")
		if err != nil || control.PausedAt.IsZero() {
			return err
		}
		return hint(fmt.Errorf("run: %w: the project is paused since %s", dag.ErrRefused, control.PausedAt.Local().Format(time.DateTime)),
			"go on with: ralph resume")
	})
}
