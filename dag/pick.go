package dag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/internal/db"
)

// Each is a constant statement with a fixed index: a single one with optional conditions made
// the planner scan. They are read until a task can be had, which most often is the first one:
// the cost of a claim must not grow with the number of tasks. queue is 0 for ready tasks and
// 1 for those that only a failed ancestor keeps back.
const (
	candidate = `SELECT t.n, id, feature, agent, t.lockset, locks, paths, unverified IS NOT NULL, priority FROM `
	inOrder   = ` ORDER BY priority, t.n;`

	inAll          = candidate + `tasks t INDEXED BY queue_all WHERE unverified IS NULL AND queue = `
	inFeature      = candidate + `tasks t INDEXED BY queue_feature WHERE unverified IS NULL AND feature = +:feature AND queue = `
	readAllSQL     = inAll + `0 UNION ALL ` + inAll + `1 AND :doomed` + inOrder
	readFeatureSQL = inFeature + `0 UNION ALL ` + inFeature + `1 AND :doomed` + inOrder

	// Work that only has to be verified comes first. There is little of it.
	readFinishedSQL = candidate + `tasks t INDEXED BY queue_finished
WHERE unverified IS NOT NULL AND queue <= :doomed AND (:feature = 0 OR feature = :feature)` + inOrder

	// A subtree is walked: its cost grows with the subtree, not with the graph. The
	// cross join keeps the planner from walking everything that is ready instead.
	readTreeSQL = trees + candidate + `sub CROSS JOIN tasks t ON t.n = sub.n
WHERE t.queue = 0 OR t.queue = :doomed ORDER BY unverified IS NULL, priority, t.n;`

	// The first task of each lockset: what can be had is among them, however many of the same
	// locks stand before it. It finds each by one look at the index.
	readHeadsSQL = `
WITH RECURSIVE head (lockset, n) AS (
    SELECT '', 0
    UNION ALL
    SELECT h.lockset, h.n FROM head CROSS JOIN tasks h ON h.n = (
        SELECT o.n FROM tasks o INDEXED BY queue_locks
        WHERE o.lockset > head.lockset AND o.queue <= :doomed AND o.unverified IS NULL AND (:feature = 0 OR o.feature = :feature)
            AND (o.feature IS NULL OR o.feature NOT IN (SELECT value FROM json_each(:features))) AND o.id NOT IN (SELECT value FROM json_each(:tasks))
        ORDER BY o.lockset, o.priority, o.n LIMIT 1)
) ` + candidate + `head CROSS JOIN tasks t ON t.n = head.n` + inOrder

	// so many tasks are looked at one by one before only the first of each lockset is
	patience = 32
)

// Refused is why a claim left tasks alone that are ready.
type Refused struct {
	Skipped bool      // some were to be skipped
	Limited bool      // of those, some because of their agent
	Busy    bool      // locks or an agent's places are taken
	Until   time.Time // when an agent may start again for which some wait; zero if none does

	Task string     // the first that waits for a lock; "" if none does
	Lock LockHolder // that is in its way
}

// Refused says why a claim that found nothing left tasks alone that are ready.
func (g Queue) Refused(opts ClaimOptions) (Refused, error) {
	p, err := g.pick(opts)
	return p.why, err
}

// waits says what a task that is ready waits for: a lock that another holds, or came first for, or its agent.
func (g Queue) waits(t Task, opts ClaimOptions) ([]Reason, error) {
	p, err := g.pick(opts) // for what it reserves
	if err != nil || p.found.n == t.N {
		return nil, err
	}
	p.held = slices.DeleteFunc(p.held, func(l LockHolder) bool { return l.Attempt == "" && l.Task == t.ID })
	lock, until := p.obstacle(waiting{agent: cmp.Or(t.Agent, opts.Skip.Agent), locks: lockNames(t.Locks, t.Paths), finished: t.Unverified != ""})
	switch {
	case lock.Name != "":
		return []Reason{{Kind: "lock", Task: lock.Task, Text: "it waits for " + lock.String()}}, g.tx.Err()
	case !until.IsZero():
		return []Reason{{Kind: "wait", Text: "it waits for the next start of its agent"}}, g.tx.Err()
	}
	return nil, g.tx.Err()
}

// waiting is a task that could be claimed if nothing else is against it.
type waiting struct {
	n, feature int64
	id, agent  string
	lockset    string
	locks      []string // names that a claim takes
	finished   bool
	standsOn   int64 // the task whose held work it begins on; 0 for none
}

// picker looks for the task that a claim takes.
type picker struct {
	g        Queue
	opts     ClaimOptions
	features []int64 // to be skipped

	held     []LockHolder    // last those that are reserved for the first task that could not be had: nobody after it gets them
	reserved bool            // there are some
	refused  map[string]bool // locksets that cannot be had
	found    waiting
	why      Refused
}

func (g Queue) pick(opts ClaimOptions) (p *picker, err error) {
	p = &picker{g: g, opts: opts, refused: map[string]bool{}, features: make([]int64, len(opts.Skip.Features))}
	if opts.Scope.parts() > 1 {
		return p, fmt.Errorf("%w: a scope is a task, a feature or a tag, not two of them", ErrRefused)
	}
	for i, name := range opts.Skip.Features {
		if p.features[i], err = g.featureNumber(name); err != nil {
			return p, err
		}
	}
	if p.held, err = g.Locks(); err != nil {
		return p, err
	}
	return p, cmp.Or(p.search(), g.tx.Err())
}

// search finds the first task in the scope that can be had.
func (p *picker) search() error {
	feature, err := p.g.featureNumber(p.opts.Scope.Feature)
	if err != nil {
		return err
	}
	rows := func(query string, more ...any) iter.Seq[*db.Row] {
		return p.g.tx.Rows(query, append(more, ":doomed", p.opts.KeepGoing)...)
	}
	if p.opts.Scope.Task != "" || p.opts.Scope.Tag != "" {
		if roots, err := p.g.roots(p.opts.Scope); err == nil { // one that is gone has nothing to claim
			p.first(rows(readTreeSQL, ":n", roots), 0)
			p.ahead(0, roots)
		}
		return nil
	}
	p.first(rows(readFinishedSQL, ":feature", feature), 0)
	if p.found.n != 0 || p.opts.Finished {
		return nil
	}
	ready := rows(readAllSQL)
	if feature != 0 {
		ready = rows(readFeatureSQL, ":feature", feature)
	}
	if !p.first(ready, patience) {
		features, err := json.Marshal(p.features)
		p.first(rows(readHeadsSQL, ":feature", feature, ":features", string(features), ":tasks", db.JSON(p.opts.Skip.Tasks)), 0)
		if err != nil {
			return err
		}
	}
	p.ahead(feature, "")
	return nil
}

// first finds the first task that can be had. It returns false if it gave up after so many.
func (p *picker) first(rows iter.Seq[*db.Row], limit int) bool {
	seen := 0
	for w := range p.read(rows) {
		if p.opts.Finished && !w.finished {
			return true
		}
		if p.available(w) {
			p.found = w
			return true
		}
		if seen++; seen == limit {
			return false
		}
	}
	return true
}

// available says whether a claim may take the task now, and reserves the locks of the first that it may not.
func (p *picker) available(w waiting) bool {
	skip := p.opts.Skip
	limited, spent := slices.Contains(skip.Agents, w.agent), slices.Contains(p.features, w.feature)
	if (limited || spent) && w.finished && p.g.acceptedWork(w.n) { // it needs nobody
		limited, spent = false, false
	}
	if p.why.Limited = p.why.Limited || limited; limited || spent || slices.Contains(skip.Tasks, w.id) {
		p.why.Skipped = true
		return false
	}
	if p.refused[w.lockset] {
		return false
	}
	lock, until := p.obstacle(w)
	switch {
	case lock.Name != "":
		p.why.Busy = true
		if p.why.Task == "" {
			p.why.Task, p.why.Lock = w.id, lock
		}
	case until.IsZero():
		return true
	case p.why.Until.IsZero() || until.Before(p.why.Until):
		p.why.Until = until
	}
	p.refused[w.lockset] = true
	if !p.reserved {
		for _, name := range w.locks {
			p.held, p.reserved = append(p.held, LockHolder{Name: name, Task: w.id}), true
		}
	}
	return false
}

// obstacle is a lock that a task cannot have, or when its agent may start; zero if nothing is in its way.
func (p *picker) obstacle(w waiting) (lock LockHolder, until time.Time) {
	if gate, gated := p.gate(w); gated {
		if until = p.g.nextStart(w.agent, gate); !until.IsZero() {
			return lock, until
		}
		if limit := p.g.atOnce(w.agent, gate); limit > 0 {
			lock = p.taken(agentLock+w.agent, limit)
		}
	}
	if p.opts.Here && lock.Name == "" {
		lock = p.taken(hereLock, 1)
	}
	for _, name := range w.locks {
		if lock.Name != "" {
			break
		}
		limit := 1
		if !strings.HasPrefix(name, pathLock) {
			limit = max(p.opts.Locks[name], 1)
		}
		lock = p.taken(name, limit)
	}
	return lock, until
}

// gate is what the agent of a task may do. Work that is finished needs no agent.
func (p *picker) gate(w waiting) (AgentGate, bool) {
	gate, named := p.opts.Agents[w.agent]
	if !named {
		gate, named = p.opts.Agents[""]
	}
	return gate, named && !w.finished
}

// taken is who has a lock that so many may have, if none of them is left.
func (p *picker) taken(name string, limit int) LockHolder {
	for _, l := range p.held {
		if excludes(l.Name, name) {
			if limit--; limit == 0 {
				return l
			}
		}
	}
	return LockHolder{}
}

// slotFor is the slot of the task's last attempt, whose folder its session knows, if that is free, or the lowest
// that is; 0 if none is to be taken. Workers limit how many a run has: another one's do not count.
func (p *picker) slotFor(t Task) int {
	switch {
	case p.opts.Here:
		return Here
	case !p.opts.Slots:
		return 0
	}
	free := func(n int) bool { return p.taken(slotLock+strconv.Itoa(n), 1).Name == "" }
	n := int(p.g.number(lastSlotSQL, ":task", t.N))
	if n == 0 || n == Here || !free(n) {
		for n = 1; !free(n); n++ {
		}
	}
	return n
}

// take takes the slot and the locks of the task that was found, and its agent's start.
func (p *picker) take(c Claim) {
	g, names := p.g, slices.Clip(p.found.locks)
	if c.Slot > 0 {
		names = append(names, slotLock+strconv.Itoa(c.Slot))
	}
	if gate, gated := p.gate(p.found); gated {
		names = append(names, agentLock+p.found.agent)
		if gate.StartEvery > 0 {
			g.tx.Do(startedSQL, ":agent", p.found.agent, ":next", g.now.Add(gate.StartEvery).UnixMilli())
		}
	}
	for _, name := range names {
		g.tx.Do(takeLockSQL, ":name", name, ":attempt", c.Attempt, ":task", c.Task.ID)
	}
}
