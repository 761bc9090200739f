package dag

import (
	"cmp"
	"fmt"

	"ralph/internal/db"
)

// Review is what a reviewer looks at: all that changed since a feature began.
type Review struct {
	Focus  string   // "" for an acceptance, which asks whether the specification is fulfilled
	Last   bool     // what an acceptance misses now becomes no task any more
	Tree   string   // what the feature's first attempt began with; "" if nobody knows
	Others []string // files that have changed since, but only for other features
	Differ []string // what gates say with the checks that the feature began with, where they do not pass
}

// Acceptance says that the review is one of the specification.
func (r *Review) Acceptance() bool { return r != nil && r.Focus == "" }

// NewReview is a task in which a reviewer looks at a feature.
type NewReview struct {
	Focus string
	NewTask
}

// maxRounds is how often reviewers look, unless there is other work than on what they found. An acceptance comes once
// more: what the first two miss becomes tasks.
const (
	maxRounds      = 2
	maxAcceptances = 3
)

// Acceptances are the reviews without a focus.
const (
	lastReviewSQL = `
SELECT r.round, t.created_at FROM tasks t JOIN reviews r ON r.task = t.n
WHERE t.feature = :feature AND r.round > 0 AND (r.focus = '') = :acceptance ORDER BY t.n DESC LIMIT 1;`
	// The files of an attempt that died are not stored. The first acceptance looks whether or not something changed, and
	// so does one after work on what another missed: that may have been there before. What a person did has no attempt; what
	// a plan file brought as done was looked at where that was done.
	// What comes of work on a finding is work on it, too, however an agent adds it: it must not have reviewers start over.
	nextRoundSQL = `
WITH up (task, n) AS (
    SELECT n, n FROM tasks t WHERE feature = :feature AND finished_at > :since AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.task = t.n AND r.round > 0)
    UNION SELECT up.task, t.parent FROM up JOIN tasks t ON t.n = up.n WHERE t.parent IS NOT NULL
    UNION SELECT up.task, o.n FROM up JOIN tasks t ON t.n = up.n JOIN tasks o ON o.id = t.discovered_from
    UNION SELECT up.task, a.caller FROM up JOIN added a ON a.task = up.n WHERE a.caller IS NOT NULL
), found (task, focus) AS (SELECT up.task, min(r.focus) FROM up LEFT JOIN reviews r ON r.task = up.n GROUP BY up.task)
SELECT CASE WHEN max(focus IS NULL) THEN 1 WHEN count(*) > 0 THEN :round + 1 ELSE 0 END FROM found JOIN tasks t ON t.n = found.task
WHERE EXISTS (SELECT 1 FROM attempts a WHERE a.task = t.n AND a.files <> '[]')
    OR EXISTS (SELECT 1 FROM merges m WHERE m.task = t.n AND m.state = 'landed' AND m.candidate <> m.onto)
    OR :acceptance AND CASE WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.task = t.n) THEN :round = 0 OR focus = ''
        ELSE t.children = 0 AND t.finished_at > t.created_at AND (:round = 0 OR t.status = 'done') END;`
	insertReviewSQL = `INSERT INTO reviews (task, focus, round) SELECT n, :focus, :round FROM tasks WHERE id = :id;`
)

// AddReviews adds reviews to a feature whose tasks are all done, if one that changed something was done since the last
// reviews, and says whether it did. Where all of those were about findings, there is a second round, and no third.
func (g Plan) AddReviews(feature string, reviews []NewReview) (added bool, err error) {
	return g.addRound(feature, false, maxRounds, reviews)
}

// AddAcceptance adds the task in which a verifier compares a feature with its specification, after its tasks and all
// reviews are done, and again after work on what it missed. It says whether it did.
func (g Plan) AddAcceptance(t NewTask) (added bool, err error) {
	return g.addRound(t.Feature, true, maxAcceptances, []NewReview{{NewTask: t}})
}

// ReviewsDue says that AddReviews would add something.
func (g Plan) ReviewsDue(feature string) (bool, error) {
	round, err := g.nextRound(feature, false, maxRounds)
	return round > 0, err
}

// AcceptanceDue says that AddAcceptance would add something.
func (g Plan) AcceptanceDue(feature string) (bool, error) {
	round, err := g.nextRound(feature, true, maxAcceptances)
	return round > 0, err
}

// nextRound is the round of reviews that is due; 0 if none is.
func (g Plan) nextRound(feature string, acceptance bool, most int) (round int, err error) {
	f, err := g.Feature(feature)
	if err != nil || f.Status != FeatureDone || f.Tasks[Done] == 0 {
		return 0, err
	}
	var since int64
	for r := range g.tx.Rows(lastReviewSQL, ":feature", f.N, ":acceptance", acceptance) {
		round, since = r.Int(), r.Int64()
	}
	round = int(g.number(nextRoundSQL, ":feature", f.N, ":round", round, ":since", since, ":acceptance", acceptance))
	if round > most {
		round = 0
	}
	return round, g.tx.Err()
}

func (g Plan) addRound(feature string, acceptance bool, most int, reviews []NewReview) (added bool, err error) {
	round, err := g.nextRound(feature, acceptance, most)
	if err != nil || round == 0 {
		return false, err
	}
	for _, r := range reviews {
		id, err := g.Add(r.NewTask)
		if err != nil {
			return false, err
		}
		g.tx.Do(insertReviewSQL, ":id", id, ":focus", r.Focus, ":round", round)
	}
	return len(reviews) > 0, g.tx.Err()
}

const likeSQL = `SELECT id FROM tasks WHERE feature = :feature AND title = :title AND status <> 'done' LIMIT 1;`

// AddFinding adds the task that a finding becomes, and returns its ID; without a focus, it is one of an acceptance. It is refused
// if the feature has one with the same title that is not done.
func (g Plan) AddFinding(focus string, t NewTask) (string, error) {
	feature, err := g.featureNumber(t.Feature)
	if err != nil {
		return "", err
	}
	if like, err := db.One(g.tx, likeSQL, (*db.Row).Text, ":feature", feature, ":title", t.Title); err != nil || like != "" {
		return "", cmp.Or(err, fmt.Errorf("%w: %s says the same", ErrRefused, like))
	}
	id, err := g.Add(t)
	if err != nil {
		return "", err
	}
	return id, g.tx.Exec(insertReviewSQL, ":id", id, ":focus", focus, ":round", 0)
}

const reviewsSQL = `SELECT t.id FROM reviews r JOIN tasks t ON t.n = r.task WHERE r.round > 0;`

// Reviews lists the tasks that are reviews.
func (g Plan) Reviews() ([]string, error) { return db.All(g.tx, reviewsSQL, (*db.Row).Text) }

// Acceptance is what a plan file says of one: which round it is, or 0 for what one missed, and why it failed.
type Acceptance struct {
	Round   int
	Missing string
}

const (
	acceptancesSQL = `SELECT v.task, t.id, v.round, t.status FROM reviews v JOIN tasks t ON t.n = v.task WHERE v.focus = '';`
	// One that was put away has its row again.
	acceptanceSQL = `INSERT INTO reviews (task, focus, round) VALUES (:task, '', :round) ON CONFLICT (task) DO UPDATE SET focus = '', round = :round WHERE (focus, round) <> ('', :round);`
)

// Acceptances are the acceptances of features, and the tasks of what they missed, by ID.
func (g Plan) Acceptances() (map[string]Acceptance, error) {
	all, failed := map[string]Acceptance{}, map[string]int64{}
	for r := range g.tx.Rows(acceptancesSQL) {
		n, id, round := r.Int64(), r.Text(), r.Int()
		if all[id] = (Acceptance{Round: round}); round > 0 && Status(r.Text()) == Failed {
			failed[id] = n
		}
	}
	for id, n := range failed {
		why, err := g.tasks().LastFailure(Task{N: n})
		if err != nil {
			return nil, err
		}
		all[id] = Acceptance{all[id].Round, why}
	}
	return all, g.tx.Err()
}

// accept stores what a plan says of acceptances.
func (a *applying) accept() {
	for _, t := range a.tasks {
		if t.deleted || t.spec == nil || t.spec.Acceptance == nil {
			continue
		}
		a.graph.tx.Do(acceptanceSQL, ":task", t.n, ":round", *t.spec.Acceptance)
		if why, _ := a.graph.tasks().LastFailure(Task{N: t.n}); t.status == Failed && t.spec.Missing != "" && why != t.spec.Missing { // the transaction keeps its first error
			a.graph.log(t.n, LogFailure, t.spec.Missing)
		}
	}
}

const unacceptedSQL = `SELECT t.id FROM reviews r JOIN tasks t ON t.n = r.task WHERE r.round > 0 AND r.focus = '' AND t.status = 'failed';`

// Unaccepted says of features in scope what their acceptances failed for, by the name of the feature.
func (g Plan) Unaccepted(scope Scope) (why map[string]string, err error) {
	ids, err := db.All(g.tx, unacceptedSQL, (*db.Row).Text)
	why = map[string]string{}
	for _, id := range ids {
		t, _ := g.tasks().Get(id) // the first error of the database is that of all that follow
		if scope.Covers(id, t.Feature) {
			why[t.Feature], err = g.tasks().LastFailure(t)
		}
	}
	return why, err
}

const (
	focusSQL = `SELECT focus, round FROM reviews WHERE task = :task AND round > 0;`
	firstSQL = `
SELECT a.n, a.tree FROM tasks t JOIN attempts a ON a.task = t.n WHERE t.feature = :feature AND a.tree IS NOT NULL
AND a.slot IS NOT NULL ORDER BY a.n LIMIT 1;`
	othersSQL = `
SELECT f.value FROM attempts a JOIN tasks t ON t.n = a.task, json_each(a.files) f WHERE a.n > :first AND t.feature IS NOT :feature
EXCEPT
SELECT f.value FROM tasks t JOIN attempts a ON a.task = t.n, json_each(a.files) f WHERE t.feature = :feature;`
	differSQL = `
SELECT g.value ->> 'command' || ': ' || (g.value ->> 'exit') FROM tasks t JOIN attempts a ON a.task = t.n, json_each(a.gates) g
WHERE t.feature = :feature AND t.status = 'done' AND g.value ->> 'verdict' = 'first_checks'
    AND a.n = (SELECT max(l.n) FROM attempts l WHERE l.task = t.n) ORDER BY a.n;`
	notLastSQL = `
SELECT count(*) FROM tasks t WHERE t.feature = :feature AND t.n <> :task AND t.children = 0 AND t.status NOT IN ('done', 'cancelled', 'failed')
    AND NOT EXISTS (SELECT 1 FROM merges m WHERE m.task = t.n AND m.state IN ('testing', 'green', 'landing', 'held'));`
)

// Review says what a task looks at; nil if it is no review.
func (g Plan) Review(t Task) (*Review, error) {
	var r *Review
	for row := range g.tx.Rows(focusSQL, ":task", t.N) {
		r = &Review{Focus: row.Text()}
		r.Last = r.Acceptance() && row.Int() >= maxAcceptances
	}
	if r == nil {
		return nil, g.tx.Err()
	}
	feature, err := g.featureNumber(t.Feature)
	if err != nil || feature == 0 { // a person moved it
		return r, err
	}
	var first int64
	first, r.Tree = g.firstAttempt(feature)
	r.Others, _ = db.All(g.tx, othersSQL, (*db.Row).Text, ":first", first, ":feature", feature) // the transaction keeps its first error
	r.Differ, err = db.All(g.tx, differSQL, (*db.Row).Text, ":feature", feature)
	return r, err
}

// FeatureEnd is what a feature is compared with when the work of its last task is judged.
type FeatureEnd struct {
	Tree      string   // what its first attempt began with; "" if that is unknown
	MayChange []string // globs of the checks that its tasks may change
	Others    []string // files that have changed since, but only for other features
}

// FeatureEnd returns nil unless a task is the last of its feature: the others have ended, or their work lands before or waits for a person.
func (g Plan) FeatureEnd(t Task) (*FeatureEnd, error) {
	feature, err := g.featureNumber(t.Feature)
	if err != nil || feature == 0 || g.number(notLastSQL, ":feature", feature, ":task", t.N) > 0 {
		return nil, cmp.Or(err, g.tx.Err())
	}
	first, tree := g.firstAttempt(feature)
	end := FeatureEnd{Tree: tree}
	end.Others, _ = db.All(g.tx, othersSQL, (*db.Row).Text, ":first", first, ":feature", feature) // the transaction keeps its first error
	tasks, err := g.tasks().In(Scope{Feature: t.Feature})
	for _, task := range tasks {
		end.MayChange = append(end.MayChange, task.MayChange...)
	}
	return &end, err
}

// firstAttempt is that of a feature, and the tree that it began with. The transaction keeps an error.
func (g Plan) firstAttempt(feature int64) (n int64, tree string) {
	for row := range g.tx.Rows(firstSQL, ":feature", feature) {
		n, tree = row.Int64(), row.Text()
	}
	return n, tree
}
