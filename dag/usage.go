package dag

import (
	"time"

	"ralph/event"
	"ralph/internal/db"
)

// Usage is what attempts have used, added up.
type Usage struct {
	event.Usage
	Attempts int           // that counted: not those that a limit or an interruption ended; of a feature and a day also those under way
	Failures int           // of a feature and a day: tasks in a row that failed, and still have
	Worked   time.Duration // from beginning to end, but for those that a limit ended
}

// What a live run's own attempts use changes from moment to moment, and the run
// knows it better; so its open attempts are left out.
const (
	usageColumns = `
SELECT coalesce(sum(a.ended_at IS NOT NULL AND a.outcome NOT IN ('limited', 'interrupted')), 0),
    sum(a.tokens_in), sum(a.tokens_cached), sum(a.tokens_out), round(sum(a.cost_usd), 9),
    coalesce(max(a.cost_estimated), 0), coalesce(sum(a.cost_unknown), 0),
    coalesce(sum(iif(a.outcome = 'limited', 0, coalesce(a.ended_at, a.heartbeat_at) - a.started_at)), 0) `
	settledUsage = ` (a.ended_at IS NOT NULL OR a.run IS NOT (SELECT n FROM runs WHERE id = :run))`

	usageOfRunSQL   = usageColumns + `FROM runs r JOIN attempts a ON a.run = r.n WHERE r.id = :run AND` + settledUsage + `;`
	usageOfChainSQL = chain + usageColumns + `FROM chain JOIN runs r ON r.id = chain.id JOIN attempts a ON a.run = r.n WHERE` + settledUsage + `;`
	usageOfTaskSQL  = usageColumns + `FROM attempts a WHERE a.task = :task AND a.started_at >= :since AND` + settledUsage + `;`
	// The cross join keeps the planner from reading all attempts first.
	usageOfFeatureSQL = usageColumns + `
FROM tasks t INDEXED BY tasks_feature CROSS JOIN attempts a ON a.task = t.n WHERE t.feature = :feature AND` + settledUsage + `;`
	usageSinceSQL = usageColumns + `FROM attempts a INDEXED BY attempts_started WHERE a.started_at >= :since AND` + settledUsage + `;`
)

// UsageOfRun adds up what a run has used itself.
func (g *Graph) UsageOfRun(run string) (Usage, error) { return g.usage(usageOfRunSQL, ":run", run) }

// UsageOfChain adds up what a run has used, with the runs that it continues.
func (g *Graph) UsageOfChain(run string) (Usage, error) { return g.usage(usageOfChainSQL, ":run", run) }

// UsageOfTask adds up what was used for a task since it was last reset, without
// what that run is using now.
func (g *Graph) UsageOfTask(t Task, run string) (Usage, error) {
	return g.usage(usageOfTaskSQL, ":task", t.N, ":since", t.StartedAt.UnixMilli(), ":run", run)
}

// UsageOfFeature adds up what was used for planning a feature, and for the tasks of it
// that exist.
func (g *Graph) UsageOfFeature(name, run string) (Usage, error) {
	n, err := g.featureNumber(name)
	if err != nil {
		return Usage{}, err
	}
	return g.usageOfRuns(usageOfFeatureSQL, plannedFeatureSQL, countFeatureSQL, run, ":feature", n)
}

// UsageSince adds up all attempts, and sessions of planning, that began at that moment
// or later.
func (g *Graph) UsageSince(since time.Time, run string) (Usage, error) {
	return g.usageOfRuns(usageSinceSQL, plannedSinceSQL, countSinceSQL, run, ":since", since.UnixMilli())
}

// A task that failed counts as long as it is failed: a person who resets it has
// looked at it.
const (
	countColumns = `
SELECT coalesce(sum(a.ended_at IS NULL OR a.outcome NOT IN ('limited', 'interrupted')), 0),
    count(DISTINCT iif(t.status = 'failed' AND a.outcome = 'failed' AND a.ended_at > coalesce(done.at, 0), a.task, NULL)) `
	countFeatureSQL = countColumns + `
FROM (SELECT max(b.ended_at) AS at FROM tasks s INDEXED BY tasks_feature CROSS JOIN attempts b ON b.task = s.n
      WHERE s.feature = :feature AND b.outcome = 'done') done
    CROSS JOIN tasks t INDEXED BY tasks_feature CROSS JOIN attempts a ON a.task = t.n WHERE t.feature = :feature;`
	countSinceSQL = countColumns + `
FROM (SELECT max(b.ended_at) AS at FROM attempts b INDEXED BY attempts_started WHERE b.started_at >= :since AND b.outcome = 'done') done
    CROSS JOIN attempts a INDEXED BY attempts_started LEFT JOIN tasks t ON t.n = a.task WHERE a.started_at >= :since;`
)

// usageOfRuns adds planning, and counts what concerns more than one run: attempts that
// have begun, because others may run at the same time, and tasks that failed.
func (g *Graph) usageOfRuns(used, planned, count, run string, args ...any) (Usage, error) {
	u, _ := g.usage(used, append(args, ":run", run)...)
	p, _ := g.usage(planned, args...)
	u.Usage, u.Worked = u.Add(p.Usage), u.Worked+p.Worked
	for r := range g.tx.Rows(count, args...) {
		u.Attempts, u.Failures = r.Int(), r.Int()
	}
	return u, g.tx.Err()
}

func (g *Graph) usage(query string, args ...any) (Usage, error) {
	return db.One(g.tx, query, func(r *db.Row) Usage {
		return Usage{Attempts: r.Int(), Usage: usageOf(r), Worked: r.Duration()}
	}, args...)
}
