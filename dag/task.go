package dag

import (
	"fmt"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
)

// Task is one row of the graph, with its parent and feature by name.
type Task struct {
	Detail
	N       int64 // order of creation
	ID      string
	Status  Status
	Parent  string // "" at the top
	Feature string // "" for none

	Origin         string // what it is called where it comes from; "" if it was made here
	DiscoveredFrom string // the task whose agent found it; "" for none

	Retries       int    // since the last reset
	Attempts      int    // that counted, since the last reset
	Interruptions int    // in a row, by ralph's own death
	Verification  string // "", passed, failed or skipped
	Paused        bool   // by a person, until resumed
	GivenUp       bool   // a person marked it as failed
	Satisfied     bool   // it is cancelled, and who waits for it need not
	Unverified    string // the attempt whose finished work is only to be verified; "" for none
	ToReview      bool   // a person is to accept that work first
	StandsOn      string // the task on whose held work it stands; "" for none
	Lands         bool   // a person accepted that work, which is kept aside: it only has to land

	Owner      string // "" unless in progress
	Generation int64
	LeaseUntil time.Time
	Leaving    string    // the attempt that a person took it from, until its agent is gone
	NotBefore  time.Time // zero unless it waits for a time
	WaitReason string

	CreatedAt, UpdatedAt  time.Time
	StartedAt, FinishedAt time.Time // zero if it did not happen

	Children  int  // direct ones
	Emptied   bool // it is a group that lost its last subtask
	Satisfies bool // nobody has to wait for it
	OpenDeps  int  // own blockers that it still waits for
	Held      bool // an ancestor waits for a blocker, is blocked, paused or given up
	Doomed    bool // an ancestor failed
	Asks      int  // open questions of it: it waits for their answers
}

// Ready says whether a run would take the task at that time.
func (t Task) Ready(now time.Time) bool {
	return Outline{
		Status: t.Status, Children: t.Children, Emptied: t.Emptied, OpenDeps: t.OpenDeps, Held: t.Held, Doomed: t.Doomed,
		Paused: t.Paused, Leaving: t.Leaving != "", ToReview: t.ToReview, Asks: t.Asks, NotBefore: t.NotBefore,
	}.Ready(now)
}

// Landing is the state of work that a person accepted, until it is on its target.
const Landing = "accepted, landing"

// State is one word for where the task stands at that time: its status or, for a pending one,
// what it waits for.
func (t Task) State(now time.Time) string {
	switch {
	case t.Status == InProgress:
		if t.Lands {
			return Landing
		}
		return "running"
	case t.Lands && t.Ready(now):
		return Landing
	case t.Status != Pending:
		return string(t.Status)
	case t.Asks > 0:
		return "asks"
	case t.ToReview:
		return "to review"
	case t.StandsOn != "":
		return Standing
	case t.Ready(now) && t.Unverified != "":
		return "unverified"
	case t.Ready(now):
		return "ready"
	case t.Paused:
		return "paused"
	case t.Children > 0 || t.Emptied:
		return fmt.Sprintf("group of %d", t.Children)
	}
	return "waiting"
}

// KeepsBack reports whether a group keeps back what lies below it. In a graph that keeps going a failure does not.
func (t Task) KeepsBack(keeps bool) bool {
	switch t.Status {
	case Blocked:
		return true
	case Failed:
		return !keeps || t.GivenUp
	}
	return false
}

// Finished reports whether there is finished work of a task that is not done.
func (t Task) Finished() bool { return t.Status == Pending && t.Unverified != "" }

// Waits reports whether finished work waits for a person, or for the work that it stands on.
func (t Task) Waits() bool { return t.ToReview || t.StandsOn != "" }

// AwaitsVerdict says that the work is finished and only has to be verified.
func (t Task) AwaitsVerdict() bool { return t.Finished() && !t.Waits() }

// taskColumns is {task} of a statement, for SELECT and RETURNING alike; scanTask reads them in this order.
const taskColumns = `n, id, {said}, status,
    (SELECT p.id FROM tasks p WHERE p.n = tasks.parent),
    (SELECT f.name FROM features f WHERE f.n = tasks.feature), origin, discovered_from,
    retries, attempts, interruptions, verification, paused, given_up, satisfied, unverified, review,
    (SELECT b.id FROM tasks b WHERE b.n = tasks.stands_on), ` + acceptedAside + `,
    owner, generation, lease_until, leaving, not_before, wait_reason,
    created_at, updated_at, started_at, finished_at,
    children, emptied, satisfies, open_deps, held, doomed, asks`

// scanTask reads a task. Failed ancestors do not matter to a graph that keeps going.
func (g *transaction) scanTask(r *db.Row) Task {
	t := Task{
		N: r.Int64(), ID: r.Text(), Detail: scanDetail(r),
		Status: Status(r.Text()), Parent: r.Text(), Feature: r.Text(), Origin: r.Text(), DiscoveredFrom: r.Text(),
		Retries: r.Int(), Attempts: r.Int(), Interruptions: r.Int(), Verification: r.Text(), Paused: r.Bool(), GivenUp: r.Bool(), Satisfied: r.Bool(), Unverified: r.Text(), ToReview: r.Bool(), StandsOn: r.Text(), Lands: r.Bool(),
		Owner: r.Text(), Generation: r.Int64(), LeaseUntil: r.Time(), Leaving: r.Text(), NotBefore: r.Time(), WaitReason: r.Text(),
		CreatedAt: r.Time(), UpdatedAt: r.Time(), StartedAt: r.Time(), FinishedAt: r.Time(),
		Children: r.Int(), Emptied: r.Bool(), Satisfies: r.Bool(), OpenDeps: r.Int(), Held: r.Bool(), Doomed: r.Bool(), Asks: r.Int(),
	}
	t.Doomed = t.Doomed && !g.keeps
	return t
}

// usageOf reads three counts of tokens, the cost, whether it is estimated and whether some of it is not known.
func usageOf(r *db.Row) event.Usage {
	return event.Usage{
		TokensIn: r.Int64(), TokensCached: r.Int64(), TokensOut: r.Int64(), CostUSD: db.Optional(r, r.Float), Estimated: r.Bool(), Unknown: r.Bool(),
	}
}
