package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/term"
)

func (a *app) statusCommand() command {
	return command{
		name: "status", short: "say what runs, what is next, what waits and why, and what was spent",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph status\nralph status --json | jq .counts",
		run:     a.runStatus,
	}
}

type statusJSON struct {
	Counts   map[string]int `json:"counts"`
	Total    int            `json:"total"`
	Groups   int            `json:"groups"`
	Ready    int            `json:"ready"`
	Waiting  int            `json:"waiting"`
	NextWait *string        `json:"next_wait"`
	Paused   *string        `json:"paused"`
	Limits   []limitJSON    `json:"limits"`
	UsedUp   []string       `json:"used_up"`
	Runs     []runJSON      `json:"runs"`
	Running  []taskJSON     `json:"running"`
	Stale    []string       `json:"stale"`
	Next     []taskJSON     `json:"next"`
	Held     []whyJSON      `json:"held"`
	Features []featureJSON  `json:"features"`
	spentJSON
}

// limitJSON is an agent whose provider has no room until then.
type limitJSON struct {
	Agent  string  `json:"agent"`
	Until  *string `json:"until"`
	Reason string  `json:"reason"`
}

// shownTasks is how many tasks of each sort the status lists.
const shownTasks = 10

// overview is what the status tells, before it is put into words.
type overview struct {
	tally    dag.Tally
	paused   time.Time // since when the project is paused
	limits   []dag.AgentLimit
	usedUp   []string // budgets
	runs     []openRun
	running  []dag.Task
	stale    []dag.Task // claimed by a run that has died
	next     []dag.Task
	failed   []dag.Task
	held     []dag.Task
	more     bool // than held lists
	reasons  map[string][]dag.Reason
	features []dag.Feature
	spent    spentJSON // by all runs, and for planning
}

func (a *app) runStatus(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	return a.view(c.Context, func(s *session, g *dag.Graph) error {
		o, err := a.overview(s, g)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			j, err := a.statusAsJSON(s, g, o)
			if err != nil {
				return err
			}
			return a.printJSON(j)
		}
		return a.printStatus(s, o)
	})
}

func (a *app) overview(s *session, g *dag.Graph) (o overview, err error) {
	if o.tally, err = g.Tally(dag.Scope{}); err != nil {
		return o, err
	}
	control, err := g.Control("")
	if err != nil {
		return o, err
	}
	o.paused = control.PausedAt
	if o.limits, err = g.AgentLimits(); err != nil {
		return o, err
	}
	if o.runs, err = openRuns(g); err != nil {
		return o, err
	}
	if o.running, err = g.List(dag.Filter{Statuses: []dag.Status{dag.InProgress}}); err != nil {
		return o, err
	}
	if o.stale, err = g.Stale(life); err != nil {
		return o, err
	}
	if o.next, err = g.List(dag.Filter{Ready: true, Limit: shownTasks}); err != nil {
		return o, err
	}
	if o.failed, err = g.List(dag.Filter{Statuses: []dag.Status{dag.Failed}, Limit: shownTasks}); err != nil {
		return o, err
	}
	if o.features, err = g.Features(); err != nil {
		return o, err
	}
	if o.usedUp, err = a.usedUp(s, g, o.features); err != nil {
		return o, err
	}
	used, err := g.UsageSince(time.UnixMilli(0), "")
	if err != nil {
		return o, err
	}
	o.spent = spentOf(used.Usage)
	held := dag.Filter{Held: true, Statuses: []dag.Status{dag.Pending, dag.Blocked}, Limit: shownTasks + 1}
	if o.held, err = g.List(held); err != nil {
		return o, err
	}
	if len(o.held) > shownTasks {
		o.held, o.more = o.held[:shownTasks], true
	}
	o.reasons = map[string][]dag.Reason{}
	for _, t := range o.held {
		if o.reasons[t.ID], err = g.Why(t); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (a *app) statusAsJSON(s *session, g *dag.Graph, o overview) (statusJSON, error) {
	j := statusJSON{
		Counts: counts(o.tally.ByStatus), Total: o.tally.Total(), Groups: o.tally.TotalGroups(), Ready: o.tally.Ready, Waiting: o.tally.Waiting,
		NextWait: timeOrNil(o.tally.NextWait), Stale: ids(o.stale), Held: []whyJSON{}, Features: []featureJSON{},
		Paused: timeOrNil(o.paused), Limits: []limitJSON{}, UsedUp: o.usedUp, Runs: []runJSON{}, spentJSON: o.spent,
	}
	for _, l := range o.limits {
		j.Limits = append(j.Limits, limitJSON{Agent: l.Agent, Until: timeOrNil(l.Until), Reason: l.Reason})
	}
	for _, r := range o.runs {
		j.Runs = append(j.Runs, r.asJSON())
	}
	var err error
	if j.Running, err = allJSON(s, g, o.running, a.now()); err != nil {
		return j, err
	}
	if j.Next, err = allJSON(s, g, o.next, a.now()); err != nil {
		return j, err
	}
	for _, t := range o.held {
		j.Held = append(j.Held, whyAsJSON(t, o.reasons[t.ID], a.now()))
	}
	for _, f := range o.features {
		j.Features = append(j.Features, featureAsJSON(s, f))
	}
	return j, nil
}

func (a *app) printStatus(s *session, o overview) error {
	p := a.palette()
	var b strings.Builder
	if o.tally.Total() == 0 {
		_, err := fmt.Fprint(a.stdout, term.WrapLines(a.noPlan(s)+"\n", a.width))
		return err
	}
	what := human.Count(o.tally.Total(), "task")
	if n := o.tally.TotalGroups(); n > 0 {
		what += " and " + human.Count(n, "group")
	}
	fmt.Fprintf(&b, "%s: %s\n", p.Bold(what), summary(o.tally))
	if text := o.spent.String(); text != "" {
		fmt.Fprintf(&b, "cost so far: %s\n", text)
	}
	if !o.paused.IsZero() {
		fmt.Fprintf(&b, "%s\n", p.Yellow("paused since "+o.paused.Local().Format(time.DateTime)+"; go on with: ralph resume"))
	}
	for _, l := range o.limits {
		text := fmt.Sprintf("%s has no room until %s: %s; ask it again before with: ralph resume", l.Agent, l.Until.Local().Format(time.DateTime), l.Reason)
		fmt.Fprintf(&b, "%s\n", p.Yellow(term.Line(text)))
	}
	for _, text := range o.usedUp {
		fmt.Fprintf(&b, "%s\n", p.Yellow("a budget is used up: "+text))
	}
	a.runsSection(&b, p, o.runs)
	b.WriteString(taskSection(a, "Running", o.running))
	for _, t := range o.stale {
		fmt.Fprintf(&b, "  %s: %s\n", t.ID, p.Yellow(dag.DiedText))
	}
	b.WriteString(taskSection(a, "Next", o.next))
	for _, t := range o.next {
		if t.AwaitsVerdict() {
			fmt.Fprintf(&b, "  %s: %s\n", t.ID, unverifiedText)
		}
	}
	if more := o.tally.Ready - len(o.next); more > 0 {
		fmt.Fprintf(&b, "  and %d more: ralph task list --ready\n", more)
	}
	a.heldSection(&b, p, o)
	if len(o.failed) > 0 {
		b.WriteString(taskSection(a, "Failed", o.failed))
		b.WriteString("  try again with: ralph task reset --failed\n")
	}
	if len(o.features) > 0 {
		b.WriteString("\nFeatures\n")
		for _, f := range o.features {
			fmt.Fprintf(&b, "  %s  %s  %s\n", p.Cyan(f.Name), featurePaint(p, f.Status)(string(f.Status)), progress(f))
		}
	}
	_, err := fmt.Fprint(a.stdout, term.WrapLines(a.redact.Text(b.String()), a.width))
	return err
}

func (a *app) heldSection(b *strings.Builder, p term.Palette, o overview) {
	if len(o.held) == 0 {
		return
	}
	b.WriteString("\nWaiting\n")
	for _, t := range o.held {
		fmt.Fprintf(b, "  %s  %s\n", p.Cyan(t.ID), term.Cut(term.Line(t.Title), 60))
		if t.AwaitsVerdict() {
			fmt.Fprintf(b, "      %s\n", p.Dim(unverifiedText))
		}
		for i, r := range o.reasons[t.ID] {
			if i == 3 {
				fmt.Fprintf(b, "      and %d more: ralph task why %s\n", len(o.reasons[t.ID])-i, t.ID)
				break
			}
			fmt.Fprintf(b, "      %s\n", p.Dim(term.Line(reasonText(r, a.now()))))
		}
	}
	if o.more {
		b.WriteString("  and more: ralph task list\n")
	}
}

// summary says the counts that are not zero, the good news first.
func summary(t dag.Tally) string {
	var parts []string
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	add(t.ByStatus[dag.Done], "done")
	add(t.ByStatus[dag.InProgress], "running")
	add(t.Ready, "ready")
	add(t.ByStatus[dag.Pending]-t.Ready, "waiting")
	add(t.ByStatus[dag.Blocked], "blocked")
	add(t.ByStatus[dag.Failed], "failed")
	if !t.NextWait.IsZero() {
		parts = append(parts, "the next wait ends at "+t.NextWait.Local().Format(time.TimeOnly))
	}
	return strings.Join(parts, ", ")
}
