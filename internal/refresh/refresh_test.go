package refresh_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/refresh"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

// graph is a database on a real file.
type graph struct {
	*testing.T
	store *dag.Store
}

func newGraph(t *testing.T) graph {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	d, err := dag.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	return graph{t, dag.New(d, dag.Options{})}
}

func (g graph) try(do func(*dag.Graph) error) error { return g.store.Update(g.Context(), do) }

func (g graph) update(do func(*dag.Graph) error) {
	g.Helper()
	check.OK(g, g.try(do))
}

// imports imports a file with these tasks.
func (g graph) imports(at refresh.Place, specs ...dag.Spec) (done refresh.Imported) {
	g.Helper()
	g.update(func(tx *dag.Graph) (err error) { done, err = refresh.Import(tx, slices.Clone(specs), at); return err })
	return done
}

func (g graph) task(id string) (t dag.Task) {
	g.Helper()
	check.OK(g, g.store.View(g.Context(), func(tx *dag.Graph) (err error) { t, err = tx.Tasks.Get(id); return err }))
	return t
}

// story is a task of a file that numbers its tasks.
func story(number, title string, priority int64) dag.Spec {
	return dag.Spec{Line: 1, Ref: number, Origin: "prd:" + number, Detail: dag.Detail{Title: title, Priority: priority}}
}

var again = refresh.Place{Update: true, File: "plan.json", Exists: func(string) bool { return true }}

func TestAFileThatSaysTheSameChangesNothing(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	first := g.imports(again, story("1", "one", 0), story("2", "two", 0))
	check.Equal(t, "added", first.IDs, first.Added)
	second := g.imports(again, story("1", "one", 0), story("2", "two", 0))
	check.Equal(t, "IDs", first.IDs, second.IDs)
	check.That(t, len(second.Added)+len(second.Changed)+len(second.Postponed)+len(second.Unknown) == 0, "something changed: %+v", second)
}

// TestOnlyWhatTheFileChangedIsChanged: what a person changed stays, even if the file says something new about it as well.
func TestOnlyWhatTheFileChangedIsChanged(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	id := g.imports(again, story("1", "one", 1)).IDs[0]
	g.update(func(tx *dag.Graph) error { return tx.Plan.Edit(id, dag.Detail{Priority: 7}, "priority") })

	done := g.imports(again, story("1", "uno", 1), story("2", "two", 0))
	check.Equal(t, "changed", []string{id}, done.Changed)
	check.Equal(t, "added", done.IDs[1:], done.Added)
	check.Equal(t, "title, which the file changed", "uno", g.task(id).Title)
	check.Equal(t, "priority, which a person changed", int64(7), g.task(id).Priority)

	g.imports(again, story("1", "uno", 2))
	check.Equal(t, "priority, which both changed", int64(7), g.task(id).Priority)
	check.Equal(t, "a task that the file no longer has", dag.Pending, g.task(done.IDs[1]).Status)
}

func TestATaskInProgressIsChangedByTheNextImport(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	id := g.imports(again, story("1", "one", 0)).IDs[0]
	var claim dag.Claim
	g.update(func(tx *dag.Graph) error {
		run, err := tx.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		if err == nil {
			claim, _, err = tx.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Minute})
		}
		return err
	})
	check.Equal(t, "claimed", id, claim.Task.ID)
	for range 2 { // that it was postponed is not taken for an import
		done := g.imports(again, story("1", "uno", 0))
		check.Equal(t, "postponed", []string{id}, done.Postponed)
		check.Equal(t, "title", "one", g.task(id).Title)
	}
	g.update(func(tx *dag.Graph) error { return tx.Queue.Release(claim, dag.Release{}) })
	check.Equal(t, "changed", []string{id}, g.imports(again, story("1", "uno", 0)).Changed)
	check.Equal(t, "title", "uno", g.task(id).Title)
}

// TestWhatNoImportRememberedIsUnknownOnce: without the file's last word there is no telling who changed a task.
func TestWhatNoImportRememberedIsUnknownOnce(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	var id string
	g.update(func(tx *dag.Graph) (err error) {
		ids, err := tx.Plan.Import([]dag.Spec{story("1", "one", 0)})
		id = ids[0]
		return err
	})
	check.Equal(t, "unknown", []string{id}, g.imports(again, story("1", "uno", 0)).Unknown)
	check.Equal(t, "title", "one", g.task(id).Title)
	check.Equal(t, "changed", []string{id}, g.imports(again, story("1", "uno", 3)).Changed)
	check.Equal(t, "title, which may be a person's", "one", g.task(id).Title)
	check.Equal(t, "priority, which the file changed since", int64(3), g.task(id).Priority)
}

// TestWhichTasksAreTheSame: numbers are those of a file, of a feature or of a group; addresses of issues are the same in all files.
func TestWhichTasksAreTheSame(t *testing.T) {
	t.Parallel()
	gone := func(string) bool { return false }
	issue := dag.Spec{Line: 1, Ref: "#1", Origin: "github:octo/app#1", Detail: dag.Detail{Title: "one"}}
	for name, tc := range map[string]struct {
		task          dag.Spec
		before, after refresh.Place
		same          bool
	}{
		"the same file":                   {story("1", "one", 0), again, again, true},
		"another file":                    {story("1", "one", 0), again, refresh.Place{Update: true, File: "other.json", Exists: again.Exists}, false},
		"the file has another name now":   {story("1", "one", 0), again, refresh.Place{Update: true, File: "other.json", Exists: gone}, true},
		"a file without a name":           {story("1", "one", 0), again, refresh.Place{Update: true}, true},
		"an issue, in another file":       {issue, again, refresh.Place{Update: true, File: "other.json", Exists: again.Exists}, true},
		"the same feature, another file":  {story("1", "one", 0), refresh.Place{Feature: "login", Update: true, File: "a"}, refresh.Place{Feature: "Login", Update: true, File: "b", Exists: again.Exists}, true},
		"another feature, the same file":  {story("1", "one", 0), refresh.Place{Feature: "login", Update: true, File: "a"}, refresh.Place{Feature: "cart", Update: true, File: "a"}, false},
		"the same file, into a feature":   {story("1", "one", 0), again, refresh.Place{Feature: "login", Update: true, File: "plan.json"}, false},
		"the same file, out of a feature": {story("1", "one", 0), refresh.Place{Feature: "login", Update: true, File: "plan.json"}, again, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			g.update(func(tx *dag.Graph) error {
				_, err := tx.Plan.AddFeature("login")
				_, other := tx.Plan.AddFeature("cart")
				return errors.Join(err, other)
			})
			first, second := g.imports(tc.before, tc.task), g.imports(tc.after, tc.task)
			check.Equal(t, "the same task", tc.same, first.IDs[0] == second.IDs[0])
			check.Equal(t, "added", tc.same, len(second.Added) == 0)
		})
	}
}

func TestTasksGoBelowTheirGroup(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	var group string
	g.update(func(tx *dag.Graph) (err error) {
		group, err = tx.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "group"}})
		return err
	})
	inside := story("2", "two", 0)
	inside.Parent = "1"
	done := g.imports(refresh.Place{Parent: group, Update: true}, story("1", "one", 0), inside)
	check.Equal(t, "parent of the first", group, g.task(done.IDs[0]).Parent)
	check.Equal(t, "parent of the second, which the file names", done.IDs[0], g.task(done.IDs[1]).Parent)
}

// TestWithoutUpdateTasksAreAddedAgain, and counted.
func TestWithoutUpdateTasksAreAddedAgain(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	add := refresh.Place{File: "plan.json", Exists: again.Exists}
	first, second := g.imports(add, story("1", "one", 0)), g.imports(add, story("1", "one", 0), story("2", "two", 0))
	check.That(t, first.IDs[0] != second.IDs[0], "%s was not added again", first.IDs[0])
	check.Equal(t, "known", []int{0, 1}, []int{first.Known, second.Known})
	check.Equal(t, "changed by an update, the oldest", first.IDs, g.imports(again, story("1", "uno", 0)).Changed)
}

// TestATaskOfAnotherFeatureIsRefused, with its line, and nothing is imported.
func TestATaskOfAnotherFeatureIsRefused(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	g.update(func(tx *dag.Graph) error { _, err := tx.Plan.AddFeature("login"); return err })
	other := story("2", "two", 0)
	other.Line, other.Feature = 7, "cart"
	err := g.try(func(tx *dag.Graph) error {
		_, err := refresh.Import(tx, []dag.Spec{story("1", "one", 0), other}, refresh.Place{Feature: "login"})
		return err
	})
	var faults dag.PlanError
	check.That(t, errors.As(err, &faults) && len(faults) == 1 && faults[0].Line == 7, "got %v", err)
	check.Err(t, "import", "it is of feature cart, not of login", err)
	check.OK(t, g.store.View(t.Context(), func(tx *dag.Graph) error {
		tally, err := tx.Tasks.Tally(dag.Scope{})
		check.Equal(t, "tasks", int64(0), int64(tally.Total()))
		return err
	}))
}
