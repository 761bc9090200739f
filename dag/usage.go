package dag

import (
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
)

// Usage is what attempts have used, added up.
type Usage struct {
	event.Usage
	Attempts int           // that counted: not those that a limit or an interruption ended; of a feature and a day also those under way
	Failures int           // of a feature and a day: tasks in a row that failed, and still have
	Worked   time.Duration // from beginning to end, but for those that a limit ended
}

// What a live run's own attempts use changes from moment to moment, and the run knows it better; so its open attempts are
// left out. What is over is added up by triggers, so that asking costs the same after ten attempts and after ten thousand.
const (
	amounts      = ` attempts, tokens_in, tokens_cached, tokens_out, cost_usd, cost_estimated, cost_unknown, worked `
	usageColumns = `
SELECT coalesce(sum(attempts), 0), sum(tokens_in), sum(tokens_cached), sum(tokens_out), round(sum(cost_usd), 9),
    coalesce(max(cost_estimated > 0), 0), coalesce(sum(cost_unknown), 0), coalesce(sum(worked), 0) FROM `
	spent     = usageColumns + `(SELECT` + amounts + `FROM spent WHERE scope = `
	notOurs   = ` run IS NOT (SELECT n FROM runs WHERE id = :run)`
	open      = ` UNION ALL SELECT` + amounts + `FROM used WHERE ended_at IS NULL AND` + notOurs
	chainRuns = ` IN (SELECT r.n FROM chain JOIN runs r ON r.id = chain.id)`

	usageOfRunSQL     = spent + `'run' AND key = (SELECT n FROM runs WHERE id = :run));`
	usageOfAllSQL     = spent + `'run'` + open + `);`
	usageOfChainSQL   = chain + spent + `'run' AND key` + chainRuns + open + ` AND +run` + chainRuns + `);`
	usageOfTaskSQL    = usageColumns + `used WHERE task = :task AND started_at >= :since AND (ended_at IS NOT NULL OR` + notOurs + `);`
	usageOfFeatureSQL = spent + `'feature' AND key = :feature` + open + ` AND feature = :feature);`
	// What began before the first whole quarter of an hour is looked up.
	usageSinceSQL = spent + `'quarter' AND key >= (:since + 899999) / 900000
    UNION ALL SELECT` + amounts + `FROM used WHERE started_at >= :since AND started_at < (:since + 899999) / 900000 * 900000 AND ended_at IS NOT NULL` +
		open + ` AND +started_at >= :since);`
)

// UsageOfRun adds up what a run has used itself.
func (g History) UsageOfRun(run string) (Usage, error) { return g.usage(usageOfRunSQL, ":run", run) }

// Usage adds up what all runs have used, and planning.
func (g History) Usage() (event.Usage, error) {
	u, _ := g.usage(usageOfAllSQL, ":run", "")
	p, err := g.usage(plannedSinceSQL, ":since", 0)
	return u.Add(p.Usage), err
}

// UsageOfChain adds up what a run has used, with the runs that it continues.
func (g History) UsageOfChain(run string) (Usage, error) {
	return g.usage(usageOfChainSQL, ":run", run)
}

// UsageOfTask adds up what was used for a task since it was last reset, without
// what that run is using now.
func (g History) UsageOfTask(t Task, run string) (Usage, error) {
	return g.usage(usageOfTaskSQL, ":task", t.N, ":since", t.StartedAt.UnixMilli(), ":run", run)
}

// UsageOfFeature adds up what was used for planning a feature, and for the tasks of it
// that exist.
func (g History) UsageOfFeature(name, run string) (Usage, error) {
	n, err := g.featureNumber(name)
	if err != nil {
		return Usage{}, err
	}
	return g.usageOfRuns(usageOfFeatureSQL, plannedFeatureSQL, countFeatureSQL, run, ":feature", n)
}

// UsageSince adds up all attempts, and sessions of planning, that began at that moment
// or later.
func (g History) UsageSince(since time.Time, run string) (Usage, error) {
	return g.usageOfRuns(usageSinceSQL, plannedSinceSQL, countSinceSQL, run, ":since", since.UnixMilli())
}

// A task that failed counts as long as it is failed: a person who resets it has
// looked at it.
const (
	underWay        = `SELECT (SELECT count(*) FROM attempts WHERE ended_at IS NULL AND `
	failedSince     = `), count(DISTINCT a.task) FROM attempts a JOIN tasks t ON t.n = a.task WHERE t.status = 'failed' AND a.outcome = 'failed' AND a.ended_at > `
	countFeatureSQL = underWay + `feature = :feature` + failedSince + `
    max(coalesce((SELECT max(ended_at) FROM attempts WHERE feature = :feature AND outcome = 'done' AND ended_at > 0), 0),
        coalesce((SELECT max(ended_at) FROM attempts WHERE feature = :feature AND outcome = 'already_done' AND ended_at > 0), 0)) AND a.feature = :feature;`
	countSinceSQL = underWay + `+started_at >= :since` + failedSince + `
    max(coalesce((SELECT max(ended_at) FROM attempts WHERE started_at >= :since AND outcome = 'done' AND ended_at >= :since), :since - 1),
        coalesce((SELECT max(ended_at) FROM attempts WHERE started_at >= :since AND outcome = 'already_done' AND ended_at >= :since), 0)) AND a.started_at >= :since;`
)

// usageOfRuns adds planning, and counts what concerns more than one run: attempts that
// have begun, because others may run at the same time, and tasks that failed.
func (g History) usageOfRuns(used, planned, count, run string, args ...any) (Usage, error) {
	u, _ := g.usage(used, append(args, ":run", run)...)
	p, _ := g.usage(planned, args...)
	u.Usage, u.Worked = u.Add(p.Usage), u.Worked+p.Worked
	for r := range g.tx.Rows(count, args...) {
		u.Attempts, u.Failures = u.Attempts+r.Int(), r.Int()
	}
	return u, g.tx.Err()
}

func (g History) usage(query string, args ...any) (Usage, error) {
	return db.One(g.tx, query, func(r *db.Row) Usage {
		return Usage{Attempts: r.Int(), Usage: usageOf(r), Worked: r.Duration()}
	}, args...)
}
