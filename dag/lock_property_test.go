package dag_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/raced"
)

// TestLocksNeverLetTooManyRunAndLetEveryTaskRun claims and settles tasks with random locks at random, and compares each
// claim with a naive one. Nothing ever waits while nothing runs, so nobody waits in a circle; what the first that
// waits could have, nobody after it gets, so that it runs once those are through that ran before; and in the end
// every task has run.
func TestLocksNeverLetTooManyRunAndLetEveryTaskRun(t *testing.T) {
	raced.Long(t, "claims are compared one by one here")
	t.Parallel()
	checkWorlds(t, func(rt *rapid.T, w *world) {
		w.t = rt
		y := &yard{w: w, workers: rapid.IntRange(1, 5).Draw(rt, "workers"), opts: dag.ClaimOptions{
			Skip: dag.Skip{Agent: "claude"}, Locks: map[string]int{"gpu": 2, "net": 3}, Slots: true,
			Agents: map[string]dag.AgentGate{"claude": {AtOnce: rapid.IntRange(0, 4).Draw(rt, "at once")}, "codex": {AtOnce: 1}},
		}}
		for range rapid.IntRange(1, 60).Draw(rt, "tasks") {
			y.add(rt)
		}
		for len(y.waiting)+len(y.running) > 0 {
			if rapid.IntRange(0, 2).Draw(rt, "what") == 0 && len(y.running) > 0 {
				y.settle(rapid.IntRange(0, len(y.running)-1).Draw(rt, "which"))
			} else if len(y.running) == y.workers || !y.claim(rt) {
				y.settle(0)
			}
		}
		w.sound()
	})
}

// yard is the tasks that wait and run.
type yard struct {
	w       *world
	workers int
	opts    dag.ClaimOptions
	waiting []dag.Task
	running []dag.Claim
}

func (y *yard) add(rt *rapid.T) {
	some := func(label string, of ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 3, rapid.ID[string]).Draw(rt, label)
	}
	nt := dag.NewTask{
		Detail: dag.Detail{
			Title: fmt.Sprint(len(y.w.ids)), Priority: rapid.Int64Range(0, 2).Draw(rt, "priority"),
			Locks: some("locks", "a", "b", "gpu", "net", "path:src", "path:src/db", "path:docs/a.md"),
			Agent: rapid.SampledFrom([]string{"", "", "codex"}).Draw(rt, "agent"),
		},
	}
	if rapid.IntRange(0, 3).Draw(rt, "with paths") == 0 {
		nt.Paths = some("paths", "src/*.go", "docs/**", "src/db/x.go", "**/*.md")
	}
	y.w.add(nt)
	y.waiting = append(y.waiting, y.w.task(nt.Title))
}

func (y *yard) settle(i int) {
	y.w.update(func(g *dag.Graph) error { return g.Queue.Complete(y.running[i], "passed") })
	y.running = slices.Delete(y.running, i, i+1)
}

// claim claims a task, which must be the one that the naive rule says, and says whether there was one.
func (y *yard) claim(rt *rapid.T) bool {
	want, first := y.naive()
	before := y.gettable(first)
	c, ok := y.w.next(y.opts)
	if ok != (want >= 0) || ok && c.Task.ID != y.waiting[want].ID {
		rt.Fatalf("claimed %q, want %d of %v while %v run", c.Task.Title, want, y.waiting, y.running)
	}
	if !ok {
		if len(y.running) == 0 {
			rt.Fatalf("nothing runs, and nothing of %v can", y.waiting)
		}
		return false
	}
	y.running, y.waiting = append(y.running, c), slices.Delete(y.waiting, want, want+1)
	y.check(rt)
	if after := y.gettable(first); c.Task.ID != first.ID && !slices.Equal(before, after) {
		rt.Fatalf("%q waits, and could have %v before %q was claimed, but now only %v", first.Title, before, c.Task.Title, after)
	}
	return true
}

// gettable is what a task could have beside those that run.
func (y *yard) gettable(t dag.Task) (list []string) {
	var running []dag.Task
	for _, c := range y.running {
		running = append(running, c.Task)
	}
	for _, name := range t.Locks {
		if y.fits(append(slices.Clone(running), dag.Task{Detail: dag.Detail{Locks: []string{name}}})) {
			list = append(list, name)
		}
	}
	for _, glob := range t.Paths {
		if y.fits(append(slices.Clone(running), dag.Task{Detail: dag.Detail{Paths: []string{glob}}})) {
			list = append(list, glob)
		}
	}
	return list
}

// naive is the first task, by priority and age, that can run beside those that run and beside the first before it that
// cannot, which it returns too; -1 if there is none.
func (y *yard) naive() (next int, first dag.Task) {
	slices.SortStableFunc(y.waiting, func(a, b dag.Task) int { return int(a.Priority - b.Priority) })
	var beside []dag.Task
	for _, c := range y.running {
		beside = append(beside, c.Task)
	}
	places, reserved := slices.Clone(beside), false
	for i, t := range y.waiting {
		if y.fits(append(slices.Clone(beside), t)) && y.placed(append(slices.Clone(places), t)) {
			return i, first
		}
		if !reserved && len(t.Locks)+len(t.Paths) > 0 {
			beside, reserved, first = append(beside, t), true, t
		}
	}
	return -1, first
}

// fits says that tasks may run side by side, but for their agents. One that waits may be among them, whose
// locks exclude others only.
func (y *yard) fits(tasks []dag.Task) bool {
	last := tasks[len(tasks)-1]
	holders := map[string]int{}
	for _, t := range tasks {
		for _, name := range t.Locks {
			holders[name]++
		}
	}
	for _, name := range last.Locks {
		if !strings.HasPrefix(name, "path:") && holders[name] > max(y.opts.Locks[name], 1) {
			return false
		}
	}
	for _, t := range tasks[:len(tasks)-1] {
		for _, a := range places(t) {
			for _, b := range places(last) {
				if a == "." || b == "." || strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/") {
					return false
				}
			}
		}
	}
	return true
}

// places are the folders and files that a task has for itself.
func places(t dag.Task) (list []string) {
	for _, name := range t.Locks {
		if p, ok := strings.CutPrefix(name, "path:"); ok {
			list = append(list, p)
		}
	}
	folders := map[string]string{"src/*.go": "src", "docs/**": "docs", "src/db/x.go": "src/db/x.go", "**/*.md": "."}
	for _, glob := range t.Paths {
		list = append(list, folders[glob])
	}
	return list
}

func (y *yard) placed(tasks []dag.Task) bool {
	last, n := tasks[len(tasks)-1], 0
	for _, t := range tasks {
		if t.Agent == last.Agent {
			n++
		}
	}
	limit := y.opts.Agents[map[string]string{"": "claude", "codex": "codex"}[last.Agent]].AtOnce
	return limit == 0 || n <= limit
}

// check holds what runs to what may run.
func (y *yard) check(rt *rapid.T) {
	var tasks []dag.Task
	slots := map[int]bool{}
	for _, c := range y.running {
		tasks = append(tasks, c.Task)
		if !y.fits(tasks) || !y.placed(tasks) || slots[c.Slot] || c.Slot < 1 || c.Slot > y.workers {
			rt.Fatalf("%v must not run side by side", tasks)
		}
		slots[c.Slot] = true
	}
}
