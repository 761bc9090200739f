package dag_test

import (
	"errors"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestResolveTakesAnyUnambiguousPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := []string{"t-ab000001", "t-ab000002", "t-ac000000", "t-ad000000", "t-ae000000", "t-af000000"}
	w.importMany(len(ids), func(specs []dag.Spec, i int) { specs[i].Ref = ids[i] })
	tests := map[string]struct {
		typed, want string
		err         error
	}{
		"the whole ID":             {"t-ab000001", "t-ab000001", nil},
		"without t-":               {"ab000002", "t-ab000002", nil},
		"a prefix":                 {"t-ac", "t-ac000000", nil},
		"a prefix without t-":      {"ac", "t-ac000000", nil},
		"in capitals, with blanks": {" AC ", "t-ac000000", nil},
		"a prefix of two":          {"ab", "", dag.ErrAmbiguous},
		"a prefix of many":         {"t-a", "", dag.ErrAmbiguous},
		"no task":                  {"t-ff", "", dag.ErrNotFound},
		"nothing":                  {"", "", dag.ErrNotFound},
		"only t-":                  {"t-", "", dag.ErrNotFound},
		"a wildcard":               {"%", "", dag.ErrNotFound},
		"more than an ID":          {"t-ab0000011", "", dag.ErrNotFound},
		"not text":                 {"\xff", "", dag.ErrNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got dag.Task
			err := w.try(func(g *dag.Graph) (err error) { got, err = g.Tasks.Resolve(test.typed); return err })
			check.That(t, got.ID == test.want && errors.Is(err, test.err), "got %q, %v, want %q, %v", got.ID, err, test.want, test.err)
			if errors.Is(err, dag.ErrAmbiguous) {
				check.Contains(t, "candidates", "t-ab000001, t-ab000002", err.Error())
			}
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a feature f", "b", "c feature f prio -1", "d", "e feature f after a")
	w.work("b")
	w.person(giveUp, "d")
	tests := map[string]struct {
		filter dag.Filter
		want   []string
	}{
		"everything, oldest first":     {dag.Filter{}, []string{"a", "b", "c", "d", "e"}},
		"a feature":                    {dag.Filter{Feature: "F"}, []string{"a", "c", "e"}},
		"some statuses":                {dag.Filter{Statuses: []dag.Status{dag.Done, dag.Failed}}, []string{"b", "d"}},
		"some statuses and a limit":    {dag.Filter{Statuses: []dag.Status{dag.Pending}, Limit: 2}, []string{"a", "c"}},
		"a limit beyond":               {dag.Filter{Limit: 99}, []string{"a", "b", "c", "d", "e"}},
		"ready, in order of claims":    {dag.Filter{Ready: true}, []string{"c", "a"}},
		"ready, limited":               {dag.Filter{Ready: true, Limit: 1}, []string{"c"}},
		"ready, of a feature, limited": {dag.Filter{Ready: true, Feature: "f", Limit: 1}, []string{"c"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, "list", test.want, w.list(test.filter))
		})
	}
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { _, err := g.Tasks.List(dag.Filter{Feature: "nobody"}); return err })
}
