package dag

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ralph/internal/db"
)

// ResolveScope finds what was typed: a feature by its name, or a task by its ID.
func (g Tasks) ResolveScope(typed string) (Scope, error) {
	var missing *MissingError
	f, err := g.plan().Feature(typed)
	if !errors.As(err, &missing) {
		return Scope{Feature: f.Name}, err
	}
	t, err := g.Resolve(typed)
	if errors.Is(err, ErrNotFound) {
		missing.Kind, err = "feature or task", missing
	}
	return Scope{Task: t.ID}, err
}

const (
	withAgent     = ` agent IS NOT NULL AND children = 0 AND status NOT IN ('done', 'failed', 'cancelled')`
	byAgent       = ` GROUP BY agent ORDER BY agent;`
	agentsSQL     = `SELECT agent, count(*) FROM tasks INDEXED BY tasks_agent WHERE` + withAgent
	agentsTreeSQL = trees + `SELECT agent, count(*) FROM tasks WHERE n IN (SELECT n FROM sub) AND` + withAgent + byAgent

	agentsAllSQL     = agentsSQL + byAgent
	agentsFeatureSQL = agentsSQL + ` AND feature = +:feature` + byAgent
)

// OwnAgents lists the agents that open tasks of a scope name, and whether others name none.
func (g Tasks) OwnAgents(scope Scope) (agents []string, others bool, err error) {
	query, args, err := scoped(g.transaction, scope, agentsAllSQL, agentsFeatureSQL, agentsTreeSQL)
	if err != nil {
		return nil, false, err
	}
	t, err := g.Tally(scope)
	open := t.Open()
	for r := range g.tx.Rows(query, args...) {
		agents, open = append(agents, r.Text()), open-r.Int()
	}
	return agents, open > 0, cmp.Or(err, g.tx.Err())
}

// ReadyIn lists what is ready in a scope, in the order of claims.
func (g Tasks) ReadyIn(scope Scope) ([]Task, error) {
	ready, err := g.List(Filter{Ready: true, Feature: scope.Feature})
	if err != nil || scope.Task == "" && scope.Tag == "" {
		return ready, err
	}
	if scope.Task != "" {
		if _, err := g.Get(scope.Task); err != nil {
			return nil, err
		}
	}
	list, err := g.Outline(scope)
	inside := make(map[string]bool, len(list))
	for _, t := range list {
		inside[t.ID] = true
	}
	return slices.DeleteFunc(ready, func(r Task) bool { return !inside[r.ID] }), err
}

// Outline is what a picture of the graph needs of a task: little enough to be read
// again whenever the graph changed, however large it is.
type Outline struct {
	N, Parent  int64 // the order of creation; the parent's, 0 at the top
	ID, Title  string
	Status     Status
	Children   int
	OpenDeps   int
	Held       bool
	Doomed     bool
	Paused     bool
	Leaving    bool // the agent that had it is being stopped
	Unverified bool // its work is finished and awaits its verdict
	ToReview   bool // a person is to accept that work first
	Stands     bool // on held work, which has to land first
	Asks       int  // its open questions
	Emptied    bool // a group that lost its last subtask
	NotBefore  time.Time
	WaitReason string
}

// Ready says whether a run would take the task at that time.
func (o Outline) Ready(now time.Time) bool {
	return o.Status == Pending && !slices.Contains([]bool{
		o.Children+o.OpenDeps+o.Asks > 0, o.Held, o.Doomed, o.Emptied, o.Paused, o.Leaving, o.ToReview, o.NotBefore.After(now),
	}, true)
}

// A title of a megabyte is not needed on a screen.
const outlineColumns = `n, parent, id, substr(title, 1, 500), status, children, open_deps, held, doomed, paused, leaving IS NOT NULL, unverified IS NOT NULL, review, stands_on IS NOT NULL, asks, emptied, not_before, wait_reason`

const (
	outlineAllSQL     = `SELECT ` + outlineColumns + ` FROM tasks ORDER BY n;`
	outlineFeatureSQL = `SELECT ` + outlineColumns + ` FROM tasks WHERE feature = :feature ORDER BY n;`
	outlineTreeSQL    = trees + `SELECT ` + outlineColumns + ` FROM tasks WHERE n IN (SELECT n FROM sub) ORDER BY n;`
)

// Outline lists the tasks of a scope, groups too, oldest first. A scope that is gone
// is empty.
func (g Tasks) Outline(scope Scope) ([]Outline, error) {
	return listScope(g.transaction, scope, outlineAllSQL, outlineFeatureSQL, outlineTreeSQL, func(r *db.Row) Outline {
		return Outline{
			N: r.Int64(), Parent: r.Int64(), ID: r.Text(), Title: r.Text(), Status: Status(r.Text()), Children: r.Int(), OpenDeps: r.Int(),
			Held: r.Bool(), Doomed: r.Bool() && !g.keeps, Paused: r.Bool(), Leaving: r.Bool(), Unverified: r.Bool(), ToReview: r.Bool(), Stands: r.Bool(), Asks: r.Int(), Emptied: r.Bool(), NotBefore: r.Time(), WaitReason: r.Text(),
		}
	})
}
