package taskfile

import (
	"cmp"
	"fmt"
	"slices"

	"ralph/dag"
)

// draft is a plan of another program while it is read.
type draft struct {
	specs  []dag.Spec
	faults dag.PlanError
	lost   []Unmapped
	known  map[string]int // what was lost, to its place in lost
	given  map[int]bool   // specs that stand for a heading: nobody gave them a status
}

const (
	maxLines = 5   // places that are told of one thing that was lost
	maxLost  = 200 // kinds of things that are told
)

// lose notes what has no place in a graph.
func (d *draft) lose(line int, format string, args ...any) {
	what := cut(fmt.Sprintf(format, args...), 200)
	if d.known == nil {
		d.known = map[string]int{}
	}
	i, ok := d.known[what]
	if !ok && len(d.lost) >= maxLost {
		what = "more of other kinds"
		i, ok = d.known[what]
	}
	if !ok {
		i = len(d.lost)
		d.known[what] = i
		d.lost = append(d.lost, Unmapped{What: what})
	}
	u := &d.lost[i]
	u.Count++
	if len(u.Lines) < maxLines && !slices.Contains(u.Lines, line) {
		u.Lines = append(u.Lines, line)
	}
}

func (d *draft) fault(line int, format string, args ...any) {
	d.faults = append(d.faults, dag.SpecError{Line: line, Err: fmt.Errorf(format, args...)})
}

// add takes a task, or says that there are too many.
func (d *draft) add(s dag.Spec) error {
	if len(d.specs) == maxTasks {
		return tooMany(s.Line)
	}
	d.specs = append(d.specs, s)
	return nil
}

// plan ends the reading.
func (d *draft) plan() (Plan, error) {
	if len(d.faults) > 0 {
		slices.SortStableFunc(d.faults, func(x, y dag.SpecError) int { return cmp.Compare(x.Line, y.Line) })
		return Plan{}, d.faults
	}
	d.dropEdges()
	d.settleGroups()
	return Plan{Specs: d.specs, Unmapped: d.lost}, nil
}

// dropEdges leaves out what a task is said to belong to or to wait for if that is
// not in the file, or is a part of the task itself, for which a group always waits.
func (d *draft) dropEdges() {
	byRef := d.byRef()
	for i := range d.specs {
		s := &d.specs[i]
		if _, ok := byRef[s.Parent]; s.Parent != "" && !ok {
			d.lose(s.Line, "part of %s, which is not in the file", s.Parent)
			s.Parent = ""
		}
	}
	for i := range d.specs {
		s := &d.specs[i]
		s.After = slices.DeleteFunc(s.After, func(name string) bool {
			_, ok := byRef[name]
			switch {
			case !ok:
				d.lose(s.Line, "waits for %s, which is not in the file", name)
				return true
			case d.inside(byRef, name, s.Ref):
				d.lose(s.Line, "waits for its own subtask, as every group does")
				return true
			}
			return false
		})
		if len(s.After) == 0 {
			s.After = nil
		}
	}
}

func (d *draft) byRef() map[string]int {
	byRef := make(map[string]int, len(d.specs))
	for i, s := range d.specs {
		if _, taken := byRef[s.Ref]; !taken && s.Ref != "" {
			byRef[s.Ref] = i
		}
	}
	return byRef
}

// inside says that a task lies below a group. It gives up after as many levels as
// no plan has, because parents may run in a circle, which the graph refuses.
func (d *draft) inside(byRef map[string]int, task, group string) bool {
	if group == "" {
		return false
	}
	for range 1000 {
		i, ok := byRef[task]
		if !ok || d.specs[i].Parent == "" {
			return false
		}
		task = d.specs[i].Parent
		if task == group {
			return true
		}
	}
	return false
}

// settleGroups lets subtasks decide whether a group is done, as the graph does,
// and says where the file had it otherwise.
func (d *draft) settleGroups() {
	children := map[string][]int{}
	for i, s := range d.specs {
		if s.Parent != "" {
			children[s.Parent] = append(children[s.Parent], i)
		}
	}
	const done, open = 1, 2
	state := make([]byte, len(d.specs))
	var settle func(i int) bool
	settle = func(i int) bool {
		s := &d.specs[i]
		if state[i] != 0 {
			return state[i] == done
		}
		state[i] = open
		below := children[s.Ref]
		if s.Ref == "" || len(below) == 0 {
			if s.Status == dag.Done {
				state[i] = done
			}
			return s.Status == dag.Done
		}
		all := true
		for _, c := range below {
			all = settle(c) && all
		}
		switch {
		case !all && s.Status == dag.Done:
			s.Status = ""
			d.lose(s.Line, "done before its subtasks: it is open until they are done")
		case all && s.Status == "" && !d.given[i]:
			d.lose(s.Line, "open although its subtasks are done: it counts as done")
		}
		if all && s.Status != dag.Blocked {
			state[i] = done
		}
		return state[i] == done
	}
	for i := range d.specs {
		settle(i)
	}
}

func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
