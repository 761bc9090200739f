package dag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"ralph/internal/db"
)

// Each variant is a constant statement with a fixed index: a single one with
// optional conditions made the planner scan. They are read until a task can be had, which
// most often is the first one: the cost of a claim must not grow with the number of tasks.
// queue is 0 for ready tasks and 1 for those that only a failed ancestor keeps back.
const (
	candidate = `SELECT priority, n, id, feature, agent, lockset, locks, paths, unverified IS NOT NULL`

	inAll     = candidate + ` FROM tasks INDEXED BY queue_all WHERE unverified IS NULL AND queue = `
	inFeature = candidate + ` FROM tasks INDEXED BY queue_feature WHERE unverified IS NULL AND feature = +:feature AND queue = `
	inOrder   = ` ORDER BY priority, n;`

	pickAllSQL              = inAll + `0` + inOrder
	pickAllKeepGoingSQL     = inAll + `0 UNION ALL ` + inAll + `1` + inOrder
	pickFeatureSQL          = inFeature + `0` + inOrder
	pickFeatureKeepGoingSQL = inFeature + `0 UNION ALL ` + inFeature + `1` + inOrder

	// Work that only has to be verified comes first. There is little of it.
	finishedAllSQL     = candidate + ` FROM tasks INDEXED BY queue_finished WHERE unverified IS NOT NULL AND queue <= :doomed` + inOrder
	finishedFeatureSQL = candidate + ` FROM tasks INDEXED BY queue_finished WHERE unverified IS NOT NULL AND queue <= :doomed AND feature = :feature` + inOrder

	// A subtree is walked: its cost grows with the subtree, not with the graph. The
	// cross join keeps the planner from walking everything that is ready instead.
	below = subtree + `
SELECT priority, t.n, id, feature, agent, lockset, locks, paths, unverified IS NOT NULL FROM sub CROSS JOIN tasks t ON t.n = sub.n
WHERE (t.queue = 0 OR t.queue = :doomed) AND (unverified IS NOT NULL) = `
	pickTreeSQL     = below + `0 ORDER BY priority, t.n;`
	finishedTreeSQL = below + `1 ORDER BY priority, t.n;`

	// The first task of each lockset: what can be had is among them, however many of the same
	// locks stand before it. It finds each lockset by one look at the index.
	headsSQL = `
WITH RECURSIVE s (lockset) AS (
    SELECT ''
    UNION ALL
    SELECT (SELECT o.lockset FROM tasks o INDEXED BY queue_locks WHERE o.queue IS NOT NULL AND o.lockset > s.lockset ORDER BY o.lockset LIMIT 1)
    FROM s WHERE s.lockset IS NOT NULL
)
SELECT priority, t.n, id, feature, agent, t.lockset, locks, paths, 0
FROM s CROSS JOIN (VALUES (0), (1)) q CROSS JOIN tasks t
WHERE q.column1 <= :doomed AND t.n = (
    SELECT h.n FROM tasks h INDEXED BY queue_locks
    WHERE h.lockset = s.lockset AND h.queue = q.column1 AND h.unverified IS NULL AND (:feature = 0 OR h.feature = :feature)
        AND (h.feature IS NULL OR h.feature NOT IN (SELECT value FROM json_each(:features))) AND h.id NOT IN (SELECT value FROM json_each(:tasks))
    ORDER BY h.priority, h.n LIMIT 1)
ORDER BY priority, t.n;`

	// so many tasks are looked at one by one before only the first of each lockset is
	patience = 32
)

// Refused is why a claim left tasks alone that are ready.
type Refused struct {
	Skipped bool      // some were to be skipped
	Busy    bool      // no slot is free, or locks or an agent's places are taken
	Until   time.Time // when an agent may start again for which some wait; zero if none does

	Task string     // the first that waits for a lock; "" if none does
	Lock LockHolder // that is in its way
}

// Refused says why a claim that found nothing left tasks alone that are ready.
func (g *Graph) Refused(opts ClaimOptions) (Refused, error) {
	p, err := g.pick(opts)
	switch {
	case err != nil:
		return Refused{}, err
	case p.why.Task == "":
		return p.why, nil
	}
	held, err := g.Locks()
	wanted := p.why.Lock.Name
	for _, l := range held {
		dir, isPath := strings.CutPrefix(wanted, pathLock)
		other, alsoPath := strings.CutPrefix(l.Name, pathLock)
		if l.Name == wanted || isPath && alsoPath && overlap(dir, other) {
			p.why.Lock = l
			break
		}
	}
	return p.why, err
}

// waiting is a task that could be claimed if nothing else is against it.
type waiting struct {
	n, feature int64
	id, agent  string
	lockset    string
	locks      []string // names that a claim takes
	finished   bool
}

// picker looks for the task that a claim takes.
type picker struct {
	g        *Graph
	opts     ClaimOptions
	args     []any
	feature  int64
	features []int64 // to be skipped

	slots    []int           // that are free
	held     map[string]int  // locks that are held, and by how many; nil before it is needed
	reserved []string        // locks of the first task that could not be had: nobody after it gets them
	refused  map[string]bool // locksets that cannot be had
	found    waiting
	why      Refused
}

func (g *Graph) pick(opts ClaimOptions) (*picker, error) {
	p := &picker{g: g, opts: opts, refused: map[string]bool{}, features: []int64{}}
	if opts.Scope.Task != "" && opts.Scope.Feature != "" {
		return nil, fmt.Errorf("%w: a scope is a task or a feature, not both", ErrRefused)
	}
	for _, name := range opts.Skip.Features {
		n, err := g.featureNumber(name)
		if err != nil {
			return nil, err
		}
		p.features = append(p.features, n)
	}
	finished, others := finishedAllSQL, pickAllSQL
	if opts.KeepGoing {
		others = pickAllKeepGoingSQL
	}
	switch {
	case opts.Scope.Task != "":
		t, err := g.nodeByID(opts.Scope.Task)
		if err != nil {
			return p, g.tx.Err() // a task that is gone has nothing to claim
		}
		finished, others, p.args = finishedTreeSQL, pickTreeSQL, []any{":n", t.n}
	case opts.Scope.Feature != "":
		var err error
		if p.feature, err = g.featureNumber(opts.Scope.Feature); err != nil {
			return nil, err
		}
		finished, others, p.args = finishedFeatureSQL, pickFeatureSQL, []any{":feature", p.feature}
		if opts.KeepGoing {
			others = pickFeatureKeepGoingSQL
		}
	}
	if opts.Slots > 0 {
		if p.slots = g.freeSlots(opts.Slots); len(p.slots) == 0 {
			p.why.Busy = true
			return p, g.tx.Err()
		}
	}
	p.search(finished, others)
	return p, g.tx.Err()
}

func (p *picker) search(finished, others string) {
	doomed := append(slices.Clip(p.args), ":doomed", p.opts.KeepGoing)
	p.first(p.g.tx.Rows(finished, doomed...), 0)
	if p.found.n != 0 || p.opts.Finished {
		return
	}
	args, limit := p.args, patience
	if p.opts.Scope.Task != "" {
		args, limit = doomed, 0
	}
	if !p.first(p.g.tx.Rows(others, args...), limit) {
		features, err := json.Marshal(p.features)
		p.g.tx.Fail(err)
		p.first(p.g.tx.Rows(headsSQL, ":doomed", p.opts.KeepGoing, ":feature", p.feature,
			":features", string(features), ":tasks", db.JSON(p.opts.Skip.Tasks)), 0)
	}
}

// first finds the first task that can be had. It returns false if it gave up after so many.
func (p *picker) first(rows iter.Seq[*db.Row], limit int) bool {
	seen := 0
	for r := range rows {
		if w := p.read(r); p.available(w) {
			p.found = w
			return true
		}
		if seen++; seen == limit {
			return false
		}
	}
	return true
}

func (p *picker) read(r *db.Row) waiting {
	_ = r.Int64() // the priority, by which they are in order
	w := waiting{n: r.Int64(), id: r.Text(), feature: r.Int64(), agent: cmp.Or(r.Text(), p.opts.Skip.Agent), lockset: r.Text()}
	w.locks, w.finished = lockNames(db.List[string](r), db.List[string](r)), r.Bool()
	return w
}

// available says whether a claim may take the task now.
func (p *picker) available(w waiting) bool {
	skip := p.opts.Skip
	if slices.Contains(skip.Agents, w.agent) || slices.Contains(skip.Tasks, w.id) || slices.Contains(p.features, w.feature) {
		p.why.Skipped = true
		return false
	}
	key := fmt.Sprint(w.finished, w.lockset)
	switch {
	case p.refused[key]:
		return false
	case p.agentReady(w) && p.free(w):
		return true
	}
	p.refused[key] = true
	if p.reserved == nil {
		p.reserved = w.locks
	}
	return false
}

// agentReady says whether the agent of a task may start now. Work that is finished needs none.
func (p *picker) agentReady(w waiting) bool {
	gate, gated := p.gate(w.agent)
	if !gated || w.finished {
		return true
	}
	if next := p.g.nextStart(w.agent, gate); !next.IsZero() {
		if p.why.Until.IsZero() || next.Before(p.why.Until) {
			p.why.Until = next
		}
		return false
	}
	if limit := p.g.atOnce(w.agent, gate); limit > 0 && p.holders(agentLock+w.agent) >= limit {
		p.wants(w, agentLock+w.agent)
		return false
	}
	return true
}

func (p *picker) gate(agent string) (AgentGate, bool) {
	gate, named := p.opts.Agents[agent]
	if !named {
		gate, named = p.opts.Agents[""]
	}
	return gate, named
}

// wants notes that a task waits for a lock.
func (p *picker) wants(w waiting, name string) {
	p.why.Busy = true
	if p.why.Task == "" {
		p.why.Task, p.why.Lock.Name = w.id, name
	}
}

// free says whether all of a task's locks can be taken.
func (p *picker) free(w waiting) bool {
	for _, name := range w.locks {
		if !p.lockFree(name) {
			p.wants(w, name)
			return false
		}
	}
	return true
}

func (p *picker) lockFree(name string) bool {
	dir, isPath := strings.CutPrefix(name, pathLock)
	if !isPath {
		taken := p.holders(name)
		if slices.Contains(p.reserved, name) {
			taken++
		}
		return taken < max(p.opts.Locks[name], 1)
	}
	p.holders(name)
	taken := func(other string) bool {
		other, isPath := strings.CutPrefix(other, pathLock)
		return isPath && overlap(dir, other)
	}
	for other := range p.held {
		if taken(other) {
			return false
		}
	}
	return !slices.ContainsFunc(p.reserved, taken)
}

// holders is how many hold a lock.
func (p *picker) holders(name string) int {
	if p.held == nil {
		p.held = map[string]int{}
		for r := range p.g.tx.Rows(heldLocksSQL) {
			p.held[r.Text()] = r.Int()
		}
	}
	return p.held[name]
}

// take takes the slot and the locks of the task that was found, and its agent's start.
func (p *picker) take(c Claim) {
	g := p.g
	if c.Slot > 0 {
		g.tx.Do(takeSlotSQL, ":n", c.Slot, ":attempt", c.Attempt, ":now", g.millis())
	}
	names := p.found.locks
	if gate, gated := p.gate(p.found.agent); gated && !p.found.finished {
		names = append(slices.Clip(names), agentLock+p.found.agent)
		if gate.StartEvery > 0 {
			g.tx.Do(startedSQL, ":agent", p.found.agent, ":next", g.now.Add(gate.StartEvery).UnixMilli())
		}
	}
	for _, name := range names {
		g.tx.Do(takeLockSQL, ":name", name, ":attempt", c.Attempt)
	}
}
