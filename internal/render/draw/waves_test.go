package draw

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestWaves(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		nodes []Node
		want  string
	}{
		"side by side": {[]Node{{ID: "a", Title: "A"}, {ID: "b", Title: "B"}}, "  1 │ a  A\n    │ b  B\n"},
		"one after the other": {
			[]Node{{ID: "b", Title: "B", After: []string{"a"}}, {ID: "a", Title: "A"}, {ID: "c", Title: "C", After: []string{"b"}}},
			"  1 │ a  A\n  2 │ b  B\n  3 │ c  C\n",
		},
		"a group waits, and is waited for": {
			[]Node{
				{ID: "g", After: []string{"a"}},
				{ID: "x", Title: "X", Parent: "g"},
				{ID: "y", Title: "Y", Parent: "g", After: []string{"x"}},
				{ID: "a", Title: "A"},
				{ID: "z", Title: "Z", After: []string{"g"}},
			},
			"  1 │ a  A\n  2 │ x  X\n  3 │ y  Y\n  4 │ z  Z\n",
		},
		"what is not drawn holds nothing up": {[]Node{{ID: "a", Title: "A", After: []string{"elsewhere"}}}, "  1 │ a  A\n"},
		"a cycle ends":                       {[]Node{{ID: "a", Title: "A", After: []string{"b"}}, {ID: "b", Title: "B", After: []string{"a"}}}, "  1 │ a  A\n    │ b  B\n"},
	}
	for name, tt := range tests {
		check.Equal(t, name, tt.want, Waves(tt.nodes, Style{}))
	}
}
