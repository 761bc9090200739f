package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/term"
)

// explain says what failed, what waits for what, and what to do next.
func (s snapshot) explain(r *Run) {
	links := linksOf(r)
	for _, t := range r.Tasks {
		if s.all[t.ID].Asks > 0 {
			r.Asks++
		}
		switch {
		case t.Group:
		case t.Status == dag.Failed:
			r.Failures = append(r.Failures, s.failure(r, t, links))
		case t.Status == dag.Pending, t.Status == dag.Blocked:
			if w, waits := s.wait(r, t); waits {
				r.Waits = append(r.Waits, w)
			}
		}
	}
	// Those that wait for what failed come first: the others mostly wait for them.
	slices.SortStableFunc(r.Waits, func(a, b Wait) int { return s.distance(r, a) - s.distance(r, b) })
	r.Next = r.steps()
}

// distance is 0 for what waits for something that will not happen by itself.
func (s snapshot) distance(r *Run, w Wait) int {
	stuck := func(id string) bool { return s.status(r, id) == dag.Failed || s.status(r, id) == dag.Blocked }
	if len(w.For) == 0 || slices.ContainsFunc(w.For, stuck) {
		return 0
	}
	return 1
}

// maxCounted is for how many failures it is worked out what they hold up: each
// takes a walk through the graph.
const maxCounted = 100

func (s snapshot) failure(r *Run, t Task, links links) Failure {
	f := Failure{Task: t.ID, Title: t.Title, Attempts: len(t.Attempts), Now: t.Now}
	text := s.failures[t.ID]
	if n := len(t.Attempts); n > 0 {
		last := r.Attempts[t.Attempts[n-1]]
		f.Attempt, f.Rejected = last.ID, last.Rejected
		if last.Reason != "" {
			text = last.Reason
		}
		f.Gate = refused(last.Gates)
	}
	if f.Gate == nil {
		f.Gate = gateInReason(text)
	}
	f.Reason, f.Detail = head(text)
	if f.Reason == "" {
		f.Reason = "no reason was given"
	}
	if len(r.Failures) < maxCounted {
		f.Holds = links.behind(r, t.ID, s.keeps)
	}
	f.Next = f.steps(r.ID)
	return f
}

func (s snapshot) wait(r *Run, t Task) (Wait, bool) {
	w := Wait{Task: t.ID, Title: t.Title, For: []string{}}
	var why []string
	if t.Status == dag.Blocked {
		why = append(why, cmp.Or(s.left[t.ID], "a person blocked it"))
	}
	who := "waits for "
	for at, deep := t, 0; deep < 100; deep++ {
		var open []string
		for _, b := range at.After {
			if status := s.status(r, b); status != dag.Done && status != event.TaskDeleted {
				w.For = append(w.For, b)
				open = append(open, fmt.Sprintf("%s (%s, %s)", s.title(b), b, status))
			}
		}
		if len(open) > 0 {
			why = append(why, who+enumerate(open))
		}
		parent, ok := s.all[at.Parent]
		if !ok {
			break
		}
		at = r.Task(parent.ID)
		at.Parent, who = parent.Parent, "its group waits for "
		if status := s.status(r, parent.ID); (dag.Task{Status: status, GivenUp: parent.GivenUp}).KeepsBack(s.keeps) {
			w.For = append(w.For, parent.ID)
			why = append(why, fmt.Sprintf("its group %s (%s) is %s", s.title(parent.ID), parent.ID, status))
		}
	}
	if s.all[t.ID].Asks > 0 {
		why = append(why, "waits for an answer: ralph inbox")
	}
	if until := s.all[t.ID].NotBefore; t.Now == dag.Pending && !until.IsZero() {
		reason, _ := head(s.all[t.ID].WaitReason)
		why = append(why, "waits until "+r.when(until)+human.Lead(": ", reason))
	}
	w.Why = strings.Join(why, "; ")
	return w, len(why) > 0
}

// maxNamed is how many blockers a sentence names.
const maxNamed = 4

func (s snapshot) title(id string) string { return term.Cut(render.Line(s.all[id].Title), 50) }

func enumerate(list []string) string {
	if more := len(list) - maxNamed; more > 0 {
		list = append(list[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
	}
	return human.Series(list, "and")
}

// status is that of a task at the end of the run, also outside of its scope.
func (s snapshot) status(r *Run, id string) dag.Status {
	if i, ok := r.index[id]; ok {
		return r.Tasks[i].Status
	}
	if t, ok := s.all[id]; ok {
		return t.Status
	}
	return event.TaskDeleted
}

// links are the dependencies and groups of a report, for walking forward.
type links struct {
	next     map[string][]string // blocker to blocked
	children map[string][]string
}

func linksOf(r *Run) links {
	l := links{next: map[string][]string{}, children: r.children()}
	for _, t := range r.Tasks {
		for _, b := range t.After {
			l.next[b] = append(l.next[b], t.ID)
		}
	}
	return l
}

// behind counts the open tasks that cannot run before this one is done: what waits
// for it or for a group that it is in, what is left of a group that failed with it
// unless runs keep going, and so on.
func (l links) behind(r *Run, id string, keeps bool) int {
	seen := map[string]bool{id: true}
	queue := []string{id}
	push := func(ids ...string) {
		for _, next := range ids {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	count := 0
	for len(queue) > 0 {
		at := r.Task(queue[0])
		queue = queue[1:]
		if at.ID != id && !at.Group && at.Status.Open() {
			count++
		}
		push(l.next[at.ID]...)
		if at.Group {
			push(l.children[at.ID]...)
		}
		for parent, deep := at.Parent, 0; parent != "" && deep < 100; deep++ {
			push(l.next[parent]...)
			up := r.Task(parent)
			if at.ID == id && up.Status == dag.Failed && !keeps {
				push(l.children[parent]...)
			}
			parent = up.Parent
		}
	}
	return count
}

// steps chooses the commands to type by how the run ended and by what failed. What was
// put right since needs nothing.
func (r Run) steps() []render.Step {
	var open []render.Failed
	for _, f := range r.Failures {
		if f.Now == dag.Failed {
			open = append(open, f.failed())
		}
	}
	left := ""
	if len(r.Waits) > 0 {
		left = r.Waits[0].Task
	}
	if n := len(r.Attempts); n > 0 && r.Outcome == event.OutcomeInterrupted && r.Task(r.Attempts[n-1].Task).Now == dag.Pending {
		left = r.Attempts[n-1].Task
	}
	return append(render.Looks(r.Work), render.Next(r.ID, r.Outcome, left, r.Asks, open, false)...)
}

func (f Failure) failed() render.Failed {
	return render.Failed{Task: f.Task, Reason: f.Reason, Rejected: f.Rejected, Ran: f.Attempt != ""}
}

// steps are for one failed task. What was put right since needs nothing.
func (f Failure) steps(run string) []render.Step {
	switch {
	case f.Now == dag.Failed:
		return f.failed().Next(run)
	case f.Attempt != "":
		return f.failed().Next(run)[:1]
	default:
		return nil
	}
}

// Headline says in one line how the run ended, or how it goes.
func (r Run) Headline() string {
	words, _ := render.Outcome(r.Outcome, r.Counts.Failed)
	return words
}

// Tone is how that is to be taken.
func (r Run) Tone() render.Tone {
	_, tone := render.Outcome(r.Outcome, r.Counts.Failed)
	return tone
}
