package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/db"
	"ralph/internal/lazyregexp"
)

// FeatureStatus is where a feature stands. It is rolled up from the tasks each
// time it is read, and from how far planning came while there are none.
type FeatureStatus string

// The six statuses of a feature.
const (
	FeatureDraft   FeatureStatus = "draft"   // an idea
	FeaturePlanned FeatureStatus = "planned" // a plan, no tasks yet
	FeatureReady   FeatureStatus = "ready"   // tasks, none of them started
	FeatureRunning FeatureStatus = "running" // started, nothing failed, or an agent is at work
	FeatureDone    FeatureStatus = "done"    // every task done or cancelled, or failed where that stops nobody
	FeatureFailed  FeatureStatus = "failed"  // a task failed and none is running
)

// Feature is a named set of tasks.
type Feature struct {
	N         int64
	ID        string
	Name      string
	Status    FeatureStatus
	Tasks     map[Status]int // how many of each
	Groups    map[Status]int // which are no tasks
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Total is the number of tasks.
func (f Feature) Total() int { return sum(f.Tasks) }

// rollUp looks at groups too: one that is kept back keeps back its feature. Excused are those that failed, and nobody has to wait for.
func (f Feature) rollUp(stage FeatureStatus, excused Tally) FeatureStatus {
	switch {
	case f.Total() == 0:
		return stage
	case f.Tasks[InProgress] > 0:
		return FeatureRunning
	case ended(f.Tasks)+sum(excused.ByStatus) == f.Total() && ended(f.Groups)+sum(excused.Groups) == sum(f.Groups):
		return FeatureDone
	case f.Tasks[Failed]+f.Groups[Failed] > 0:
		return FeatureFailed
	case f.Tasks[Done] > 0:
		return FeatureRunning
	default:
		return FeatureReady
	}
}

var featureName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckFeatureName refuses names that could be taken for a path or an ID.
func CheckFeatureName(name string) error {
	switch {
	case !featureName.Get().MatchString(name), strings.Contains(name, ".."), strings.HasSuffix(name, "."):
		return fmt.Errorf("%w: %q is no feature name: up to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit", ErrRefused, name)
	case strings.EqualFold(name, "none"):
		return fmt.Errorf("%w: %q is no feature name: it means no feature", ErrRefused, name)
	case slices.Contains([]string{"t-", "f-", "r-", "a-"}, strings.ToLower(name[:min(2, len(name))])):
		return fmt.Errorf("%w: %q is no feature name: names that begin with %q look like an ID", ErrRefused, name, name[:2])
	}
	return nil
}

const addFeatureSQL = `
INSERT INTO features (id, name, created_at, updated_at) VALUES (:id, :name, :now, :now);`

// AddFeature makes a draft and returns it; a name that exists is refused,
// also in another case, because it is also a folder's name.
func (g Plan) AddFeature(name string) (Feature, error) {
	if err := CheckFeatureName(name); err != nil {
		return Feature{}, err
	}
	if found, _ := g.features(featureSQL, ":typed", name); len(found) > 0 {
		return Feature{}, fmt.Errorf("%w: feature %s exists (%s)", ErrRefused, found[0].Name, found[0].ID)
	}
	g.tx.Do(addFeatureSQL, ":id", g.newID("f-"), ":name", name, ":now", g.millis())
	return g.Feature(name)
}

const (
	featuresSQL      = `SELECT n, id, name, stage, created_at, updated_at FROM features ORDER BY n;`
	featureSQL       = `SELECT n, id, name, stage, created_at, updated_at FROM features WHERE name = :typed OR id = :typed;`
	featureFromSQL   = `SELECT n, id, name, stage, created_at, updated_at FROM features WHERE id >= :from AND id < :to ORDER BY id LIMIT 4;`
	excusedSQL       = `SELECT status, children > 0, -1, count(*) FROM tasks WHERE feature = :feature AND status = 'failed' AND satisfies GROUP BY children > 0;`
	featureNamesSQL  = `SELECT name FROM features ORDER BY n;`
	featureNumberSQL = `SELECT n FROM features WHERE name = :name;`
)

// Feature returns the feature with that name, or ID, or beginning of an ID.
func (g Plan) Feature(typed string) (Feature, error) {
	list, err := g.features(featureSQL, ":typed", typed)
	if len(list) == 0 && strings.HasPrefix(typed, "f-") && len(typed) > 2 {
		list, err = g.features(featureFromSQL, ":from", typed, ":to", typed+"\U0010ffff")
	}
	if len(list) > 1 {
		return Feature{}, fmt.Errorf("feature %q: %w: %s, %s", typed, ErrAmbiguous, list[0].ID, list[1].ID)
	}
	if err != nil || len(list) == 1 {
		return only(list, err, "")
	}
	missing := &MissingError{Kind: "feature", Typed: typed}
	missing.Known, err = db.All(g.tx, featureNamesSQL, (*db.Row).Text)
	return Feature{}, cmp.Or[error](err, missing)
}

// Features lists all of them, oldest first.
func (g Plan) Features() ([]Feature, error) { return g.features(featuresSQL) }

func (g Plan) features(query string, args ...any) ([]Feature, error) {
	list, _ := db.All(g.tx, query, func(r *db.Row) Feature {
		return Feature{N: r.Int64(), ID: r.Text(), Name: r.Text(), Status: FeatureStatus(r.Text()), CreatedAt: r.Time(), UpdatedAt: r.Time()}
	}, args...)
	for i := range list {
		f := &list[i]
		t := g.count(countsFeatureSQL, ":feature", f.N)
		f.Tasks, f.Groups = t.ByStatus, t.Groups
		var excused Tally
		if f.Tasks[Failed]+f.Groups[Failed] > 0 {
			excused = g.count(excusedSQL, ":feature", f.N)
		}
		f.Status = f.rollUp(f.Status, excused)
	}
	return list, g.tx.Err()
}

// featureNumber returns 0 for the empty name.
func (g *transaction) featureNumber(name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	n := g.number(featureNumberSQL, ":name", name)
	if g.tx.Err() == nil && n == 0 {
		return 0, fmt.Errorf("feature %q: %w", name, ErrNotFound)
	}
	return n, g.tx.Err()
}

const (
	featureRootsSQL  = `SELECT n FROM tasks WHERE feature = :n AND parent IS NULL;`
	deleteFeatureSQL = `DELETE FROM features WHERE n = :n;`
)

// DeleteFeature removes the feature with all of its tasks.
func (g Plan) DeleteFeature(name string) error {
	n, err := g.featureNumber(name)
	if err != nil {
		return err
	}
	g.clearFeature(n)
	return g.tx.Exec(deleteFeatureSQL, ":n", n)
}

// sortByClaim puts tasks in the order of claims: finished work first, then by priority and age.
func sortByClaim(list []Task) {
	works := func(t Task) int {
		if t.Unverified != "" {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b Task) int {
		return cmp.Or(works(a)-works(b), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.N, b.N))
	})
}

const stageSQL = `UPDATE features SET stage = :stage, updated_at = :now WHERE n = :n;`

// SetStage says how far the planning of a feature came: draft or planned. It shows
// while there are no tasks; with tasks, they say where the feature stands.
func (g Plan) SetStage(name string, stage FeatureStatus) error {
	if stage != FeatureDraft && stage != FeaturePlanned {
		return fmt.Errorf("%w: planning is draft or planned, not %q", ErrRefused, stage)
	}
	n, err := g.featureNumber(name)
	if err != nil {
		return err
	}
	return g.tx.Exec(stageSQL, ":n", n, ":stage", string(stage), ":now", g.millis())
}

// ClearFeature removes all tasks of a feature and keeps the feature. While one of
// them runs it is refused: its agent would work for nothing.
func (g Plan) ClearFeature(name string) error {
	f, err := g.Feature(name)
	if err != nil {
		return err
	}
	if running := f.Tasks[InProgress]; running > 0 {
		return fmt.Errorf("%w: %d of its tasks are running", ErrRefused, running)
	}
	g.clearFeature(f.N)
	return g.tx.Err()
}

func (g Plan) clearFeature(n int64) {
	for _, root := range g.numbers(featureRootsSQL, ":n", n) {
		g.deleteTree(g.node(root))
	}
}

const (
	featureGatesSQL    = `SELECT gates FROM features WHERE name = :name;`
	setFeatureGatesSQL = `UPDATE features SET gates = :gates, updated_at = :now WHERE n = :n;`
)

// FeatureGates lists the commands that check every task of a feature.
func (g Plan) FeatureGates(name string) ([]string, error) {
	return db.One(g.tx, featureGatesSQL, db.List[string], ":name", name)
}

// SetFeatureGates replaces the commands that check every task of a feature.
func (g Plan) SetFeatureGates(name string, gates []string) error {
	n, err := g.featureNumber(name)
	if err != nil {
		return err
	}
	if err := checkCommands("gate", gates); err != nil {
		return err
	}
	return g.tx.Exec(setFeatureGatesSQL, ":n", n, ":gates", db.JSON(gates), ":now", g.millis())
}
