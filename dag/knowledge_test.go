package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestUsesOfKnowledgeAreCountedByTask: one task that is tried five times says no more about an entry than once, and a
// success says that it helps.
func TestUsesOfKnowledgeAreCountedByTask(t *testing.T) {
	t.Parallel()
	type use struct {
		task string
		done bool
	}
	for name, tt := range map[string]struct {
		uses []use
		want dag.KnowledgeUse
	}{
		"a success":               {[]use{{"a", true}}, dag.KnowledgeUse{Used: 1, Done: 1}},
		"one task, over and over": {[]use{{"a", false}, {"a", false}, {"a", false}}, dag.KnowledgeUse{Used: 3, Idle: 1}},
		"two tasks":               {[]use{{"a", false}, {"b", false}, {"b", false}}, dag.KnowledgeUse{Used: 3, Idle: 2}},
		"a success after them":    {[]use{{"a", false}, {"b", false}, {"b", true}}, dag.KnowledgeUse{Used: 3, Done: 1}},
		"and a failure of that":   {[]use{{"a", false}, {"b", true}, {"b", false}}, dag.KnowledgeUse{Used: 3, Done: 1, Idle: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var got map[string]dag.KnowledgeUse
			w.update(func(g *dag.Graph) (err error) {
				for _, u := range tt.uses {
					if err := g.History.UseKnowledge([]string{"sum"}, u.task, u.done); err != nil {
						return err
					}
				}
				got, err = g.History.KnowledgeUses()
				return err
			})
			use := got["sum"]
			use.At = time.Time{}
			check.Equal(t, "uses", tt.want, use)
		})
	}
}
