package taskfile

import (
	"cmp"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/plain"
)

// draft is a plan of another program while it is read.
type draft struct {
	specs  []dag.Spec
	faults dag.PlanError
	lost   []Unmapped
	known  map[string]int  // what was lost, to its place in lost
	given  map[string]bool // refs of those that stand for a heading: nobody gave them a status
}

const (
	maxLines = 5   // places that are named of one thing that was lost
	maxLost  = 200 // kinds of things that are named
)

// lose notes what has no place in a graph.
func (d *draft) lose(line int, format string, args ...any) {
	what := plain.Cut(fmt.Sprintf(format, args...), 200)
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

func (d *draft) add(s dag.Spec) error {
	if len(d.specs) == maxTasks {
		return tooMany(s.Line)
	}
	d.specs = append(d.specs, s)
	return nil
}

func (d *draft) plan(format Format) (Plan, error) {
	if len(d.faults) > 0 {
		slices.SortStableFunc(d.faults, func(x, y dag.SpecError) int { return cmp.Compare(x.Line, y.Line) })
		return Plan{}, d.faults
	}
	f := d.family()
	d.dropEdges(f)
	d.settleGroups(f)
	d.nameOrigins(format)
	return Plan{Specs: d.specs, Unmapped: d.lost}, nil
}

// family says who contains whom in a draft.
type family struct {
	byRef    map[string]int
	children [][]int
	first    []int // of a walk through the trees: each task's own number
	last     []int // and the highest one below it
}

// family drops parents that are not in the file and looks at the others. Parents
// that run in a circle are left for the graph to refuse.
func (d *draft) family() family {
	f := family{
		byRef: d.byRef(), children: make([][]int, len(d.specs)),
		first: make([]int, len(d.specs)), last: make([]int, len(d.specs)),
	}
	var roots []int
	for i := range d.specs {
		s := &d.specs[i]
		p, ok := f.byRef[s.Parent]
		switch {
		case ok:
			f.children[p] = append(f.children[p], i)
			continue
		case s.Parent != "":
			d.lose(s.Line, "part of %s, which is not in the file", s.Parent)
			s.Parent = ""
		}
		roots = append(roots, i)
	}
	number := 0
	var walk func(int)
	walk = func(i int) {
		number++
		f.first[i] = number
		for _, c := range f.children[i] {
			walk(c)
		}
		f.last[i] = number
	}
	for _, i := range roots {
		walk(i)
	}
	return f
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

func (f family) contains(group, task int) bool {
	return f.first[group] < f.first[task] && f.first[task] <= f.last[group]
}

// dropEdges leaves out what a task is said to wait for if that is not in the file,
// or is a part of the task itself, for which a group always waits.
func (d *draft) dropEdges(f family) {
	for i := range d.specs {
		s := &d.specs[i]
		s.After = slices.DeleteFunc(s.After, func(name string) bool {
			blocker, ok := f.byRef[name]
			switch {
			case !ok:
				d.lose(s.Line, "waits for %s, which is not in the file", name)
				return true
			case f.contains(i, blocker):
				d.lose(s.Line, "waits for its own subtask, as every group does")
				return true
			}
			return false
		})
		if len(s.After) == 0 {
			s.After = nil
		}
		s.Related = slices.DeleteFunc(s.Related, func(name string) bool {
			_, ok := f.byRef[name]
			if !ok {
				d.lose(s.Line, "related to %s, which is not in the file", name)
			}
			return !ok
		})
	}
}

// settleGroups lets subtasks decide whether a group is done, as the graph does,
// and says where the file had it otherwise.
func (d *draft) settleGroups(f family) {
	var done func(i int) bool
	done = func(i int) bool {
		s := &d.specs[i]
		if len(f.children[i]) == 0 {
			return s.Status == dag.Done || s.Status == dag.Cancelled
		}
		all := true
		for _, c := range f.children[i] {
			all = done(c) && all
		}
		switch {
		case !all && s.Status == dag.Done:
			s.Status = ""
			d.lose(s.Line, "done before its subtasks: it is open until they are done")
		case all && s.Status == "" && !d.given[s.Ref]:
			d.lose(s.Line, "open although its subtasks are done: it counts as done")
		}
		return all && s.Status != dag.Blocked
	}
	for i := range d.specs {
		if d.specs[i].Parent == "" {
			done(i)
		}
	}
}
