package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/plain"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/schedule"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/report"
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

// findSchedule is by name.
func findSchedule(list []schedule.Schedule, name string) (schedule.Schedule, error) {
	names := seq.Map(list, func(s schedule.Schedule) string { return s.Name })
	if i := slices.Index(names, name); i >= 0 {
		return list[i], nil
	}
	err := fmt.Errorf("schedule %s: %w", name, dag.ErrNotFound)
	if near := plain.Nearest(name, names); near != "" {
		return schedule.Schedule{}, hint(err, "did you mean: %s", near)
	}
	return schedule.Schedule{}, hint(err, "see the names with: ralph schedule list")
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

func runScheduleList(ctx context.Context, a *app, s *session, o plainOptions) error {
	list, err := schedulesOf(ctx, a, s.config)
	if err != nil {
		return err
	}
	lines, err := look(ctx, s, func(g *dag.Graph) (lines []scheduleLine, err error) {
		for i, sc := range list {
			l := scheduleLine{config: s.config.Schedules[i], next: sc.Line.Next(a.now())}
			if l.last, err = schedule.Last(g, sc.Name); err != nil {
				return nil, err
			}
			if l.run, err = schedule.RunOf(g, l.last); err != nil {
				return nil, err
			}
			if l.running, err = schedule.Running(g, l.last, life); err != nil {
				return nil, err
			}
			if l.run.ID != "" {
				l.outcome = report.LineOf(l.run, nil, life, a.now()).Outcome
			}
			lines = append(lines, l)
		}
		return lines, nil
	})
	if err != nil {
		return err
	}
	p := a.palette()
	return printList(a, lines, o.JSON, scheduleLine.object, "no schedules; [[schedule]] in "+project.ConfigName+" makes one", []string{"NAME", "CRON", "NEXT", "LAST"}, func(l scheduleLine) []term.Cell {
		when := strings.TrimSpace(l.config.Cron + " " + l.config.Timezone)
		return []term.Cell{{Text: l.config.Name, Paint: p.Cyan}, {Text: when}, {Text: dueText(l.next)}, {Text: l.became(), Paint: p.Dim}}
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
	f := l.last
	at := f.Due.Local().Format(time.DateTime)
	switch {
	case f.N == 0:
		return "nothing yet"
	case l.running:
		return at + " running"
	case l.run.ID != "":
		return at + " " + l.run.ID + " " + render.OutcomeWord(l.outcome)
	case f.Count > 1:
		return fmt.Sprintf("%s %s %s", at, f.State, human.Count(f.Count, "time"))
	}
	return at + " " + string(f.State) + human.Lead(": ", f.Note)
}

func (l scheduleLine) object() jsonval.Object {
	c, f := l.config, l.last
	var last any
	if f.N > 0 {
		last = jsonval.Object{
			"due", f.Due.UTC(), "at", f.At.UTC(), "state", f.State, "count", f.Count, "note", null(f.Note),
			"running", l.running, "run", null(l.run.ID), "outcome", null(string(l.outcome)),
		}
	}
	return jsonval.Object{
		"name", c.Name, "cron", c.Cron, "timezone", null(c.Timezone), "run", c.Run, "catch_up", c.CatchUp, "next", dueJSON(l.next), "last", last,
	}
}

// dueJSON is null for never.
func dueJSON(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

type scheduleNextOptions struct {
	plainOptions
	Count int
}

func (o *scheduleNextOptions) parse(commandLine) error {
	if o.Count < 1 || o.Count > 1000 {
		return usagef("--count is a number from 1 to 1000, not %d", o.Count)
	}
	return nil
}

// dueTime is a time at which a schedule is due.
type dueTime struct {
	name string
	at   time.Time
}

func (d dueTime) object() jsonval.Object { return jsonval.Object{"name", d.name, "at", d.at} }

func runScheduleNext(ctx context.Context, a *app, o scheduleNextOptions) error {
	list, _, err := schedulesHere(ctx, a)
	if err != nil {
		return err
	}
	if len(o.Args) > 0 {
		s, err := findSchedule(list, o.Args[0])
		if err != nil {
			return err
		}
		list = []schedule.Schedule{s}
	}
	var times []dueTime
	for _, s := range list {
		for _, at := range s.Line.Some(a.now(), o.Count) {
			times = append(times, dueTime{s.Name, at})
		}
	}
	slices.SortStableFunc(times, func(a, b dueTime) int { return a.at.Compare(b.at) })
	return printList(a, times[:min(len(times), o.Count)], o.JSON, dueTime.object, "never", nil, func(d dueTime) []term.Cell {
		return []term.Cell{{Text: dueText(d.at)}, {Text: d.name, Paint: a.palette().Cyan}}
	})
}

// schedulesHere are those of the project, without its graph.
func schedulesHere(ctx context.Context, a *app) ([]schedule.Schedule, project.Project, error) {
	p, err := a.findProject()
	if err != nil {
		return nil, p, err
	}
	config, err := a.loadConfig(p.Config())
	if err != nil {
		return nil, p, err
	}
	list, err := schedulesOf(ctx, a, config)
	return list, p, err
}

func runScheduleRun(ctx context.Context, a *app, o plainOptions) error {
	list, p, err := schedulesHere(ctx, a)
	if err != nil {
		return err
	}
	sc, err := findSchedule(list, o.Args[0])
	if err != nil {
		return err
	}
	self, err := proc.Self()
	if err != nil {
		return fmt.Errorf("look at this process: %w", err)
	}
	free := false
	err = a.record(ctx, func(_ *session, g *dag.Graph) (err error) {
		free, err = schedule.ByHand(g, sc, processOf(self), life)
		return err
	})
	switch {
	case err != nil:
		return err
	case !free:
		return hint(fmt.Errorf("schedule %s: %w: its last run is still at work", sc.Name, dag.ErrRefused), "follow it with: ralph watch; or end it with: ralph stop")
	}
	argv, _, err := permute(a.root, append([]string{"ralph", "--project=" + p.Root, "run"}, sc.Args...))
	if err != nil {
		return err
	}
	return a.cli.RunContext(ctx, argv)
}
