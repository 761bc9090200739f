package report

import (
	"cmp"
	"slices"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// tasks makes the tasks of the report: those in scope, and those that the run
// worked on wherever they are now.
func (s snapshot) tasks(r *Run) {
	after := map[string][]string{}
	for _, e := range s.edges {
		after[e.Blocked] = append(after[e.Blocked], e.Blocker)
	}
	by := map[string][]int{}
	for i, a := range r.Attempts {
		by[a.Task] = append(by[a.Task], i)
	}
	list := s.scope
	known := seq.Set(list, func(t dag.Task) string { return t.ID })
	for _, a := range r.Attempts {
		if t, ok := s.all[a.Task]; ok && !known[a.Task] {
			known[a.Task], list = true, append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b dag.Task) int { return cmp.Compare(a.N, b.N) })
	for _, t := range list {
		if r.Over() && t.CreatedAt.After(s.end) {
			continue // it came later
		}
		r.index[t.ID] = len(r.Tasks)
		r.Tasks = append(r.Tasks, Task{
			ID: t.ID, Title: render.Line(t.Title), Feature: t.Feature, Parent: t.Parent, Group: t.Children > 0,
			Status: s.then(r, t, by[t.ID]), Now: t.Status, After: after[t.ID], Attempts: by[t.ID],
			Verified: s.verified(r, by[t.ID]),
		})
	}
	for _, a := range r.Attempts {
		if !known[a.Task] {
			known[a.Task] = true
			r.index[a.Task] = len(r.Tasks)
			r.Tasks = append(r.Tasks, Task{
				ID: a.Task, Title: a.Title, Feature: s.journal[a.ID].Feature, Status: event.TaskDeleted, Now: event.TaskDeleted, Attempts: by[a.Task],
			})
		}
	}
	r.rollUp()
}

func (s snapshot) verified(r *Run, attempts []int) bool {
	for _, i := range attempts {
		if !r.Attempts[i].Outcome.Done() {
			continue
		}
		if verified(s.receipts[i]) || len(r.Attempts[i].Gates) > 0 && refused(r.Attempts[i].Gates) == nil {
			return true
		}
	}
	return false
}

// then is what a task was when the run ended. What has not changed since is what it
// is; what has goes by the run's last attempt, or, without one, was not begun.
func (s snapshot) then(r *Run, t dag.Task, attempts []int) dag.Status {
	if !r.Over() || r.Outcome == event.OutcomeDied || !t.UpdatedAt.After(r.EndedAt) {
		return t.Status
	}
	if len(attempts) > 0 {
		last := r.Attempts[attempts[len(attempts)-1]]
		switch {
		case last.Status != "":
			return last.Status
		case last.Outcome.Done():
			return dag.Done
		case last.Outcome == event.AttemptFailed:
			return dag.Failed
		default:
			return dag.Pending
		}
	}
	if !t.FinishedAt.IsZero() && !t.FinishedAt.After(r.EndedAt) {
		return t.Status
	}
	if t.Status == dag.Blocked {
		return dag.Blocked
	}
	return dag.Pending
}

// dropped reports whether somebody took the task out of the plan.
func (t Task) dropped() bool { return t.Status == dag.Cancelled || t.Status == event.TaskDeleted }

// rollUp gives groups the status that their subtasks had. They were created before
// their subtasks, or moved under a later group: hence the repetition.
func (r *Run) rollUp() {
	children := r.children()
	var settle func(id string, deep int) dag.Status
	settle = func(id string, deep int) dag.Status {
		t := &r.Tasks[r.index[id]]
		switch {
		case !t.Group, len(children[id]) == 0, deep > 100, t.Status == dag.Blocked, !r.Over():
			return t.Status
		}
		status := dag.Done
		for _, c := range children[id] {
			switch settle(c, deep+1) {
			case dag.Done, dag.Cancelled, event.TaskDeleted:
			case dag.Failed:
				status = dag.Failed
			default:
				if status == dag.Done {
					status = dag.Pending
				}
			}
		}
		t.Status = status
		return status
	}
	for _, t := range r.Tasks {
		if t.Group {
			settle(t.ID, 0)
		}
	}
}
