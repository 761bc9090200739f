package dag

import (
	"encoding/json"
	"fmt"
	"time"

	"ralph/event"

	"zombiezen.com/go/sqlite"
)

// Task is one row of the graph, with its parent and feature by name.
type Task struct {
	N           int64 // order of creation
	ID          string
	Title       string
	Description string
	Status      Status
	Priority    int64  // lower runs first
	Parent      string // "" at the top
	Feature     string // "" for none
	Kind        Kind
	Agent       string // "" means the configured one
	Model       string // "" means the strategy's choice
	Gates       []string
	MaxRetries  *int // nil means the configured number

	AllowTampering bool // its work may delete tests and change what checks it

	Retries       int    // since the last reset
	Attempts      int    // that counted, since the last reset
	Interruptions int    // in a row, by ralph's own death
	Verification  string // "", passed, failed or skipped
	Paused        bool   // by a person, until resumed
	GivenUp       bool   // a person marked it as failed
	Unverified    string // the attempt whose finished work is only to be verified; "" for none

	Owner      string // "" unless in progress
	Generation int64
	LeaseUntil time.Time
	Leaving    string    // the attempt that a person took it from, until its agent is gone
	NotBefore  time.Time // zero unless it waits for a time
	WaitReason string

	CreatedAt, UpdatedAt  time.Time
	StartedAt, FinishedAt time.Time // zero if it did not happen

	Children int  // direct ones
	OpenDeps int  // own blockers that are not done
	Held     bool // an ancestor waits for a blocker, is blocked, paused or given up
	Doomed   bool // an ancestor failed
}

// holds says that it keeps back all below it, whatever a run does about failed tasks.
func (t Task) holds() bool {
	return t.Held || t.OpenDeps > 0 || t.Status == Blocked || t.Paused || t.GivenUp
}

// Ready says whether a run would take the task at that time.
func (t Task) Ready(now time.Time) bool {
	return t.Status == Pending && t.Children == 0 && t.OpenDeps == 0 && !t.Held && !t.Doomed &&
		!t.Paused && t.Leaving == "" && !t.NotBefore.After(now)
}

// State is one word for where the task stands at that time: its status or, for a pending one,
// what it waits for.
func (t Task) State(now time.Time) string {
	switch {
	case t.Status == InProgress:
		return "running"
	case t.Status != Pending:
		return string(t.Status)
	case t.Ready(now) && t.Unverified != "":
		return "unverified"
	case t.Ready(now):
		return "ready"
	case t.Paused:
		return "paused"
	case t.Children > 0:
		return fmt.Sprintf("group of %d", t.Children)
	}
	return "waiting"
}

// AwaitsVerdict says that the work is finished and only has to be verified.
func (t Task) AwaitsVerdict() bool { return t.Status == Pending && t.Unverified != "" }

// taskColumns serve SELECT and RETURNING alike; scanTask reads them in this order.
const taskColumns = `n, id, title, description, status, priority,
    (SELECT p.id FROM tasks p WHERE p.n = tasks.parent),
    (SELECT f.name FROM features f WHERE f.n = tasks.feature),
    kind, agent, model, gates, max_retries, allow_tampering,
    retries, attempts, interruptions, verification, paused, given_up, unverified,
    owner, generation, lease_until, leaving, not_before, wait_reason,
    created_at, updated_at, started_at, finished_at,
    children, open_deps, held, doomed`

// scanTask reads a task. Failed ancestors do not matter to a graph that keeps going.
func (g *Graph) scanTask(r *row) Task {
	t := Task{
		N: r.int64(), ID: r.text(), Title: r.text(), Description: r.text(),
		Status: Status(r.text()), Priority: r.int64(), Parent: r.text(), Feature: r.text(),
		Kind: Kind(r.text()), Agent: r.text(), Model: r.text(), Gates: decode[string](r), MaxRetries: optional(r, r.int), AllowTampering: r.bool(),
		Retries: r.int(), Attempts: r.int(), Interruptions: r.int(), Verification: r.text(), Paused: r.bool(), GivenUp: r.bool(), Unverified: r.text(),
		Owner: r.text(), Generation: r.int64(), LeaseUntil: r.time(), Leaving: r.text(), NotBefore: r.time(), WaitReason: r.text(),
		CreatedAt: r.time(), UpdatedAt: r.time(), StartedAt: r.time(), FinishedAt: r.time(),
		Children: r.int(), OpenDeps: r.int(), Held: r.bool(), Doomed: r.bool(),
	}
	t.Doomed = t.Doomed && !g.keeps
	return t
}

// row reads the columns of one result row from left to right.
type row struct {
	stmt *sqlite.Stmt
	col  int
	err  error
}

func (r *row) next() int      { r.col++; return r.col - 1 }
func (r *row) text() string   { return r.stmt.ColumnText(r.next()) }
func (r *row) int() int       { return r.stmt.ColumnInt(r.next()) }
func (r *row) int64() int64   { return r.stmt.ColumnInt64(r.next()) }
func (r *row) float() float64 { return r.stmt.ColumnFloat(r.next()) }
func (r *row) bool() bool     { return r.stmt.ColumnInt(r.next()) != 0 }

func (r *row) duration() time.Duration { return time.Duration(r.int64()) * time.Millisecond }

// time is zero for NULL and for 0, which both mean "not at all".
func (r *row) time() time.Time {
	ms := r.int64()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func optional[T any](r *row, read func() T) *T {
	if r.stmt.ColumnType(r.col) == sqlite.TypeNull {
		r.col++
		return nil
	}
	v := read()
	return &v
}

// usage reads three counts of tokens, the cost, whether it is estimated and whether some of it is not known.
func (r *row) usage() event.Usage {
	return event.Usage{
		TokensIn: r.int64(), TokensCached: r.int64(), TokensOut: r.int64(), CostUSD: optional(r, r.float), Estimated: r.int() != 0, Unknown: r.int() != 0,
	}
}

// decode reads a list that is stored as JSON.
func decode[T any](r *row) (list []T) {
	text := r.text()
	if text == "[]" || text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil && r.err == nil {
		r.err = err
	}
	return list
}

// collect reads all rows of a query.
func collect[T any](g *Graph, query string, scan func(*row) T, args ...any) ([]T, error) {
	var list []T
	err := g.tx.Each(query, func(stmt *sqlite.Stmt) error {
		r := row{stmt: stmt}
		list = append(list, scan(&r))
		return r.err
	}, args...)
	return list, err
}

// one reads the only row of a query; without one it is the zero value.
func one[T any](g *Graph, query string, scan func(*row) T, args ...any) (v T, err error) {
	list, err := collect(g, query, scan, args...)
	if len(list) > 0 {
		v = list[0]
	}
	return v, err
}

func listJSON(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(list) // a list of strings always can be
	return string(b)
}

// orNull stores the zero value as NULL.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}
