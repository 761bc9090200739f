package dag_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// whole has a value in each of them that is not the default.
func whole(t *testing.T) dag.Spec {
	s := dag.Spec{
		Detail: dag.Detail{
			Title: "caller", Description: "text", Priority: 3, Kind: dag.Check, Agent: "shell", Model: "opus", Effort: dag.HighEffort, Gates: []string{"true"},
			MaxRetries: new(int), Locks: []string{"port"}, Paths: []string{"src/**"}, Tags: []string{"slow"}, Proves: []string{"C1"}, Context: []string{"date"},
			Output: "schema", Timeout: time.Minute, OnFail: dag.Continue, MayChange: []string{"tests/**"}, ExpectRed: "true",
			When: &dag.When{Output: "build", Status: dag.Failed, Exit: new(int), Matches: "a", Lacks: "b"}, Notify: "it is done",
		},
	}
	for _, f := range dag.Fields {
		if f.Empty(s.Detail) {
			t.Fatalf("%s has no value here", f.Name)
		}
	}
	return s
}

// worked is a task with all that one can have on which an agent works.
func worked(t *testing.T) dag.Spec {
	s := whole(t)
	s.Notify = ""
	return s
}

func TestEveryFieldOfADetailIsInTheTable(t *testing.T) {
	t.Parallel()
	full := reflect.ValueOf(whole(t).Detail)
	for i := range full.NumField() {
		var one dag.Detail
		reflect.ValueOf(&one).Elem().Field(i).Set(full.Field(i))
		var has []string
		for _, f := range dag.Fields {
			var none dag.Detail
			if f.Copy(&none, &one); !reflect.DeepEqual(none, dag.Detail{}) {
				has = append(has, f.Name)
			}
		}
		name := full.Type().Field(i).Name
		if check.That(t, len(has) == 1, "%s has the entries %q in dag.Fields, not one", name, has); len(has) == 1 {
			check.Equal(t, "the entry of "+name, strings.ToLower(name), strings.ReplaceAll(has[0], "_", ""))
		}
	}
	check.Equal(t, "entries", full.NumField(), len(dag.Fields))
}

func TestATaskIsUnsavedOnceAFieldOfItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("one")
	for _, f := range dag.Fields {
		w.update(func(g *dag.Graph) error { return g.Tx().Exec("DELETE FROM unsaved;") })
		column := "UPDATE tasks SET [" + f.Name + "] = [" + f.Name + "];" // and not updated_at
		w.update(func(g *dag.Graph) error { return g.Tx().Exec(column) })
		unsaved := get(w, func(g *dag.Graph) (int64, error) {
			return db.One(g.Tx(), "SELECT count(*) FROM unsaved;", (*db.Row).Int64)
		})
		check.Equal(t, "unsaved after "+f.Name, int64(1), unsaved)
	}
}

func TestWhatIsTypedOfAFieldIsReadAgain(t *testing.T) {
	t.Parallel()
	full := whole(t).Detail
	for _, f := range dag.Fields {
		var typed, want dag.Detail
		check.OK(t, f.Parse(&typed, f.Texts(full)...))
		f.Copy(&want, &full)
		check.Equal(t, f.Name, want, typed)
	}
}

func TestEverySettingOfATaskCanBeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("one")
	want := worked(t)
	var names []string
	for _, f := range dag.Fields {
		names = append(names, f.Name)
	}
	w.update(func(g *dag.Graph) error { return g.Plan.Edit(w.id("one"), want.Detail, names...) })
	got := w.task("one").Spec()
	want.Ref = got.Ref
	check.Equal(t, "changed", want, got)
}

func TestAClosingTaskKeepsTheSettingsOfTheTaskThatWasSplit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := worked(t)
	ready := want
	ready.When = nil // nobody knows what it asks
	w.ids[want.Title] = w.add(ready)
	c := w.claim("caller")
	w.update(func(g *dag.Graph) error { return g.Plan.Edit(w.id("caller"), want.Detail, "when") })
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "a"}}, Place: dag.Below, Closing: true})
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	group := w.task("caller")
	closing := get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.Children(group) })[1].Spec()
	want.Title, want.Ref, want.DiscoveredFrom = "Finish: caller", closing.Ref, closing.DiscoveredFrom
	check.Equal(t, "closing", want, closing)
	w.sound()
}
