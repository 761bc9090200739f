package dag_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestLocksAndPathsAreStoredInOneForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add(dag.NewTask{Detail: dag.Detail{Title: "a", Locks: []string{" port:8080", "path:./src//db/", "gpu", "gpu"}, Paths: []string{"src/", "./b/../a.go"}}})
	got := w.task("a")
	check.Equal(t, "locks", []string{"gpu", "path:src/db", "port:8080"}, got.Locks)
	check.Equal(t, "paths", []string{"a.go", "src/**"}, got.Paths)
	w.update(func(g *dag.Graph) error { return g.Plan.LockFiles(id, "a.go", "../b", "b\nc") })
	check.Equal(t, "locks", []string{"gpu", "path:a.go", "path:src/db", "port:8080"}, w.task("a").Locks)
	w.update(func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{}, "locks", "paths") })
	check.Equal(t, "none", 0, len(w.task("a").Locks)+len(w.task("a").Paths))
	for _, bad := range []dag.NewTask{
		{Detail: dag.Detail{Locks: []string{""}}},
		{Detail: dag.Detail{Locks: []string{"two words"}}},
		{Detail: dag.Detail{Locks: []string{"a\nb"}}},
		{Detail: dag.Detail{Locks: []string{"a\xff"}}},
		{Detail: dag.Detail{Locks: []string{"agent:claude"}}},
		{Detail: dag.Detail{Locks: []string{"slot:1"}}},
		{Detail: dag.Detail{Locks: []string{"path:"}}},
		{Detail: dag.Detail{Locks: []string{"path:/etc"}}},
		{Detail: dag.Detail{Locks: []string{"path:../x"}}},
		{Detail: dag.Detail{Paths: []string{"/etc/**"}}},
		{Detail: dag.Detail{Paths: []string{"a/../../b"}}},
		{Detail: dag.Detail{Paths: []string{" "}}},
	} {
		bad.Title = "bad"
		w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Plan.Add(bad); return err })
		w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.Edit(id, bad.Detail, "locks", "paths") })
		err := w.try(func(g *dag.Graph) error {
			_, err := g.Plan.Import([]dag.Spec{{Line: 1, Detail: dag.Detail{Title: "bad", Locks: bad.Locks, Paths: bad.Paths}}})
			return err
		})
		check.That(t, errors.Is(err, dag.ErrRefused), "%q, %q imported: %v", bad.Locks, bad.Paths, err)
	}
}

func TestTasksOfWhichOneKeepsTheOtherFromRunning(t *testing.T) {
	t.Parallel()
	locks := func(names ...string) dag.NewTask { return dag.NewTask{Detail: dag.Detail{Locks: names}} }
	paths := func(globs ...string) dag.NewTask { return dag.NewTask{Detail: dag.Detail{Paths: globs}} }
	for name, test := range map[string]struct {
		a, b dag.NewTask
		both bool
	}{
		"the same lock":                     {locks("gpu"), locks("gpu"), false},
		"one lock in common":                {locks("a", "b"), locks("b", "c"), false},
		"other locks":                       {locks("a"), locks("b"), true},
		"a lock that more may hold":         {locks("two"), locks("two"), true},
		"a folder and a file in it":         {locks("path:src"), locks("path:src/a.go"), false},
		"a file and its folder":             {locks("path:src/a.go"), locks("path:src"), false},
		"a name that begins alike":          {locks("path:src"), locks("path:src2"), true},
		"the project and a file":            {locks("path:."), locks("path:a"), false},
		"a path and a lock of that name":    {locks("path:src"), locks("src"), true},
		"a glob and a path lock":            {paths("src/db/*.go"), locks("path:src"), false},
		"globs of one folder":               {paths("src/*.go"), paths("src/*.md"), false}, // who knows
		"globs of two folders":              {paths("src/**"), paths("docs/**"), true},
		"a glob below another":              {paths("src/**"), paths("src/db/a.go"), false},
		"a glob that may be anywhere":       {paths("**/*.go"), paths("docs/a.md"), false},
		"two files":                         {paths("src/a.go"), paths("src/b.go"), true},
		"a glob and a task without any":     {paths("**"), locks(), true},
		"a choice of names":                 {paths("{a,b}/x"), paths("b/x"), false},
		"a task with nothing and a lock":    {locks(), locks("gpu"), true},
		"a path that more may hold, though": {locks("path:two"), locks("path:two"), false},
	} {
		w := newWorld(t)
		test.a.Title, test.b.Title = "a", "b"
		w.add(test.a)
		w.add(test.b)
		opts := dag.ClaimOptions{Locks: map[string]int{"two": 2, "path:two": 2}}
		c := w.take("a", opts)
		_, ok := w.next(opts)
		check.That(t, ok == test.both, "%s: side by side is %v", name, ok)
		if !ok {
			opts.Run = w.run
			refused := get(w, func(g *dag.Graph) (dag.Refused, error) { return g.Queue.Refused(opts) })
			check.That(t, refused.Busy && refused.Task == w.id("b") && refused.Lock.Attempt == c.Attempt && refused.Lock.Task == w.id("a"), "%s: got %+v", name, refused)
			w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
			w.take("b", opts)
		}
		w.sound()
	}
}

func TestAClaimTakesAllLocksOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "a", Locks: []string{"x"}}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "both", Locks: []string{"x", "y"}}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "c", Locks: []string{"y"}}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "free", Locks: []string{"z"}}})
	a := w.take("a", dag.ClaimOptions{})
	w.take("free", dag.ClaimOptions{}) // c would have to wait for what is reserved for both
	c, ok := w.next(dag.ClaimOptions{})
	check.That(t, !ok, "%s was claimed before the one that came first", c.Task.Title)
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(a, "passed") })
	both := w.take("both", dag.ClaimOptions{})
	check.Equal(t, "locks", []dag.LockHolder{
		{Name: "x", Attempt: both.Attempt, Task: w.id("both")},
		{Name: "y", Attempt: both.Attempt, Task: w.id("both")},
		{Name: "z", Attempt: get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() })[2].Attempt, Task: w.id("free")},
	}, get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() }))
	w.sound()
}

// TestWhyNamesWhatAReadyTaskWaitsFor asks about tasks while others run.
func TestWhyNamesWhatAReadyTaskWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for title, task := range map[string]dag.NewTask{
		"holder": {Detail: dag.Detail{Locks: []string{"x", "two"}, Agent: "codex", Priority: -2}}, "second": {Detail: dag.Detail{Locks: []string{"two"}, Priority: -1}},
		"both": {Detail: dag.Detail{Locks: []string{"a", "x"}}}, "third": {Detail: dag.Detail{Locks: []string{"two"}, Priority: 1}}, "later": {Detail: dag.Detail{Locks: []string{"a"}, Priority: 1}},
		"below": {Detail: dag.Detail{Paths: []string{"src/*.go"}, Priority: 2}}, "codex": {Detail: dag.Detail{Agent: "codex", Priority: 3}}, "free": {Detail: dag.Detail{Locks: []string{"z"}, Priority: 4}},
		"path": {Detail: dag.Detail{Locks: []string{"path:src"}, Priority: -3}},
	} {
		task.Title = title
		w.add(task)
	}
	opts := dag.ClaimOptions{Locks: map[string]int{"two": 2}, Agents: map[string]dag.AgentGate{"codex": {AtOnce: 1}}}
	for _, title := range []string{"path", "holder", "second"} {
		w.take(title, opts)
	}
	for title, want := range map[string]string{
		"both": "it waits for lock x, held by holder", "third": "it waits for lock two, held by second", "later": "it waits for lock a, reserved for both",
		"below": "it waits for lock path:src, held by path", "codex": "it waits for a place of codex, held by holder", "free": "",
	} {
		task := w.task(title)
		got := ""
		for _, r := range get(w, func(g *dag.Graph) ([]dag.Reason, error) {
			return g.Tasks.Explain(task, func(dag.Process) dag.Life { return dag.Alive }, opts)
		}) {
			check.Equal(t, "kind", "lock", r.Kind)
			got += strings.ReplaceAll(r.Text, r.Task, w.task(r.Task).Title)
		}
		check.Equal(t, title, want, got)
	}
}

// What cannot be had stands before what can, in numbers: only the first of each lockset is looked at.
func TestAClaimFindsWhatCanBeHadBehindWhatCannot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts dag.ClaimOptions
		want string
	}{
		"everything":                 {dag.ClaimOptions{}, "task 100"},
		"keep going":                 {dag.ClaimOptions{KeepGoing: true}, "task 100"},
		"a feature":                  {dag.ClaimOptions{Scope: dag.Scope{Feature: "late"}}, "task 101"},
		"a feature is skipped":       {dag.ClaimOptions{Skip: dag.Skip{Features: []string{"early"}}}, "task 101"},
		"a task is skipped":          {dag.ClaimOptions{Skip: dag.Skip{Tasks: []string{"t-00000100"}}}, "task 101"},
		"an agent is skipped":        {dag.ClaimOptions{Skip: dag.Skip{Agents: []string{"codex"}}}, "task 102"},
		"an agent has a start to go": {dag.ClaimOptions{Agents: map[string]dag.AgentGate{"codex": {AtOnce: 1}}}, "task 100"},
		"nothing but what is held":   {dag.ClaimOptions{Scope: dag.Scope{Feature: "held"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.importMany(103, func(specs []dag.Spec, i int) {
				specs[i].Locks, specs[i].Feature = []string{"gpu"}, []string{"early", "held"}[i%2]
				if i >= 100 {
					specs[i].Locks, specs[i].Feature = []string{fmt.Sprint("l", i%2)}, []string{"early", "late"}[min(i-100, 1)]
					specs[i].Agent = []string{"codex", ""}[max(i-101, 0)]
				}
			})
			w.next(dag.ClaimOptions{})
			c, _ := w.next(test.opts)
			check.Equal(t, "claimed", test.want, c.Task.Title)
			w.sound()
		})
	}
}

func TestAnAgentHasNoMoreAttemptsAtOnceThanItMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opts := dag.ClaimOptions{Skip: dag.Skip{Agent: "claude"}, Agents: map[string]dag.AgentGate{"claude": {AtOnce: 2}, "codex": {AtOnce: 1}}}
	for _, title := range []string{"a", "b", "c"} {
		w.add(dag.NewTask{Detail: dag.Detail{Title: title}})
	}
	w.add(dag.NewTask{Detail: dag.Detail{Title: "other", Agent: "codex"}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "other2", Agent: "codex"}})
	a := w.take("a", opts)
	w.take("b", opts)
	w.take("other", opts)
	c, ok := w.next(opts)
	check.That(t, !ok, "%s was claimed", c.Task.Title)
	w.update(func(g *dag.Graph) error { return g.Queue.Release(a, dag.Release{Finished: true}) })
	check.That(t, w.take("a", opts).Resume, "finished work was not resumed") // it needs no agent
	w.take("c", opts)
	w.sound()
}

func TestStartsOfAnAgentAreApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opts := dag.ClaimOptions{Skip: dag.Skip{Agent: "claude"}, Agents: map[string]dag.AgentGate{"claude": {StartEvery: time.Second}}}
	w.plan("a", "b", "c")
	w.add(dag.NewTask{Detail: dag.Detail{Title: "other", Agent: "codex"}})
	w.take("a", opts)
	w.take("other", opts)
	_, ok := w.next(opts)
	check.That(t, !ok, "claimed at once")
	opts.Run = w.run
	want := dag.Refused{Until: w.clock().Add(time.Second).Truncate(time.Millisecond)}
	check.Equal(t, "why", want, get(w, func(g *dag.Graph) (dag.Refused, error) { return g.Queue.Refused(opts) }))
	w.pass(time.Second)
	w.take("b", opts)
	w.pass(-time.Hour) // a clock that was set back
	w.take("c", opts)
}

func TestAfterALimitOneAttemptGoesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opts := dag.ClaimOptions{Skip: dag.Skip{Agent: "claude"}, Agents: map[string]dag.AgentGate{"claude": {OneFirst: true}}}
	w.plan("a", "b", "c")
	w.update(func(g *dag.Graph) error {
		return g.Queue.LimitAgent(dag.AgentLimit{Agent: "claude", Until: w.clock().Add(time.Minute), Reason: "full"})
	})
	w.pass(time.Minute)
	w.take("a", opts)
	_, ok := w.next(opts)
	check.That(t, !ok, "two were claimed before there was an answer")
	w.update(func(g *dag.Graph) error { return g.Queue.Answered("claude") })
	w.take("b", opts)
	w.take("c", opts)
}
