package web

import (
	"fmt"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/report"
)

// overview is the first page.
type overview struct {
	report.Overview
	Verdict mark   // how it goes, in a sentence
	Also    string // what else is to be known at once
	Asks    []request
	Working []working
	Fails   []failure
	Review  []dag.Merge
	Spent   string // today
	Limit   float64
	Share   float64 // of the limit, from 0 to 1
	New     newTask
}

// share is how many tasks are so.
type share struct {
	mark
	Status string // as the list of tasks is asked for it
	N      int
	X, W   int // of 1000, in a bar
}

// Shares are the tasks by state, the good news first.
func (o overview) Shares() (list []share) {
	x := 0
	add := func(state, status string, n int) {
		if n > 0 {
			w := n * 1000 / o.Total
			list = append(list, share{markOf(state), status, n, x, max(w, 2)})
			x += w
		}
	}
	add("done", "done", o.Counts[dag.Done])
	add("running", "in_progress", o.Counts[dag.InProgress])
	add("failed", "failed", o.Counts[dag.Failed])
	add("blocked", "blocked", o.Counts[dag.Blocked])
	add("ready", "ready", o.Ready)
	add("waiting", "pending", o.Counts[dag.Pending]-o.Ready)
	add("cancelled", "cancelled", o.Counts[dag.Cancelled])
	return list
}

// working is an attempt that an agent is at.
type working struct {
	dag.Attempt
	Title string
	Took  time.Duration
}

// failure is a task that failed, and why.
type failure struct {
	dag.Task
	Why string
}

func loadOverview(v *visit) (any, error) {
	c := v.project.Config
	o := overview{Limit: c.Budget.Day.MaxCostUSD}
	var err error
	o.Overview, err = report.LoadOverview(v.g, report.OverviewOptions{
		Life: v.opts.Life, Now: v.now, MaxRetries: c.Run.MaxRetries, Folder: v.project.Feature,
		Day: limits(c.Budget.Day), Feature: limits(c.Budget.Feature),
	})
	if err != nil {
		return nil, err
	}
	asked, _ := inbox.Waiting(v.g) // the first error of the database is that of all that follow
	o.Asks = v.requests(asked)
	o.Review, _ = v.g.Queue.ToReview()
	titles := map[string]string{}
	for _, t := range o.Running {
		titles[t.ID] = t.Title
	}
	for _, r := range o.Runs {
		for _, at := range r.Attempts {
			o.Working = append(o.Working, working{at, titles[at.Task], v.now.Sub(at.StartedAt)})
		}
	}
	for _, t := range o.Failed {
		if why, _ := v.g.Tasks.LastFailure(t); t.Children == 0 || t.GivenUp { // a group fails with what is below it
			o.Fails = append(o.Fails, failure{t, why})
		}
	}
	used, err := v.g.History.UsageSince(budget.Midnight(v.now), "")
	if cost := report.CostOf(used.Usage); cost.String() != "" {
		o.Spent = cost.String()
		if o.Limit > 0 && cost.CostUSD != nil {
			o.Share = min(*cost.CostUSD/o.Limit, 1)
		}
	}
	for _, f := range o.Features {
		o.New.Features = append(o.New.Features, f.Name)
	}
	o.judge()
	return o, err
}

// limits are those of a configured budget.
func limits(b project.SharedBudget) budget.Limits {
	return budget.Limits{
		CostUSD: b.MaxCostUSD, Tokens: b.MaxTokens, Iterations: b.MaxIterations, Duration: b.MaxDuration.Std(), Failures: b.MaxFailures,
	}
}

// judge says whether it goes well: what needs a person first, then what failed.
func (o *overview) judge() {
	failed, done := o.Counts[dag.Failed], o.Counts[dag.Done]
	left := o.Total - done - o.Counts[dag.Cancelled] - failed
	asks := len(o.Asks) + len(o.Review)
	running := fmt.Sprintf("%s at work, %d of %s done", human.Count(len(o.Working), "agent"), done, human.Count(o.Total, "task"))
	died := 0
	for _, r := range o.Runs {
		if r.State == report.StateDied {
			died++
		}
	}
	switch {
	case o.Total == 0:
		o.Verdict = mark{"Nothing is planned yet", "○", "open"}
	case asks > 0:
		o.Verdict = mark{human.Count(asks, "answer") + " needed from you", "?", "again"}
	case failed > 0:
		o.Verdict = mark{human.Count(failed, "task") + " failed", "✗", "failed"}
	case died > 0:
		o.Verdict = mark{"A run has died", "✗", "failed"}
	case len(o.Runs) > 0:
		o.Verdict = mark{"Running", "▶", "running"}
	case left == 0:
		o.Verdict = mark{"All done", "✓", "done"}
	case o.Ready > 0:
		o.Verdict = mark{fmt.Sprintf("%s ready, nothing is running", human.Count(o.Ready, "task")), "○", "open"}
	default:
		o.Verdict = mark{"Nothing can run", "!", "again"}
	}
	if o.Total > 0 {
		o.Also = fmt.Sprintf("%d of %s done%s", done, human.Count(o.Total, "task"), map[bool]string{true: fmt.Sprintf(", %d left", left)}[left > 0])
		if len(o.Runs) > 0 {
			o.Also = running
		}
	}
}

// FailedCount is how many tasks failed.
func (o overview) FailedCount() int { return o.Counts[dag.Failed] }
