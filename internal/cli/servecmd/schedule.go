package servecmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/schedule"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Schedule is the command "ralph schedule".
var Schedule = cli.Command{
	Name: "schedule", Short: "list the schedules by which ralph serve starts runs, or run one now",
	Long:    "Schedules are [[schedule]] in the configuration: a name, a cron line and the flags of ralph run. docs/schedules.md has more.",
	Example: "ralph schedule list\nralph schedule next nightly\nralph schedule run nightly", Exits: "1 refused, 3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list the schedules: when each is due next, and what became of the last time", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph schedule list", Run: cli.InProject(runScheduleList),
		},
		{
			Name: "next", Args: "[SCHEDULE]", Short: "print the next times at which schedules are due",
			Flags:   []cli.Flag{{Name: "count", Short: "n", Value: 5, Usage: "print `N` times"}, cli.JSONFlag},
			Example: "ralph schedule next\nralph schedule next nightly -n 10", Exits: "3 not found", Run: cli.Action(runScheduleNext),
		},
		{
			Name: "run", Args: "SCHEDULE", Short: "run a schedule now, in the foreground",
			Long:    "Does what ralph run with the flags of the schedule does, and ends with the same status.",
			Example: "ralph schedule run nightly", Exits: "1 refused (its last run is still at work), 3 not found, and those of ralph run", Run: cli.Action(runScheduleRun),
		},
	},
}

// schedulesOf are the schedules of a configuration. One whose flags ralph run would refuse is an error.
func schedulesOf(ctx context.Context, a *cli.App, config project.Loaded) (list []schedule.Schedule, err error) {
	for i, c := range config.Schedules {
		s := schedule.Schedule{Name: c.Name, CatchUp: c.CatchUp}
		if s.Line, err = c.Line(); err != nil {
			return nil, err
		}
		if s.Args, err = runArgs(ctx, a, config, fmt.Sprintf("schedule.%d", i+1), c.Name, c.Run); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// runArgs are flags of ralph run that stand in the configuration.
func runArgs(ctx context.Context, a *cli.App, config project.Loaded, key, name, flags string) ([]string, error) {
	args, err := project.RunWords(flags)
	if err == nil {
		err = checkRunArgs(ctx, a, args)
	}
	if err == nil {
		return args, nil
	}
	wrong := fmt.Errorf("%w: %s: %s (%s): run: %w", project.ErrConfig, config.Origin(key), key, name, err)
	return nil, cli.Hint(wrong, "%s", cmp.Or(cli.HintFor(err), "see the flags with: ralph run --help"))
}

// ScheduleLine is a schedule as it is listed.
type ScheduleLine struct {
	Config  project.ScheduleConfig
	Next    time.Time // zero is never
	Last    schedule.Fire
	running bool
	Run     dag.Run // that the last fire has started
	Outcome event.RunOutcome
}

const noSchedules = "no schedules; [[schedule]] in " + project.ConfigName + " makes one"

func runScheduleList(ctx context.Context, a *cli.App, s *cli.Session, o cli.PlainOptions) error {
	list, err := schedulesOf(ctx, a, s.Config)
	if err != nil {
		return err
	}
	lines, err := cli.Read(ctx, s, func(g *dag.Graph) (lines []ScheduleLine, err error) {
		for i, sc := range list {
			last := schedule.Last(g, sc.Name)
			l := ScheduleLine{Config: s.Config.Schedules[i], Next: sc.Line.Next(a.Now()), Last: last, running: schedule.Running(g, last, cli.Life), Run: schedule.RunOf(g, last)}
			if l.Run.ID != "" {
				l.Outcome = report.LineOf(l.Run, nil, cli.Life, a.Now()).Outcome
			}
			lines = append(lines, l)
		}
		return lines, g.Tx().Err()
	})
	if err != nil {
		return err
	}
	return cli.PrintList(a, lines, o.JSON, ScheduleLine.Object, noSchedules, []string{"NAME", "CRON", "NEXT", "LAST"}, func(l ScheduleLine) []term.Cell {
		return cli.Cells(nil, l.Config.Name, strings.TrimSpace(l.Config.Cron+" "+l.Config.Timezone), dueText(l.Next), l.became())
	})
}

// dueText is a time as people compare it with their calendar.
func dueText(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Format("Mon 2006-01-02 15:04:05 MST")
}

// became says what was last done about a schedule.
func (l ScheduleLine) became() string {
	f, what := l.Last, string(l.Last.State)
	switch {
	case f.N == 0:
		return "nothing yet"
	case l.running:
		what = "running"
	case l.Run.ID != "":
		what = l.Run.ID + " " + render.OutcomeWord(l.Outcome)
	case f.Count > 1:
		what += " " + human.Count(f.Count, "time")
	}
	return f.Due.Local().Format(time.DateTime) + " " + what
}

// Object is it as JSON.
func (l ScheduleLine) Object() jsonval.Object {
	c, f := l.Config, l.Last
	var last, next any
	if f.N > 0 {
		last = jsonval.Object{
			"due", f.Due, "at", f.At, "state", f.State, "count", f.Count, "note", cli.Null(f.Note),
			"running", l.running, "run", cli.Null(l.Run.ID), "outcome", cli.Null(string(l.Outcome)),
		}
	}
	if !l.Next.IsZero() {
		next = l.Next
	}
	return jsonval.Object{"name", c.Name, "cron", c.Cron, "timezone", cli.Null(c.Timezone), "run", c.Run, "catch_up", c.CatchUp, "next", next, "last", last}
}

type scheduleNextOptions struct {
	cli.PlainOptions
	Count int
}

// DueTime is a time at which a schedule is due.
type DueTime struct {
	Name string
	At   time.Time
}

// Object is it as JSON.
func (d DueTime) Object() jsonval.Object { return jsonval.Object{"name", d.Name, "at", d.At} }

func runScheduleNext(ctx context.Context, a *cli.App, o scheduleNextOptions) error {
	if o.Count < 1 || o.Count > 1000 {
		return cli.Usagef("--count is a number from 1 to 1000, not %d", o.Count)
	}
	list, _, err := schedulesHere(ctx, a, o.Args...)
	if err != nil {
		return err
	}
	var times []DueTime
	for _, s := range list {
		times = append(times, seq.Map(s.Line.Some(a.Now(), o.Count), func(at time.Time) DueTime { return DueTime{s.Name, at} })...)
	}
	none := "never"
	if len(list) == 0 {
		none = noSchedules
	}
	slices.SortStableFunc(times, func(a, b DueTime) int { return a.At.Compare(b.At) })
	return cli.PrintList(a, times[:min(len(times), o.Count)], o.JSON, DueTime.Object, none, nil, func(d DueTime) []term.Cell {
		return cli.Cells(nil, dueText(d.At), d.Name)
	})
}

// schedulesHere are those of the project, or the one that is named.
func schedulesHere(ctx context.Context, a *cli.App, name ...string) (list []schedule.Schedule, p project.Project, err error) {
	if p, err = a.FindProject(); err != nil {
		return nil, p, err
	}
	config, err := a.LoadConfig(p.Config())
	if err != nil {
		return nil, p, err
	}
	if list, err = schedulesOf(ctx, a, config); err != nil || len(name) == 0 {
		return list, p, err
	}
	names := seq.Map(list, func(s schedule.Schedule) string { return s.Name })
	if i := slices.Index(names, name[0]); i >= 0 {
		return list[i : i+1], p, nil
	}
	return nil, p, &dag.MissingError{Kind: "schedule", Typed: name[0], Known: names}
}

func runScheduleRun(ctx context.Context, a *cli.App, o cli.PlainOptions) error {
	list, p, err := schedulesHere(ctx, a, o.Args[0])
	if err != nil {
		return err
	}
	if a.Getenv(cli.ServedVariable) != "" {
		config, _ := a.LoadConfig(p.Config()) // it was read just now
		line, _ := cli.LineOf(a.Root, append([]string{"run"}, list[0].Args...))
		if err := cli.RefuseWeaker(a, line, config.Serve.Allow); err != nil {
			return err
		}
	}
	self, err := proc.Self()
	if err != nil {
		return fmt.Errorf("look at this process: %w", err)
	}
	free := false
	err = a.Record(ctx, func(_ *cli.Session, g *dag.Graph) error {
		free = schedule.ByHand(g, list[0], launch.ProcessOf(self), cli.Life)
		return g.Tx().Err()
	})
	switch {
	case err != nil:
		return err
	case !free:
		return cli.Hint(fmt.Errorf("schedule %s: %w: its last run is still at work", o.Args[0], dag.ErrRefused), "follow it with: ralph watch; or end it with: ralph stop")
	}
	_, err = a.Do(ctx, append([]string{"ralph", "--project=" + p.Root, "run"}, list[0].Args...))
	return err
}
