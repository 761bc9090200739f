package report

import (
	"os"
	"path/filepath"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/jsonval"
	"ralph/internal/render"
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
	ID           string             `json:"id"`
	Title        string             `json:"title"`
	Description  string             `json:"description"`
	Status       dag.Status         `json:"status"`
	Ready        bool               `json:"ready"`
	Priority     int64              `json:"priority"`
	Parent       jsonval.NullString `json:"parent"`
	Feature      jsonval.NullString `json:"feature"`
	Blockers     []string           `json:"blockers"`
	Children     []string           `json:"children"`
	Kind         dag.Kind           `json:"kind"`
	Agent        jsonval.NullString `json:"agent"`
	Model        jsonval.NullString `json:"model"`
	Gates        []string           `json:"gates"`
	Tampering    bool               `json:"allow_tampering"`
	Retries      int                `json:"retries"`
	MaxRetries   int                `json:"max_retries"`
	Attempts     int                `json:"attempts"`
	Verification jsonval.NullString `json:"verification"`
	Unverified   jsonval.NullString `json:"unverified"`
	ClaimedBy    jsonval.NullString `json:"claimed_by"`
	NotBefore    jsonval.Stamp      `json:"not_before"`
	Paused       bool               `json:"paused"`
	LastFailure  jsonval.NullString `json:"last_failure"`
	CreatedAt    jsonval.Stamp      `json:"created_at"`
	UpdatedAt    jsonval.Stamp      `json:"updated_at"`
	StartedAt    jsonval.Stamp      `json:"started_at"`
	FinishedAt   jsonval.Stamp      `json:"finished_at"`

	Task dag.Task `json:"-"`
}

// ViewTasks adds to tasks what their own rows do not hold. retries is what a task has that
// sets none.
func ViewTasks(g *dag.Graph, retries int, now time.Time, tasks ...dag.Task) ([]TaskView, error) {
	list := make([]TaskView, len(tasks))
	for i, t := range tasks {
		blockers, err := g.Blockers(t)
		if err != nil {
			return nil, err
		}
		children, err := g.ChildTasks(t)
		if err != nil {
			return nil, err
		}
		failure, err := g.LastFailure(t)
		if err != nil {
			return nil, err
		}
		if t.Status == dag.Done {
			failure = "" // it was overcome; the history has it
		}
		list[i] = TaskView{
			ID: t.ID, Title: t.Title, Description: t.Description, Status: t.Status, Ready: t.Ready(now), Priority: t.Priority,
			Parent: null(t.Parent), Feature: null(t.Feature), Blockers: IDs(blockers), Children: IDs(children), Kind: t.Kind,
			Agent: null(t.Agent), Model: null(t.Model), Gates: jsonval.List(t.Gates), Tampering: t.AllowTampering,
			Retries: t.Retries, MaxRetries: retries, Attempts: t.Attempts, Verification: null(t.Verification),
			Unverified: null(t.Unverified), ClaimedBy: null(t.Owner), NotBefore: when(t.NotBefore), Paused: t.Paused,
			LastFailure: null(failure), CreatedAt: when(t.CreatedAt), UpdatedAt: when(t.UpdatedAt),
			StartedAt: when(t.StartedAt), FinishedAt: when(t.FinishedAt), Task: t,
		}
		if t.MaxRetries != nil {
			list[i].MaxRetries = *t.MaxRetries
		}
	}
	return list, nil
}

// IDs lists the IDs of tasks.
func IDs(tasks []dag.Task) []string {
	list := make([]string, len(tasks))
	for i, t := range tasks {
		list[i] = t.ID
	}
	return list
}

// FeatureView is a feature with its folder.
type FeatureView struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Status    dag.FeatureStatus  `json:"status"`
	Tasks     map[dag.Status]int `json:"tasks"`
	Total     int                `json:"total"`
	Folder    string             `json:"folder"`
	CreatedAt jsonval.Stamp      `json:"created_at"`

	Feature dag.Feature `json:"-"`
}

// ViewFeature adds its folder to a feature.
func ViewFeature(f dag.Feature, folder string) FeatureView {
	return FeatureView{
		ID: f.ID, Name: f.Name, Status: f.Status, Tasks: AllStatuses(f.Tasks), Total: f.Total(),
		Folder: folder, CreatedAt: when(f.CreatedAt), Feature: f,
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
	reasons := []jsonval.Object{}
	for _, r := range v.Reasons {
		reasons = append(reasons, jsonval.Object{"kind", r.Kind, "task", null(r.Task), "text", r.Text, "until", r.Until})
	}
	return jsonval.Object{"id", v.ID, "status", v.Status, "ready", v.Ready, "unverified", null(v.Unverified), "reasons", reasons}.MarshalJSON()
}

// ViewAttempts are attempts with what verified them, as task show prints them; runs is the folder of all runs.
func ViewAttempts(runs string, attempts []dag.Attempt) []jsonval.Object {
	list := []jsonval.Object{}
	for _, at := range attempts {
		list = append(list, jsonval.Object{
			"id", at.ID, "run", at.Run, "agent", null(at.Agent), "model", null(at.Model), "started_at", at.StartedAt, "ended_at", at.EndedAt,
			"outcome", null(at.Outcome), "reason", null(at.Reason), "cost_usd", at.CostUSD, "cost_estimated", at.Estimated,
			"cost_unknown", at.Unknown, "sandbox", null(at.Sandbox), "gates", at.Gates, "verdict", null(at.Verdict),
			"evidence", EvidenceOf(runs, at), "pruned_at", at.PrunedAt, // when its files were removed
		})
	}
	return list
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
