package taskfile

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestRefreshTakesWhatChangedInTheFile(t *testing.T) {
	t.Parallel()
	const id = "t-00000001"
	was := dag.Spec{Ref: id, Detail: dag.Detail{Title: "old", Description: "text", Tags: []string{"a", "b"}}, Status: dag.Pending}
	tests := map[string]struct {
		here, there func(*dag.Spec)
		want        func(*dag.Spec)
	}{
		"nothing":            {},
		"the file":           {there: func(s *dag.Spec) { s.Title = "new" }, want: func(s *dag.Spec) { s.Title = "new" }},
		"a person":           {here: func(s *dag.Spec) { s.Title = "mine" }, want: func(s *dag.Spec) { s.Title = "mine" }},
		"both, other fields": {func(s *dag.Spec) { s.Title = "mine" }, func(s *dag.Spec) { s.Description = "new" }, func(s *dag.Spec) { s.Title, s.Description = "mine", "new" }},
		"both, the same":     {func(s *dag.Spec) { s.Title = "a mine" }, func(s *dag.Spec) { s.Title = "z theirs" }, func(s *dag.Spec) { s.Title = "a mine" }},
		"lists":              {func(s *dag.Spec) { s.Tags = []string{"a", "b", "mine"} }, func(s *dag.Spec) { s.Tags = []string{"b", "new"} }, func(s *dag.Spec) { s.Tags = []string{"b", "new", "mine"} }},
		"done there":         {there: func(s *dag.Spec) { s.Status = dag.Done }, want: func(s *dag.Spec) { s.Status = dag.Done }},
		"done here":          {here: func(s *dag.Spec) { s.Status = dag.Done }, there: func(s *dag.Spec) { s.Title = "new" }, want: func(s *dag.Spec) { s.Status, s.Title = dag.Done, "new" }},
		"failed here":        {func(s *dag.Spec) { s.Status = dag.Failed }, func(s *dag.Spec) { s.Status = dag.Done }, func(s *dag.Spec) { s.Status = dag.Done }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := func(f func(*dag.Spec)) dag.Spec {
				s := was
				if f != nil {
					f(&s)
				}
				return s
			}
			here := changed(tt.here)
			now := Item{Task: dag.Task{ID: id, Detail: dag.Detail{Title: here.Title, Description: here.Description, Tags: here.Tags}, Status: here.Status}}
			got := Refresh(Line(was), now, changed(tt.there))
			check.Equal(t, "the task", Line(changed(tt.want)), Line(got))
		})
	}
}
