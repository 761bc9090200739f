package report

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
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

// Object is the task as it is printed: the keys of a Detail, and others after some of them.
func (v TaskView) Object() jsonval.Object {
	more := map[string]jsonval.Object{
		"description": {"status", v.Status, "ready", v.Ready},
		"priority":    {"parent", null(v.Parent), "feature", null(v.Feature), "blockers", v.Blockers, "children", v.Children},
		"proves":      {"related", v.Related},
	}
	o := jsonval.Object{"id", v.ID}
	for _, f := range dag.Fields {
		if f.Name != "max_retries" { // the number that counts comes later
			o = append(o, f.JSONKey(), f.JSON(v.Detail))
		}
		o = append(o, more[f.Name]...)
	}
	return append(o,
		"origin", null(v.Origin), "discovered_from", null(v.DiscoveredFrom), "satisfied", v.Satisfied,
		"retries", v.Retries, "max_retries", v.MaxRetries, "attempts", v.Attempts, "verification", null(v.Verification),
		"unverified", null(v.Unverified), "stands_on", null(v.StandsOn), "claimed_by", null(v.Owner), "not_before", v.NotBefore,
		"paused", v.Paused, "asks", v.Asks, "last_failure", null(v.LastFailure),
		"created_at", v.CreatedAt, "updated_at", v.UpdatedAt, "started_at", v.StartedAt, "finished_at", v.FinishedAt)
}

// ViewTasks adds to tasks what their own rows do not hold. retries is what a task has that
// sets none.
func ViewTasks(g *dag.Graph, retries int, now time.Time, tasks ...dag.Task) ([]TaskView, error) {
	list := make([]TaskView, len(tasks))
	for i, t := range tasks {
		blockers, _, _ := g.Tasks.BlockerIDs(t)
		var children []dag.Task
		if t.Children > 0 {
			children, _ = g.Tasks.Children(t)
		}
		related, _ := g.Tasks.Related(t)
		list[i] = TaskView{Task: t, Ready: t.Ready(now), Blockers: jsonval.List(blockers), Children: IDs(children), Related: IDs(related), MaxRetries: retries}
		if t.MaxRetries != nil {
			list[i].MaxRetries = *t.MaxRetries
		}
		if t.Status != dag.Done {
			list[i].LastFailure, _ = g.Tasks.LastFailure(t)
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
	return jsonval.Object{
		"id", r.ID, "kind", r.Kind, "state", r.State, "task", null(r.Task), "attempt", null(r.Attempt), "run", null(r.Run), "sender", r.Sender,
		"text", r.Text, "options", r.Options, "default", null(r.Default), "parks", r.Parks, "at", r.At, "expires_at", r.ExpiresAt,
		"answer", null(r.Answer), "denied", r.Denied, "answered_at", r.AnsweredAt, "answered_by", null(r.AnsweredBy),
		"answered_via", null(r.AnsweredVia), "reason", null(r.Reason), "received_by", null(r.ReceivedBy), "received_at", r.ReceivedAt,
		"changeable", r.Changeable, "variable", null(r.Variable()),
	}
}

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

// MarshalJSON writes the task and the reasons.
func (v WhyView) MarshalJSON() ([]byte, error) {
	reasons := seq.Map(v.Reasons, func(r dag.Reason) jsonval.Object {
		return jsonval.Object{"kind", r.Kind, "task", null(r.Task), "text", r.Text, "until", r.Until}
	})
	return jsonval.Object{"id", v.ID, "status", v.Status, "ready", v.Ready, "unverified", null(v.Unverified), "reasons", reasons}.MarshalJSON()
}

// ViewAttempts are attempts with what verified them, as task show prints them; runs is the folder of all runs.
func ViewAttempts(runs string, attempts []dag.Attempt) []jsonval.Object {
	return seq.Map(attempts, func(at dag.Attempt) jsonval.Object {
		return slices.Concat(
			jsonval.Object{
				"id", at.ID, "run", at.Run, "agent", null(at.Agent), "model", null(at.Model), "started_at", at.StartedAt, "ended_at", at.EndedAt,
				"outcome", null(at.Outcome), "reason", null(at.Reason), "rejected", null(at.Rejected),
			}, Used(at.Usage),
			jsonval.Object{
				"sandbox", null(at.Sandbox), "gates", at.Gates, "verdict", null(at.Verdict), "evidence", EvidenceOf(runs, at), "pruned_at", at.PrunedAt,
			})
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
