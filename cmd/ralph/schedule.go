package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
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

var scheduleCommand = command{
	name: "schedule", short: "list the schedules by which ralph serve starts runs, or run one now",
	long:    "Schedules are [[schedule]] in the configuration: a name, a cron line and the flags of ralph run. docs/schedules.md has more.",
	example: "ralph schedule list\nralph schedule next nightly\nralph schedule run nightly", exits: "1 refused, 3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list the schedules: when each is due next, and what became of the last time", flags: []flagSpec{jsonFlag},
			example: "ralph schedule list", run: inProject(runScheduleList),
		},
		{
			name: "next", args: "[SCHEDULE]", short: "print the next times at which schedules are due",
			flags:   []flagSpec{{name: "count", short: "n", value: 5, usage: "print `N` times"}, jsonFlag},
			example: "ralph schedule next\nralph schedule next nightly -n 10", exits: "3 not found", run: action(runScheduleNext),
		},
		{
			name: "run", args: "SCHEDULE", short: "run a schedule now, in the foreground",
			long:    "Does what ralph run with the flags of the schedule does, and ends with the same status.",
			example: "ralph schedule run nightly", exits: "1 refused (its last run is still at work), 3 not found, and those of ralph run", run: action(runScheduleRun),
		},
	},
}

// schedulesOf are the schedules of a configuration. One whose flags ralph run would refuse is an error.
func schedulesOf(ctx context.Context, a *app, config project.Loaded) (list []schedule.Schedule, err error) {
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
func runArgs(ctx context.Context, a *app, config project.Loaded, key, name, flags string) ([]string, error) {
	args, err := project.RunWords(flags)
	if err == nil {
		err = checkRunArgs(ctx, a, args)
	}
	if err == nil {
		return args, nil
	}
	wrong := fmt.Errorf("%w: %s: %s (%s): run: %w", project.ErrConfig, config.Origin(key), key, name, err)
	return nil, hint(wrong, "%s", cmp.Or(hintFor(err), "see the flags with: ralph run --help"))
}

// scheduleLine is a schedule as it is listed.
type scheduleLine struct {
	config  project.ScheduleConfig
	next    time.Time // zero is never
	last    schedule.Fire
	running bool
	run     dag.Run // that the last fire has started
	outcome event.RunOutcome
}

const noSchedules = "no schedules; [[schedule]] in " + project.ConfigName + " makes one"

func runScheduleList(ctx context.Context, a *app, s *session, o plainOptions) error {
	list, err := schedulesOf(ctx, a, s.config)
	if err != nil {
		return err
	}
	lines, err := look(ctx, s, func(g *dag.Graph) (lines []scheduleLine, err error) {
		for i, sc := range list {
			last := schedule.Last(g, sc.Name)
			l := scheduleLine{config: s.config.Schedules[i], next: sc.Line.Next(a.now()), last: last, running: schedule.Running(g, last, life), run: schedule.RunOf(g, last)}
			if l.run.ID != "" {
				l.outcome = report.LineOf(l.run, nil, life, a.now()).Outcome
			}
			lines = append(lines, l)
		}
		return lines, g.Tx().Err()
	})
	if err != nil {
		return err
	}
	return printList(a, lines, o.JSON, scheduleLine.object, noSchedules, []string{"NAME", "CRON", "NEXT", "LAST"}, func(l scheduleLine) []term.Cell {
		return cells(nil, l.config.Name, strings.TrimSpace(l.config.Cron+" "+l.config.Timezone), dueText(l.next), l.became())
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
func (l scheduleLine) became() string {
	f, what := l.last, string(l.last.State)
	switch {
	case f.N == 0:
		return "nothing yet"
	case l.running:
		what = "running"
	case l.run.ID != "":
		what = l.run.ID + " " + render.OutcomeWord(l.outcome)
	case f.Count > 1:
		what += " " + human.Count(f.Count, "time")
	}
	return f.Due.Local().Format(time.DateTime) + " " + what
}

func (l scheduleLine) object() jsonval.Object {
	c, f := l.config, l.last
	var last, next any
	if f.N > 0 {
		last = jsonval.Object{
			"due", f.Due, "at", f.At, "state", f.State, "count", f.Count, "note", null(f.Note),
			"running", l.running, "run", null(l.run.ID), "outcome", null(string(l.outcome)),
		}
	}
	if !l.next.IsZero() {
		next = l.next
	}
	return jsonval.Object{"name", c.Name, "cron", c.Cron, "timezone", null(c.Timezone), "run", c.Run, "catch_up", c.CatchUp, "next", next, "last", last}
}

type scheduleNextOptions struct {
	plainOptions
	Count int
}

// dueTime is a time at which a schedule is due.
type dueTime struct {
	name string
	at   time.Time
}

func (d dueTime) object() jsonval.Object { return jsonval.Object{"name", d.name, "at", d.at} }

func runScheduleNext(ctx context.Context, a *app, o scheduleNextOptions) error {
	if o.Count < 1 || o.Count > 1000 {
		return usagef("--count is a number from 1 to 1000, not %d", o.Count)
	}
	list, _, err := schedulesHere(ctx, a, o.Args...)
	if err != nil {
		return err
	}
	var times []dueTime
	for _, s := range list {
		times = append(times, seq.Map(s.Line.Some(a.now(), o.Count), func(at time.Time) dueTime { return dueTime{s.Name, at} })...)
	}
	none := "never"
	if len(list) == 0 {
		none = noSchedules
	}
	slices.SortStableFunc(times, func(a, b dueTime) int { return a.at.Compare(b.at) })
	return printList(a, times[:min(len(times), o.Count)], o.JSON, dueTime.object, none, nil, func(d dueTime) []term.Cell {
		return cells(nil, dueText(d.at), d.name)
	})
}

// schedulesHere are those of the project, or the one that is named.
func schedulesHere(ctx context.Context, a *app, name ...string) (list []schedule.Schedule, p project.Project, err error) {
	if p, err = a.findProject(); err != nil {
		return nil, p, err
	}
	config, err := a.loadConfig(p.Config())
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

func runScheduleRun(ctx context.Context, a *app, o plainOptions) error {
	list, p, err := schedulesHere(ctx, a, o.Args[0])
	if err != nil {
		return err
	}
	if a.getenv(servedVariable) != "" {
		config, _ := a.loadConfig(p.Config()) // it was read just now
		line, _ := lineOf(a.root, append([]string{"run"}, list[0].Args...))
		if err := refuseWeaker(a, line, config.Serve.Allow); err != nil {
			return err
		}
	}
	self, err := proc.Self()
	if err != nil {
		return fmt.Errorf("look at this process: %w", err)
	}
	free := false
	err = a.record(ctx, func(_ *session, g *dag.Graph) error {
		free = schedule.ByHand(g, list[0], processOf(self), life)
		return g.Tx().Err()
	})
	switch {
	case err != nil:
		return err
	case !free:
		return hint(fmt.Errorf("schedule %s: %w: its last run is still at work", o.Args[0], dag.ErrRefused), "follow it with: ralph watch; or end it with: ralph stop")
	}
	_, err = a.do(ctx, append([]string{"ralph", "--project=" + p.Root, "run"}, list[0].Args...))
	return err
}
