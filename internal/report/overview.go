package report

import (
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
)

// OverviewTasks is how many tasks of each sort an overview lists, but for running ones.
const OverviewTasks = 10

// Overview is the state of a project: what runs, what is next, what waits and why, and what
// was spent.
type Overview struct {
	Counts   map[dag.Status]int `json:"counts"`
	Total    int                `json:"total"`
	Groups   int                `json:"groups"`
	Ready    int                `json:"ready"`
	Waiting  int                `json:"waiting"`
	NextWait jsonval.Stamp      `json:"next_wait"`
	Paused   jsonval.Stamp      `json:"paused"`
	Limits   []AgentLimit       `json:"limits"`
	UsedUp   []string           `json:"used_up"` // budgets
	Runs     []OpenRun          `json:"runs"`
	Running  []TaskView         `json:"running"`
	Queue    []QueueView        `json:"queue"` // work that is to land, in its order
	Stale    []string           `json:"stale"` // claimed by a run that died
	Next     []TaskView         `json:"next"`
	Held     []WhyView          `json:"held"`
	Asked    []jsonval.Object   `json:"questions"` // that wait for an answer, the oldest first
	Features []FeatureView      `json:"features"`
	Cost                        // of all runs, and of planning

	Tally    dag.Tally  `json:"-"`
	Failed   []dag.Task `json:"-"`
	MoreHeld bool       `json:"-"` // than Held lists
}

// AgentLimit is an agent that is rate-limited until then.
type AgentLimit struct {
	Agent  string        `json:"agent"`
	Until  jsonval.Stamp `json:"until"`
	Reason string        `json:"reason"`
}

// OpenRun is a run that has not ended, as far as is known, with the attempts in progress.
type OpenRun struct {
	dag.Run         // its iterations are its own
	State    string // running, stopping, died or unknown
	Attempts []dag.Attempt
}

// QueueView is work that is to land.
type QueueView struct{ dag.Merge }

// MarshalJSON writes the entry.
func (q QueueView) MarshalJSON() ([]byte, error) {
	return jsonval.Object{
		"n", q.N, "task", q.Task, "attempt", q.Attempt, "target", q.Target, "state", q.State, "onto", null(q.Onto), "commit", null(q.Candidate),
		"reason", null(q.Reason), "queued_at", q.At,
	}.MarshalJSON()
}

// What is said of runs that do not simply run.
const (
	StateDied    = "died"    // its process is gone
	StateWaiting = "waiting" // it follows the plan, and nothing can run
)

// MarshalJSON writes the run and how far its attempts have come. A slot of null is the project's own folder.
func (r OpenRun) MarshalJSON() ([]byte, error) {
	attempts := seq.Map(r.Attempts, func(at dag.Attempt) jsonval.Object {
		var slot any
		if at.Slot != 0 {
			slot = at.Slot
		}
		return append(jsonval.Object{
			"id", at.ID, "task", at.Task, "phase", at.Phase, "iteration", at.Iteration, "slot", slot, "agent", null(at.Agent), "model", null(at.Model),
			"started_at", at.StartedAt, "heartbeat_at", at.Heartbeat,
		}, Used(at.Usage)...)
	})
	return jsonval.Object{
		"id", r.ID, "feature", null(r.Scope.Feature), "task", null(r.Scope.Task), "tag", null(r.Scope.Tag), "pid", r.Process.PID, "state", r.State,
		"started_at", r.StartedAt, "heartbeat_at", r.Heartbeat, "iterations", r.Iterations, "attempts", attempts,
	}.MarshalJSON()
}

// OverviewOptions are what an overview needs besides the graph.
type OverviewOptions struct {
	Life         func(dag.Process) dag.Life
	Now          time.Time
	MaxRetries   int // of a task that sets none
	Folder       func(feature string) string
	Day, Feature budget.Limits
}

// LoadOverview reads the state of the project. It reads on after an error of the database: the
// first one ends the transaction, whatever is read then.
func LoadOverview(g *dag.Graph, opts OverviewOptions) (Overview, error) {
	tally, _ := g.Tasks.Tally(dag.Scope{})
	control, _ := g.Queue.Control("")
	used, _ := g.History.Usage()
	o := Overview{
		Counts: AllStatuses(tally.ByStatus), Total: tally.Total(), Groups: tally.TotalGroups(), Ready: tally.Ready, Waiting: tally.Waiting,
		NextWait: when(tally.NextWait), Paused: when(control.PausedAt), Limits: []AgentLimit{}, Held: []WhyView{}, Features: []FeatureView{},
		Cost: CostOf(used), Tally: tally,
	}
	limits, _ := g.Queue.AgentLimits()
	for _, l := range limits {
		o.Limits = append(o.Limits, AgentLimit{l.Agent, when(l.Until), l.Reason})
	}
	features, _ := g.Plan.Features()
	for _, f := range features {
		o.Features = append(o.Features, FeatureView{f, opts.Folder(f.Name)})
	}
	o.UsedUp, o.Runs = usedUp(g, features, opts), openRuns(g, opts.Life)
	asked, _ := inbox.Waiting(g)
	o.Asked = seq.Map(asked, ViewRequest)
	queue, _ := g.Queue.OpenMerges("")
	o.Queue = seq.Map(queue, func(m dag.Merge) QueueView { return QueueView{m} })
	return o, o.tasks(g, opts)
}

func (o *Overview) tasks(g *dag.Graph, opts OverviewOptions) error {
	running, _ := g.Tasks.List(dag.Filter{Statuses: []dag.Status{dag.InProgress}})
	o.Running, _ = ViewTasks(g, opts.MaxRetries, opts.Now, running...)
	stale, err := g.Queue.Stale(opts.Life)
	if err != nil {
		return err
	}
	o.Stale = IDs(stale)
	next, _ := g.Tasks.List(dag.Filter{Ready: true, Limit: OverviewTasks})
	o.Next, _ = ViewTasks(g, opts.MaxRetries, opts.Now, next...)
	o.Failed, _ = g.Tasks.List(dag.Filter{Statuses: []dag.Status{dag.Failed}, Limit: OverviewTasks})
	held, _ := g.Tasks.Kept(OverviewTasks + 1)
	if len(held) > OverviewTasks {
		held, o.MoreHeld = held[:OverviewTasks], true
	}
	for _, t := range held {
		reasons, err := g.Tasks.Why(t)
		if err != nil {
			return err
		}
		o.Held = append(o.Held, WhyView{t, t.Ready(opts.Now), reasons})
	}
	return g.Tx().Err()
}

// usedUp lists the budgets that are used up, of the day and of features that have tasks left:
// no run starts what is ready there.
func usedUp(g *dag.Graph, features []dag.Feature, opts OverviewOptions) []string {
	var accounts []budget.Account
	if opts.Day != (budget.Limits{}) {
		used, _ := g.History.UsageSince(budget.Midnight(opts.Now), "")
		accounts = append(accounts, budget.Account{Scope: budget.Day, Limits: opts.Day, Used: budget.Settled(used)})
	}
	for _, f := range features {
		if opts.Feature == (budget.Limits{}) || f.Tasks[dag.Done]+f.Tasks[dag.Failed]+f.Tasks[dag.Cancelled] == f.Total() {
			continue
		}
		used, _ := g.History.UsageOfFeature(f.Name, "")
		accounts = append(accounts, budget.Account{Scope: budget.Feature, Name: f.Name, Limits: opts.Feature, Used: budget.Settled(used)})
	}
	over, _ := budget.Check(opts.Now, accounts...)
	return seq.Map(over, func(f budget.Finding) string {
		return fmt.Sprintf("%s; allow more with [budget.%s] in .ralph.toml", f.Text, f.Scope)
	})
}

func openRuns(g *dag.Graph, life func(dag.Process) dag.Life) []OpenRun {
	list := []OpenRun{}
	runs, _ := g.History.OpenRuns()
	if len(runs) == 0 {
		return list
	}
	attempts, _ := g.History.OpenAttempts()
	for _, run := range runs {
		control, _ := g.Queue.Control(run.ID)
		run.Iterations, _ = g.History.OwnIterations(run.ID)
		open := OpenRun{Run: run, State: "running"}
		switch known := life(run.Process); {
		case known == dag.Dead:
			open.State = StateDied
		case control.Stop != "":
			open.State = "stopping"
		case known == dag.Unknown:
			open.State = "unknown"
		case run.Follows() && !slices.ContainsFunc(attempts, func(at dag.Attempt) bool { return at.Run == run.ID }):
			open.State = StateWaiting
		}
		for _, at := range attempts {
			if at.Run == run.ID {
				open.Attempts = append(open.Attempts, at)
			}
		}
		list = append(list, open)
	}
	return list
}
