package taskfile

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestRefreshTakesWhatChangedInTheFile(t *testing.T) {
	t.Parallel()
	const id = "t-00000001"
	was := dag.Spec{Ref: id, Title: "old", Description: "text", Status: dag.Pending, Tags: []string{"a", "b"}}
	tests := map[string]struct {
		here, there func(*dag.Spec)
		forgotten   bool // nothing was remembered
		want        func(*dag.Spec)
	}{
		"nothing":            {},
		"the file":           {there: func(s *dag.Spec) { s.Title = "new" }, want: func(s *dag.Spec) { s.Title = "new" }},
		"a person":           {here: func(s *dag.Spec) { s.Title = "mine" }, want: func(s *dag.Spec) { s.Title = "mine" }},
		"both, other fields": {func(s *dag.Spec) { s.Title = "mine" }, func(s *dag.Spec) { s.Description = "new" }, false, func(s *dag.Spec) { s.Title, s.Description = "mine", "new" }},
		"both, the same":     {func(s *dag.Spec) { s.Title = "a mine" }, func(s *dag.Spec) { s.Title = "z theirs" }, false, func(s *dag.Spec) { s.Title = "a mine" }},
		"lists":              {func(s *dag.Spec) { s.Tags = []string{"a", "b", "mine"} }, func(s *dag.Spec) { s.Tags = []string{"b", "new"} }, false, func(s *dag.Spec) { s.Tags = []string{"b", "new", "mine"} }},
		"done there":         {there: func(s *dag.Spec) { s.Status = dag.Done }, want: func(s *dag.Spec) { s.Status = dag.Done }},
		"done here":          {here: func(s *dag.Spec) { s.Status = dag.Done }, there: func(s *dag.Spec) { s.Title = "new" }, want: func(s *dag.Spec) { s.Status, s.Title = dag.Done, "new" }},
		"failed here":        {func(s *dag.Spec) { s.Status = dag.Failed }, func(s *dag.Spec) { s.Status = dag.Done }, false, func(s *dag.Spec) { s.Status = dag.Done }},
		"not remembered":     {func(s *dag.Spec) { s.Title, s.Status = "mine", dag.Done }, nil, true, func(s *dag.Spec) { s.Status = dag.Done }},
		"closed, unknown":    {nil, func(s *dag.Spec) { s.Status = dag.Cancelled }, true, func(s *dag.Spec) { s.Status = dag.Cancelled }},
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
			here, remembered := changed(tt.here), Line(was)
			if tt.forgotten {
				remembered = ""
			}
			now := Item{Task: dag.Task{ID: id, Title: here.Title, Description: here.Description, Status: here.Status, Tags: here.Tags}}
			got := Refresh(remembered, now, changed(tt.there))
			check.Equal(t, "the task", Line(changed(tt.want)), Line(got))
		})
	}
}
