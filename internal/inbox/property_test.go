package inbox_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
)

// TestRandomRequestsAgreeWithTheModel does to a real file and to a naive model what agents, people and time do to
// requests and their tasks, and compares all that can be seen after each step.
func TestRandomRequestsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		w := openWorld(t.Context(), rt, filepath.Join(dir, fmt.Sprint(files.Add(1))))
		defer w.close()
		x := &machine{w: w, tasks: map[string]*modelTask{}, requests: map[string]*modelRequest{}}
		rt.Repeat(map[string]func(*rapid.T){
			"":         x.compare,
			"add":      func(*rapid.T) { x.tasks[w.add("task")] = &modelTask{status: dag.Pending} },
			"claim":    x.claim,
			"ask":      x.ask,
			"ask more": x.ask,
			"answer":   x.answer,
			"release":  x.settle(func(g *dag.Graph, c dag.Claim) error { return g.Queue.Release(c, dag.Release{}) }, dag.Pending),
			"complete": x.settle(func(g *dag.Graph, c dag.Claim) error { return g.Queue.Complete(c, "passed") }, dag.Done),
			"fail":     x.settle(func(g *dag.Graph, c dag.Claim) error { return g.Queue.Fail(c, "no") }, dag.Failed),
			"finish":   x.byHand(func(g *dag.Graph, id string) error { return g.Tasks.Finish(id) }, dag.Done),
			"give up":  x.byHand(func(g *dag.Graph, id string) error { return g.Tasks.GiveUp(id, "") }, dag.Failed),
			"reset":    x.byHand(func(g *dag.Graph, id string) error { return g.Tasks.Reset(id) }, dag.Pending),
			"delete":   x.byHand(func(g *dag.Graph, id string) error { return g.Plan.Delete(id) }, ""),
			"expire":   x.expire,
		})
	})
}

type modelTask struct {
	status dag.Status
	claim  *dag.Claim // of whoever works on it
}

type modelRequest struct {
	task    string
	kind    inbox.Kind
	state   inbox.State
	past    bool // its task was reset since
	expires time.Time
}

type machine struct {
	w        *world
	tasks    map[string]*modelTask
	requests map[string]*modelRequest
	lost     []dag.Claim
}

func some[T any](rt *rapid.T, of map[string]T, label string) string {
	if len(of) == 0 {
		rt.Skip("none yet")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(of))).Draw(rt, label)
}

// parked says that a task waits for an answer.
func (x *machine) parked(task string) (n int) {
	for _, r := range x.requests {
		if r.task == task && r.state == inbox.Open && r.kind == inbox.Question {
			n++
		}
	}
	return n
}

func (x *machine) claim(rt *rapid.T) {
	id := some(rt, x.tasks, "task")
	t := x.tasks[id]
	c, ok := x.w.tryClaim(id)
	if want := t.status == dag.Pending && x.parked(id) == 0; ok != want {
		rt.Fatalf("claim of %s: got %v, want %v", id, ok, want)
	}
	if ok {
		t.status, t.claim = dag.InProgress, &c
	}
}

func (x *machine) ask(rt *rapid.T) {
	kind := rapid.SampledFrom([]inbox.Kind{inbox.Question, inbox.Question, inbox.Permission}).Draw(rt, "kind")
	r := inbox.Request{Kind: kind, Text: fmt.Sprint("question ", len(x.requests)), Parks: kind == inbox.Question}
	if rapid.Bool().Draw(rt, "expires") {
		r.ExpiresAt, r.Default = x.w.now.Add(time.Minute), "default"
	}
	if len(x.lost) > 0 && rapid.Bool().Draw(rt, "by one who lost its task") {
		c := rapid.SampledFrom(x.lost).Draw(rt, "claim")
		err := x.w.try(func(g *dag.Graph) error { _, err := inbox.Ask(g, x.w.trust, c, r); return err })
		check.That(rt, errors.Is(err, dag.ErrLost), "got %v, want a lost claim", err)
		return
	}
	id := some(rt, x.tasks, "task")
	if x.tasks[id].claim == nil || x.parked(id) == inbox.MaxAsked {
		rt.Skip("nobody asks")
	}
	asked := x.w.ask(*x.tasks[id].claim, r)
	x.requests[asked.ID] = &modelRequest{task: id, kind: kind, state: inbox.Open, expires: r.ExpiresAt}
}

func (x *machine) answer(rt *rapid.T) {
	id := some(rt, x.requests, "request")
	err := x.w.answer(id, inbox.Reply{Text: "yes"})
	r := x.requests[id]
	if open := r.state == inbox.Open; open != (err == nil) || !open && !errors.Is(err, dag.ErrRefused) {
		rt.Fatalf("an answer to what is %s: %v", r.state, err)
	}
	if err == nil {
		r.state = inbox.Answered
	}
}

func (x *machine) expire(*rapid.T) {
	x.w.pass(time.Minute)
	x.w.update(func(g *dag.Graph) error { _, _, err := inbox.Expire(g, x.w.trust); return err })
	for _, r := range x.requests {
		if r.state == inbox.Open && !r.expires.IsZero() {
			r.state = inbox.Expired
		}
	}
}

// over is what the end of a task does to its requests.
func (x *machine) over(id string) {
	for _, r := range x.requests {
		if r.task == id && r.state == inbox.Open && r.kind != inbox.Permission {
			r.state = inbox.Withdrawn
		}
	}
}

func (x *machine) settle(do func(*dag.Graph, dag.Claim) error, to dag.Status) func(*rapid.T) {
	return func(rt *rapid.T) {
		id := some(rt, x.tasks, "task")
		t := x.tasks[id]
		if t.claim == nil {
			rt.Skip("nobody has it")
		}
		x.w.update(func(g *dag.Graph) error { return do(g, *t.claim) })
		x.lost = append(x.lost, *t.claim)
		t.status, t.claim = to, nil
		if to != dag.Pending {
			x.over(id)
		}
	}
}

func (x *machine) byHand(do func(*dag.Graph, string) error, to dag.Status) func(*rapid.T) {
	return func(rt *rapid.T) {
		id := some(rt, x.tasks, "task")
		t := x.tasks[id]
		if to == dag.Failed && t.status == dag.Done {
			rt.Skip("what is done is done")
		}
		x.w.update(func(g *dag.Graph) error { return do(g, id) })
		if t.claim != nil {
			x.lost = append(x.lost, *t.claim)
			x.w.update(func(g *dag.Graph) error { return g.Queue.Left(t.claim.Attempt) })
		}
		t.status, t.claim = to, nil
		x.over(id)
		if to == "" {
			delete(x.tasks, id)
		}
		for _, r := range x.requests {
			r.past = r.past || r.task == id && (to == "" || to == dag.Pending)
		}
	}
}

func (x *machine) compare(rt *rapid.T) {
	x.w.t = rt
	for id, want := range x.tasks {
		got := x.w.task(id)
		ready := want.status == dag.Pending && x.parked(id) == 0
		check.Equal(rt, id, [3]any{want.status, x.parked(id), ready}, [3]any{got.Status, got.Asks, got.Ready(x.w.now)})
		answers := get(x.w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Answers(g, x.w.trust, id) })
		known := 0
		for _, r := range x.requests {
			if r.task == id && r.kind == inbox.Question && !r.past && (r.state == inbox.Answered || r.state == inbox.Expired) {
				known++
			}
		}
		check.Equal(rt, "answers of "+id, known, len(answers))
	}
	open := 0
	for id, want := range x.requests {
		check.Equal(rt, id, want.state, x.w.request(id).State)
		if want.state == inbox.Open {
			open++
		}
	}
	check.Equal(rt, "waiting", open, len(get(x.w, inbox.Waiting)))
	x.w.sound()
}
