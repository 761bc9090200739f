package dag_test

import (
	"testing"

	"ralph/dag"
)

// rollUps does everything that can happen below a group, to a group in every
// status that one can have, and returns what became of the group.
func rollUps(t *testing.T) (seen []dag.Transition) {
	events := map[string]func(w *world){
		"one is done":    func(w *world) { w.person(finish, "one") },
		"all are done":   func(w *world) { w.person(finish, "one"); w.person(finish, "two") },
		"one fails":      func(w *world) { w.person(giveUp, "one") },
		"one is reset":   func(w *world) { w.person(reset, "one") },
		"one is blocked": func(w *world) { w.person(block, "one") },
		"one is released": func(w *world) {
			c := w.claim("one")
			w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{}) })
		},
		"one is deleted":    func(w *world) { w.person(remove, "one") },
		"another is added":  func(w *world) { w.plan("three in group") },
		"one is taken away": func(w *world) { w.update(func(g *dag.Graph) error { return g.Move(w.id("one"), "") }) },
	}
	for name, event := range events {
		for _, from := range []dag.Status{dag.Pending, dag.Done, dag.Failed, dag.Blocked} {
			w := newWorld(t)
			w.plan("group", "one in group", "two in group")
			switch from {
			case dag.Done:
				w.person(finish, "one")
				w.person(finish, "two")
			case dag.Failed:
				w.person(giveUp, "one")
				if name == "all are done" || name == "one is released" || name == "one is blocked" {
					w.person(reset, "one")
					w.person(giveUp, "group")
				}
			case dag.Blocked:
				w.person(block, "group")
			}
			if !possible(w, event) {
				continue
			}
			if to := w.task("group").Status; to != from {
				seen = append(seen, dag.Transition{From: from, To: to, By: dag.ByRollUp})
			}
			w.sound()
		}
	}
	return seen
}

// possible runs an event unless the child cannot take part in it.
func possible(w *world, event func(*world)) (ok bool) {
	fatal := &silent{}
	outer := w.t
	w.t = fatal
	defer func() {
		w.t = outer
		if r := recover(); r != nil && r != fatal {
			panic(r)
		}
	}()
	event(w)
	return true
}

// silent ends an event that is impossible.
type silent struct{}

func (*silent) Helper()                 {}
func (*silent) Errorf(string, ...any)   {}
func (s *silent) Fatalf(string, ...any) { panic(s) }
