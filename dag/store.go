// Package dag owns the task graph: tasks, their hierarchy and dependencies,
// features, runs and attempts, and the state machine that moves them. It never
// starts an agent, reads a file or looks at a process; its caller says who is alive.
package dag

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"ralph/internal/db"
)

// What callers branch on. The errors that wrap these say which task and why.
var (
	ErrNotFound  = errors.New("not found")
	ErrAmbiguous = errors.New("ambiguous")
	ErrRefused   = errors.New("refused")
	// ErrNoRun is the ErrNotFound of a project that never ran.
	ErrNoRun = fmt.Errorf("%w: there was no run yet", ErrNotFound)
	// ErrLost is what a worker gets when the task it claimed is no longer its own.
	ErrLost = errors.New("claim lost")
)

// Options are what a Store takes from the outside world.
type Options struct {
	Now   func() time.Time           // nil means time.Now
	NewID func(prefix string) string // nil means random: the prefix and 8 hex digits

	// Redact removes secrets from what is written about tasks, runs and attempts:
	// reasons, notes, logs. Tasks themselves are stored as they are given. nil
	// removes nothing.
	Redact func(string) string

	// KeepGoing says that a failed task does not keep back the others of its group:
	// they count as ready.
	KeepGoing bool
}

// Store hands out transactions on the graph. It is safe for concurrent use.
type Store struct {
	db    *db.DB
	clock func() time.Time
	settings
}

// settings are what every transaction of a store shares.
type settings struct {
	newID func(prefix string) string
	said  func(string) string // removes secrets from what agents, gates and people said
	keeps bool                // what a failed ancestor keeps back is ready all the same
	actor Actor
}

// Open opens a database as db.Open does, with the triggers that depend on Fields.
func Open(ctx context.Context, path string, opts db.Options) (*db.DB, error) {
	opts.Triggers = map[string]string{"unsaved_changed": statement(unsavedTrigger)}
	return db.Open(ctx, path, opts)
}

// unsavedTrigger notes the feature of each task of which its plan file says something else now.
const unsavedTrigger = `AFTER UPDATE OF {details}, status, parent, satisfied, retries, verification, updated_at ON tasks BEGIN
    INSERT INTO unsaved VALUES (coalesce(new.feature, 0)) ON CONFLICT DO NOTHING;
END`

// New makes a Store on an open database, which stays the caller's to close.
func New(d *db.DB, opts Options) *Store {
	s := &Store{db: d, clock: opts.Now, settings: settings{newID: opts.NewID, said: opts.Redact, keeps: opts.KeepGoing}}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.newID == nil {
		s.newID = randomID
	}
	if s.said == nil {
		s.said = asIs
	}
	return s
}

// KeepingGoing is the same store with another answer to Options.KeepGoing.
func (s *Store) KeepingGoing(on bool) *Store {
	other := *s
	other.keeps = on
	return &other
}

// As is the same store for a person: what they change goes on record. A run has none.
func (s *Store) As(actor Actor) *Store {
	other := *s
	other.actor = actor
	return &other
}

// Update runs fn on the graph in one write transaction: all of it or nothing.
func (s *Store) Update(ctx context.Context, fn func(*Graph) error) error {
	return s.db.Update(ctx, func(tx *db.Tx) error {
		g := s.graph(tx)
		if err := fn(g); err != nil {
			return err
		}
		_, err := g.Queue.Fall()
		return err
	})
}

// View runs fn on one consistent snapshot of the graph.
func (s *Store) View(ctx context.Context, fn func(*Graph) error) error {
	return s.db.View(ctx, func(tx *db.Tx) error { return fn(s.graph(tx)) })
}

func (s *Store) graph(tx *db.Tx) *Graph {
	t := &transaction{tx: tx, now: s.clock(), settings: s.settings}
	return &Graph{transaction: t, Tasks: t.tasks(), Plan: t.plan(), Queue: t.queue(), History: t.history()}
}

// Graph is the graph inside one transaction. Its four sides are the same transaction; it is dead when that ends.
type Graph struct {
	Tasks   Tasks
	Plan    Plan
	Queue   Queue
	History History
	*transaction
}

// The sides of a graph.
type (
	// Tasks reads the tasks that there are, and moves them as people do.
	Tasks struct{ *transaction }
	// Plan changes what is to be done: tasks, their places and texts, what they wait for, features, reviews.
	Plan struct{ *transaction }
	// Queue is the work in hand: claims, how they end, the locks they hold, and what is to land.
	Queue struct{ *transaction }
	// History is what happened: runs, attempts, logs, and what they cost.
	History struct{ *transaction }
)

// transaction is what the sides of a graph share: the statements, and the state machine with what it keeps up to date.
type transaction struct {
	tx  *db.Tx
	now time.Time
	settings

	audited bool
}

func (g *transaction) tasks() Tasks     { return Tasks{g} }
func (g *transaction) plan() Plan       { return Plan{g} }
func (g *transaction) queue() Queue     { return Queue{g} }
func (g *transaction) history() History { return History{g} }

// Tx is the transaction itself, for packages that must write together with ours.
func (g *Graph) Tx() *db.Tx { return g.tx }

// KeepsGoing says that a failed task does not keep back the others of its group.
func (g *Graph) KeepsGoing() bool { return g.keeps }

// Now is when the transaction began.
func (g *Graph) Now() time.Time { return g.now }

// Redact removes secrets from what agents and people said.
func (g *Graph) Redact(text string) string { return g.said(text) }

func (g *transaction) millis() int64 { return g.now.UnixMilli() }

// change runs a statement that changes one row; if there is none, it returns missing.
func (g *transaction) change(missing error, query string, args ...any) error {
	if err := g.tx.Exec(query, args...); err != nil || g.tx.Changes() == 1 {
		return err
	}
	return missing
}

// number returns the first column of the first row, or 0.
func (g *transaction) number(query string, args ...any) int64 {
	n, _ := db.One(g.tx, query, (*db.Row).Int64, args...)
	return n
}

// numbers returns the first column of all rows.
func (g *transaction) numbers(query string, args ...any) []int64 {
	list, _ := db.All(g.tx, query, (*db.Row).Int64, args...)
	return list
}

// pairs maps the first column of all rows to the second.
func (g *transaction) pairs(query string) (map[string]string, error) {
	found := map[string]string{}
	for r := range g.tx.Rows(query) {
		found[r.Text()] = r.Text()
	}
	return found, g.tx.Err()
}

// groups returns the first column of those rows whose second one is not 0.
func (g *transaction) groups(query string, args ...any) (list []int64) {
	for r := range g.tx.Rows(query, args...) {
		if n := r.Int64(); r.Bool() {
			list = append(list, n)
		}
	}
	return list
}

func asIs(text string) string { return text }

func randomID(prefix string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return prefix + hex.EncodeToString(b[:])
}
