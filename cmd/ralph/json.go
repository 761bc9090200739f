package main

import (
	"time"

	"ralph/dag"
)

// The JSON shapes of docs/json.md. Keys do not change once released.

type taskJSON struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Status       string   `json:"status"`
	Ready        bool     `json:"ready"`
	Priority     int64    `json:"priority"`
	Parent       *string  `json:"parent"`
	Feature      *string  `json:"feature"`
	Blockers     []string `json:"blockers"`
	Children     []string `json:"children"`
	Kind         string   `json:"kind"`
	Agent        *string  `json:"agent"`
	Model        *string  `json:"model"`
	Gates        []string `json:"gates"`
	Tampering    bool     `json:"allow_tampering"`
	Retries      int      `json:"retries"`
	MaxRetries   int      `json:"max_retries"`
	Attempts     int      `json:"attempts"`
	Verification *string  `json:"verification"`
	Unverified   *string  `json:"unverified"`
	ClaimedBy    *string  `json:"claimed_by"`
	NotBefore    *string  `json:"not_before"`
	Paused       bool     `json:"paused"`
	LastFailure  *string  `json:"last_failure"`
	CreatedAt    string   `json:"created_at"`
	UpdatedAt    string   `json:"updated_at"`
	StartedAt    *string  `json:"started_at"`
	FinishedAt   *string  `json:"finished_at"`
}

// asJSON adds to a task what its own row does not hold.
func asJSON(s *session, g *dag.Graph, t dag.Task, now time.Time) (taskJSON, error) {
	blockers, err := g.Blockers(t)
	if err != nil {
		return taskJSON{}, err
	}
	children, err := g.ChildTasks(t)
	if err != nil {
		return taskJSON{}, err
	}
	failure, err := g.LastFailure(t)
	if err != nil {
		return taskJSON{}, err
	}
	if t.Status == dag.Done {
		failure = "" // it was overcome; the history has it
	}
	retries := s.config.Run.MaxRetries
	if t.MaxRetries != nil {
		retries = *t.MaxRetries
	}
	return taskJSON{
		ID: t.ID, Title: t.Title, Description: t.Description, Status: string(t.Status), Ready: t.Ready(now),
		Priority: t.Priority, Parent: orNil(t.Parent), Feature: orNil(t.Feature), Blockers: ids(blockers),
		Children: ids(children), Kind: string(t.Kind), Agent: orNil(t.Agent), Model: orNil(t.Model),
		Gates: orEmpty(t.Gates), Tampering: t.AllowTampering, Retries: t.Retries, MaxRetries: retries, Attempts: t.Attempts,
		Verification: orNil(t.Verification), Unverified: orNil(t.Unverified), ClaimedBy: orNil(t.Owner), NotBefore: timeOrNil(t.NotBefore),
		Paused:      t.Paused,
		LastFailure: orNil(failure), CreatedAt: t.CreatedAt.Format(time.RFC3339), UpdatedAt: t.UpdatedAt.Format(time.RFC3339),
		StartedAt: timeOrNil(t.StartedAt), FinishedAt: timeOrNil(t.FinishedAt),
	}, nil
}

func allJSON(s *session, g *dag.Graph, tasks []dag.Task, now time.Time) ([]taskJSON, error) {
	list := make([]taskJSON, 0, len(tasks))
	for _, t := range tasks {
		j, err := asJSON(s, g, t, now)
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

type featureJSON struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Status    string         `json:"status"`
	Tasks     map[string]int `json:"tasks"`
	Total     int            `json:"total"`
	Folder    string         `json:"folder"`
	CreatedAt string         `json:"created_at"`
}

func featureAsJSON(s *session, f dag.Feature) featureJSON {
	return featureJSON{
		ID: f.ID, Name: f.Name, Status: string(f.Status), Tasks: counts(f.Tasks), Total: f.Total(),
		Folder: s.project.Feature(f.Name), CreatedAt: f.CreatedAt.Format(time.RFC3339),
	}
}

func counts(by map[dag.Status]int) map[string]int {
	all := map[string]int{}
	for _, s := range dag.Statuses() {
		all[string(s)] = by[s]
	}
	return all
}

func ids(tasks []dag.Task) []string {
	list := make([]string, len(tasks))
	for i, t := range tasks {
		list[i] = t.ID
	}
	return list
}

func orNil[S ~string](s S) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

func timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.Format(time.RFC3339)
	return &s
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
