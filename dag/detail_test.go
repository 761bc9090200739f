package dag_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// placed are the fields of a Spec that are not what a task asks for: what it is called, where it stands, what became of it.
const placed = "Line Ref Parent After Related Feature Group Origin DiscoveredFrom Status Retries Verification Satisfied Acceptance Missing"

// settings are the names of the other fields.
func settings() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[dag.Spec]()) {
		if !slices.Contains(strings.Fields(placed), f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// whole has a value in each of them that is not the default.
func whole(t *testing.T) dag.Spec {
	s := dag.Spec{
		Title: "caller", Description: "text", Priority: 3, Kind: dag.Check, Agent: "shell", Model: "opus", Effort: dag.HighEffort, Gates: []string{"true"},
		MaxRetries: new(int), Locks: []string{"port"}, Paths: []string{"src/**"}, Tags: []string{"slow"}, Proves: []string{"C1"}, Context: []string{"date"},
		Output: "schema", Timeout: time.Minute, OnFail: dag.Continue, MayChange: []string{"tests/**"}, ExpectRed: "true",
	}
	for _, name := range settings() {
		if reflect.ValueOf(s).FieldByName(name).IsZero() {
			t.Fatalf("%s has no value here", name)
		}
	}
	return s
}

func TestEverySettingOfATaskCanBeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("one")
	var e dag.Edit
	want := whole(t)
	for _, name := range settings() {
		field := reflect.ValueOf(&e).Elem().FieldByName(name)
		if !field.IsValid() {
			t.Fatalf("Edit has no %s", name)
		}
		value := reflect.ValueOf(want).FieldByName(name)
		if value.Kind() != reflect.Pointer {
			to := reflect.New(value.Type())
			to.Elem().Set(value)
			value = to
		}
		field.Set(value)
	}
	w.update(func(g *dag.Graph) error { return g.Edit(w.id("one"), e) })
	got := w.task("one").Spec()
	want.Ref = got.Ref
	check.Equal(t, "changed", want, got)
}

func TestAClosingTaskKeepsTheSettingsOfTheTaskThatWasSplit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := whole(t)
	w.ids[want.Title] = w.add(want)
	c := w.claim("caller")
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Title: "a"}, Place: dag.Below, Closing: true})
	w.update(func(g *dag.Graph) error { return g.Complete(c, "passed") })
	group := w.task("caller")
	closing := get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.ChildTasks(group) })[1].Spec()
	want.Title, want.Ref, want.DiscoveredFrom = "Finish: caller", closing.Ref, closing.DiscoveredFrom
	check.Equal(t, "closing", want, closing)
	w.sound()
}
