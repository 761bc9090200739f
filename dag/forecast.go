package dag

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/forecast"
)

const (
	maxForecast = 10_000 // tasks that a forecast is about at most
	// pastAttempts is how many of the last attempts count: what is older says less about the next ones, and reading it costs more
	// with each year.
	pastAttempts = 2000
)

// An attempt that died with its run ended when its run was last heard of; when it was noticed says nothing.
const pastAttemptsSQL = `
SELECT a.task_id, t.kind, octet_length(t.title) + octet_length(t.description), a.agent, a.model, a.outcome,
    coalesce(iif(a.phase = 'settled', a.ended_at, a.heartbeat_at) - a.started_at, -1), a.cost_usd, a.cost_unknown, a.cost_estimated
FROM attempts a LEFT JOIN tasks t ON t.n = a.task
WHERE a.n > (SELECT max(n) FROM attempts) - :limit ORDER BY a.n;`

// PastAttempts lists the last attempts as a forecast needs them, oldest first.
func (g History) PastAttempts() ([]forecast.Attempt, error) {
	return db.All(g.tx, pastAttemptsSQL, func(r *db.Row) forecast.Attempt {
		a := forecast.Attempt{Task: r.Text()}
		a.Traits = forecast.Traits{Kind: r.Text(), Size: forecast.SizeOf(r.Int()), Agent: r.Text(), Model: r.Text()}
		a.Outcome, a.Took = event.AttemptOutcome(r.Text()), r.Duration()
		a.CostUSD, a.CostUnknown, a.CostEstimated = db.Optional(r, r.Float), r.Bool(), r.Bool()
		return a
	}, ":limit", pastAttempts)
}

// Of groups also those that failed, if something in them is open. A task that nobody can claim before a person did
// something is stuck.
const (
	isOpenSQL   = `(t.status IN ('pending', 'in_progress', 'blocked') OR t.status = 'failed' AND t.children > 0)`
	openColumns = `SELECT t.n, t.parent, t.id, substr(t.title, 1, 500), t.kind, octet_length(t.title) + octet_length(t.description), t.agent, t.model, t.children > 0,
    t.status = 'blocked' OR t.paused OR t.given_up OR t.review OR t.asks > 0 OR t.emptied, t.held, t.doomed, t.status = 'failed',
    EXISTS (SELECT 1 FROM tasks c WHERE c.parent = t.n AND c.status = 'failed' AND c.on_fail IS NULL),
    EXISTS (SELECT 1 FROM tasks c WHERE c.parent = t.n AND c.status = 'cancelled' AND NOT c.satisfied), t.on_fail IS NOT NULL,
    t.status = 'in_progress' OR t.unverified IS NOT NULL, t.priority, t.not_before, t.locks, t.paths `
	waitsFor = `SELECT t.n, d.blocker `
	inWay    = ` CROSS JOIN dependencies d ON d.blocked = t.n CROSS JOIN tasks b ON b.n = d.blocker WHERE NOT b.satisfies AND ` + isOpenSQL

	ofAll     = `FROM tasks t`
	ofFeature = `FROM tasks t INDEXED BY tasks_feature`
	ofTree    = `FROM sub CROSS JOIN tasks t ON t.n = sub.n`

	nodesAllSQL     = openColumns + ofAll + ` WHERE ` + isOpenSQL + ` ORDER BY t.n;`
	nodesFeatureSQL = openColumns + ofFeature + ` WHERE t.feature = :feature AND ` + isOpenSQL + ` ORDER BY t.n;`
	nodesTreeSQL    = trees + openColumns + ofTree + ` WHERE ` + isOpenSQL + ` ORDER BY t.n;`

	waitsForAllSQL     = waitsFor + ofAll + inWay + `;`
	waitsForFeatureSQL = waitsFor + ofFeature + inWay + ` AND t.feature = :feature;`
	waitsForTreeSQL    = trees + waitsFor + ofTree + inWay + `;`
)

// OpenGraph reads what is open in a scope as a forecast needs it, by what a claim with these options would look at. What waits for
// a task outside of the scope cannot begin.
func (g Tasks) OpenGraph(opts ClaimOptions) (in forecast.Input, err error) {
	t, err := g.Tally(opts.Scope)
	if err != nil {
		return in, err
	}
	if n := t.Open(); n > maxForecast {
		return in, fmt.Errorf("%w: %d tasks are open, and a forecast is about %d at most", ErrRefused, n, maxForecast)
	}
	queries, args, err := scoped(g.transaction, opts.Scope, [2]string{nodesAllSQL, waitsForAllSQL}, [2]string{nodesFeatureSQL, waitsForFeatureSQL}, [2]string{nodesTreeSQL, waitsForTreeSQL})
	if err != nil {
		return in, err
	}
	in.KeepGoing = opts.KeepGoing
	locks := lockTable{in: &in, opts: opts, places: map[string]int{}}
	at, parents, kept := map[int64]int{}, []int64{}, []bool{}
	for r := range g.tx.Rows(queries[0], args...) {
		at[r.Int64()] = len(in.Nodes)
		parents = append(parents, r.Int64())
		n := forecast.Node{ID: r.Text(), Title: r.Text(), Parent: -1}
		n.Traits = forecast.Traits{Kind: r.Text(), Size: forecast.SizeOf(r.Int()), Agent: cmp.Or(r.Text(), opts.Skip.Agent), Model: r.Text()}
		n.Group, n.Stuck = r.Bool(), r.Bool()
		held, doomed := r.Bool(), r.Bool()
		kept = append(kept, held || doomed && !opts.KeepGoing)
		n.Failed, n.HasFailed, n.HasCancelled, n.Excused, n.First, n.Priority = r.Bool(), r.Bool(), r.Bool(), r.Bool(), r.Bool(), r.Int()
		if until := r.Time(); until.After(g.now) {
			n.NotBefore = until.Sub(g.now)
		}
		if names := lockNames(db.List[string](r), db.List[string](r)); !n.Group {
			n.Locks = locks.of(n.Agent, names)
		}
		in.Nodes = append(in.Nodes, n)
	}
	for i, p := range parents {
		if group, inside := at[p]; inside {
			in.Nodes[i].Parent = group
		} else if kept[i] { // by what is above the scope
			in.Nodes[i].Stuck = true
		}
	}
	for r := range g.tx.Rows(queries[1], args...) {
		n := &in.Nodes[at[r.Int64()]]
		if blocker, inside := at[r.Int64()]; inside {
			n.After = append(n.After, blocker)
		} else {
			n.Stuck = true
		}
	}
	return in, g.tx.Err()
}

// lockTable numbers the locks of a graph.
type lockTable struct {
	in     *forecast.Input
	opts   ClaimOptions
	names  []string
	places map[string]int
}

// maxLockNames bounds the comparing of each lock with all others. What has further locks is simulated without them.
const maxLockNames = 1000

// of is the locks of a task, with the place of its agent if those are limited.
func (l *lockTable) of(agent string, names []string) (list []int) {
	gate, named := l.opts.Agents[agent]
	if !named {
		gate = l.opts.Agents[""]
	}
	if gate.AtOnce > 0 {
		names = append(names, agentLock+agent)
	}
	for _, name := range names {
		at, known := l.places[name]
		if !known && len(l.names) == maxLockNames {
			continue
		}
		if !known {
			at = l.add(name, gate.AtOnce)
		}
		list = append(list, at)
	}
	return list
}

func (l *lockTable) add(name string, atOnce int) int {
	at, limit := len(l.names), max(l.opts.Locks[name], 1)
	switch {
	case strings.HasPrefix(name, pathLock):
		limit = 1
	case strings.HasPrefix(name, agentLock):
		limit = atOnce
	}
	lock := forecast.Lock{Limit: limit, Excludes: []int{at}}
	for i, other := range l.names {
		if excludes(name, other) {
			lock.Excludes = append(lock.Excludes, i)
			l.in.Locks[i].Excludes = append(l.in.Locks[i].Excludes, at)
		}
	}
	l.in.Locks, l.names, l.places[name] = append(l.in.Locks, lock), append(l.names, name), at
	return at
}

// Forecast is what was forecast of a run when it began.
type Forecast struct {
	Tasks, Past      int // that it was about, and based on
	Took             forecast.Span
	Cost             *forecast.Money // nil if it was not known of all tasks
	Until            time.Time       // when the run was to stop; zero for never
	DoneP50, DoneP90 int
	Waited           time.Duration // by the run, for rate limits, of which a forecast knows nothing
}

const (
	keepForecastSQL = `
INSERT INTO forecasts (run, tasks, past, took_p50, took_p90, cost_p50, cost_p90, until_at, done_p50, done_p90)
SELECT n, :tasks, :past, :took50, :took90, :cost50, :cost90, :until, :done50, :done90 FROM runs WHERE id = :run ON CONFLICT DO NOTHING;`
	forecastSQL = `
SELECT f.tasks, f.past, f.took_p50, f.took_p90, f.cost_p50, f.cost_p90, f.until_at, f.done_p50, f.done_p90, r.waited
FROM runs r CROSS JOIN forecasts f ON f.run = r.n WHERE r.id = :run;`
)

// KeepForecast stores what was forecast of a run, for its report. The first one stays.
func (g History) KeepForecast(run string, f Forecast) error {
	var cost50, cost90, until any
	if f.Cost != nil {
		cost50, cost90 = f.Cost.P50, f.Cost.P90
	}
	if !f.Until.IsZero() {
		until = f.Until.UnixMilli()
	}
	return g.tx.Exec(keepForecastSQL, ":run", run, ":tasks", f.Tasks, ":past", f.Past, ":took50", f.Took.P50.Milliseconds(), ":took90", f.Took.P90.Milliseconds(),
		":cost50", cost50, ":cost90", cost90, ":until", until, ":done50", f.DoneP50, ":done90", f.DoneP90)
}

// ForecastOf is what was forecast of a run; nil if nothing was.
func (g History) ForecastOf(run string) (*Forecast, error) {
	list, err := db.All(g.tx, forecastSQL, func(r *db.Row) *Forecast {
		f := &Forecast{Tasks: r.Int(), Past: r.Int(), Took: forecast.Span{P50: r.Duration(), P90: r.Duration()}}
		if cost50, cost90 := db.Optional(r, r.Float), db.Optional(r, r.Float); cost50 != nil && cost90 != nil {
			f.Cost = &forecast.Money{P50: *cost50, P90: *cost90}
		}
		f.Until, f.DoneP50, f.DoneP90, f.Waited = r.Time(), r.Int(), r.Int(), r.Duration()
		return f
	}, ":run", run)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}
