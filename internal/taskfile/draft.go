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
	maxLines = 5   // places that are named of one thing that was lost
	maxLost  = 200 // kinds of things that are named
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

func (d *draft) add(s dag.Spec) error {
	if len(d.specs) == maxTasks {
		return tooMany(s.Line)
	}
	d.specs = append(d.specs, s)
	return nil
}

func (d *draft) plan() (Plan, error) {
	if len(d.faults) > 0 {
		slices.SortStableFunc(d.faults, func(x, y dag.SpecError) int { return cmp.Compare(x.Line, y.Line) })
		return Plan{}, d.faults
	}
	f := d.family()
	d.dropEdges(f)
	d.settleGroups(f)
	return Plan{Specs: d.specs, Unmapped: d.lost}, nil
}

func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
