package dag_test

import (
	"testing"

	"ralph/dag"
)

// TestFinishedWorkThatAwaitsItsVerdict is paid for: only what makes it worthless
// forgets it.
func TestFinishedWorkThatAwaitsItsVerdict(t *testing.T) {
	t.Parallel()
	block := func(g *dag.Graph, id string) error { return g.Block(id, "not now") }
	tests := map[string]struct {
		person []func(*dag.Graph, string) error
		resume bool
	}{
		"is taken up":                       {nil, true},
		"after a block was lifted":          {[]func(*dag.Graph, string) error{block, (*dag.Graph).Unblock}, true},
		"not after a reset":                 {[]func(*dag.Graph, string) error{reset}, false},
		"not after a reset that lifted one": {[]func(*dag.Graph, string) error{block, reset}, false},
		"not when it had been given up":     {[]func(*dag.Graph, string) error{giveUp, reset}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			first := w.claim("a")
			w.update(func(g *dag.Graph) error { return g.Release(first, dag.Release{Uncounted: true, Finished: true}) })
			for _, verb := range tt.person {
				w.person(verb, "a")
			}
			c := w.claim("a")
			if c.Resume != tt.resume || tt.resume && c.Resumed.ID != first.Attempt {
				t.Errorf("got resume %v of %q, want %v of %q", c.Resume, c.Resumed.ID, tt.resume, first.Attempt)
			}
		})
	}
}
