package dag_test

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestOutputsOfAllThatWasBefore: a task gets the results of what it waited for, through groups and over several steps, and of
// nothing else.
func TestOutputsOfAllThatWasBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	w.update(func(g *dag.Graph) (err error) {
		ids, err = g.Plan.Import([]dag.Spec{
			{Ref: "design", Detail: dag.Detail{Title: "design", Output: "design"}},
			{Ref: "group", Detail: dag.Detail{Title: "group"}, After: []string{"design"}},
			{Ref: "a", Detail: dag.Detail{Title: "a", Output: "notes"}, Parent: "group"},
			{Ref: "b", Detail: dag.Detail{Title: "b", Output: "notes"}, Parent: "group", After: []string{"a"}},
			{Ref: "plain", Detail: dag.Detail{Title: "plain"}, After: []string{"group"}},
			{Ref: "last", Detail: dag.Detail{Title: "last"}, After: []string{"plain"}},
			{Ref: "beside", Detail: dag.Detail{Title: "beside", Output: "beside"}},
		})
		return err
	})
	names := []string{"design", "group", "a", "b", "plain", "last", "beside"}
	for i, id := range ids {
		w.ids[names[i]] = id
	}
	want := func(task string, titles ...string) {
		t.Helper()
		of, got := w.task(task), []string(nil)
		for _, b := range get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.Outputs(of, 20) }) {
			got = append(got, b.Title)
		}
		check.Equal(t, "outputs for "+task, titles, got)
	}
	want("last")
	w.work("design")
	w.work("beside")
	w.work("a")
	want("a", "design")
	want("b", "design", "a")
	want("last", "design", "a")
	w.work("b")
	want("last", "design", "a", "b")
	want("design")
}
