package report

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// The shapes of docs/json.md that several commands print. Keys do not change once released.

// null is shorthand for text that may be absent.
type null = jsonval.NullString

func when(t time.Time) jsonval.Stamp { return jsonval.Stamp{Time: t} }

// Cost is what something cost. A null is unknown, or nothing: Unknown says which.
type Cost struct {
	CostUSD   *float64 `json:"cost_usd"`
	Estimated bool     `json:"cost_estimated"`
	Unknown   bool     `json:"cost_unknown"`
}

// CostOf takes the cost out of what was used.
func CostOf(u event.Usage) Cost { return Cost{u.CostUSD, u.Estimated, u.Unknown} }

// String is the amount and how sure it is; empty if nothing was spent.
func (c Cost) String() string {
	if c.CostUSD == nil && c.Unknown {
		return "unknown"
	}
	return render.Cost(event.Usage{CostUSD: c.CostUSD, Estimated: c.Estimated, Unknown: c.Unknown})
}

// TaskView is a task with what its own row does not hold.
type TaskView struct {
	dag.Task
	Ready       bool
	Blockers    []string
	Children    []string
	MaxRetries  int
	Related     []string
	LastFailure string // "" once it was overcome; the history has it
}

// MarshalJSON writes the task.
func (v TaskView) MarshalJSON() ([]byte, error) { return v.Object().MarshalJSON() }

var taskKeys = jsonval.Fields[TaskView](`id title description status ready priority parent? feature? blockers children kind agent? model? effort?
	gates locks paths tags proves related context output? timeout_ms=Timeout? on_fail? origin? discovered_from? may_change expect_red? satisfied retries max_retries attempts verification? unverified? stands_on? claimed_by=Owner?
	not_before paused asks last_failure? created_at updated_at started_at finished_at`)

// Object is the task as it is printed.
func (v TaskView) Object() jsonval.Object { return taskKeys(v) }

// ViewTasks adds to tasks what their own rows do not hold. retries is what a task has that
// sets none.
func ViewTasks(g *dag.Graph, retries int, now time.Time, tasks ...dag.Task) ([]TaskView, error) {
	list := make([]TaskView, len(tasks))
	for i, t := range tasks {
		blockers, _, _ := g.BlockerIDs(t)
		var children []dag.Task
		if t.Children > 0 {
			children, _ = g.ChildTasks(t)
		}
		related, _ := g.Related(t)
		list[i] = TaskView{Task: t, Ready: t.Ready(now), Blockers: jsonval.List(blockers), Children: IDs(children), Related: IDs(related), MaxRetries: retries}
		if t.MaxRetries != nil {
			list[i].MaxRetries = *t.MaxRetries
		}
		if t.Status != dag.Done {
			list[i].LastFailure, _ = g.LastFailure(t)
		}
	}
	return list, g.Tx().Err()
}

// IDs lists the IDs of tasks.
func IDs(tasks []dag.Task) []string {
	return seq.Map(tasks, func(t dag.Task) string { return t.ID })
}

// ViewRequest is a question, a permission or a message, and its answer.
func ViewRequest(r inbox.Request) jsonval.Object {
	return append(viewRequest(r), "variable", jsonval.Text(r.Variable()))
}

var viewRequest = jsonval.Fields[inbox.Request](`id kind state task? attempt? run? sender text options default? parks at expires_at?
	answer? denied answered_at? answered_by? answered_via? reason? received_by? received_at? changeable`)

// FeatureView is a feature with its folder.
type FeatureView struct {
	dag.Feature
	Folder string
}

// MarshalJSON writes the feature.
func (v FeatureView) MarshalJSON() ([]byte, error) { return v.Object().MarshalJSON() }

// Object is the feature as it is printed.
func (v FeatureView) Object() jsonval.Object {
	return jsonval.Object{
		"id", v.ID,
		"name", v.Name,
		"status", v.Status,
		"tasks", AllStatuses(v.Tasks),
		"total", v.Total(),
		"folder", v.Folder,
		"created_at", v.CreatedAt,
	}
}

// AllStatuses adds those that no task has.
func AllStatuses(by map[dag.Status]int) map[dag.Status]int {
	all := map[dag.Status]int{}
	for _, s := range dag.Statuses() {
		all[s] = by[s]
	}
	return all
}

// WhyView is why a task is not running.
type WhyView struct {
	dag.Task
	Ready   bool
	Reasons []dag.Reason
}

var (
	whyKeys    = jsonval.Fields[WhyView](`id status ready unverified?`)
	reasonKeys = jsonval.Fields[dag.Reason](`kind task? text until`)
)

// MarshalJSON writes the task and the reasons.
func (v WhyView) MarshalJSON() ([]byte, error) {
	return append(whyKeys(v), "reasons", seq.Map(v.Reasons, reasonKeys)).MarshalJSON()
}

var (
	triedBegin = jsonval.Fields[dag.Attempt](`id run agent? model? started_at ended_at outcome? reason? rejected?`)
	triedEnd   = jsonval.Fields[dag.Attempt](`sandbox? gates verdict?`)
)

// ViewAttempts are attempts with what verified them, as task show prints them; runs is the folder of all runs.
func ViewAttempts(runs string, attempts []dag.Attempt) []jsonval.Object {
	return seq.Map(attempts, func(at dag.Attempt) jsonval.Object {
		return slices.Concat(triedBegin(at), Used(at.Usage), triedEnd(at), jsonval.Object{"evidence", EvidenceOf(runs, at), "pruned_at", at.PrunedAt})
	})
}

// EvidenceOf lists the files that show how an attempt was verified.
func EvidenceOf(runs string, at dag.Attempt) []string {
	paths, _ := filepath.Glob(filepath.Join(runs, at.Run, at.ID, "verify*"))
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			paths[i] = filepath.Join(path, "transcript.jsonl")
		}
	}
	return paths
}
