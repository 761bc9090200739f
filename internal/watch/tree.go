package watch

import "ralph/dag"

// row is a line of the tree. There is one for each task that is not folded away;
// only those on the screen are ever drawn.
type row struct {
	task   int    // its index in the snapshot
	lead   string // the branches in front of it
	folded bool
}

// deepest is how far the branches of a tree are drawn; below it they stand below
// each other.
const deepest = 12

// plant makes rows of tasks, which come oldest first. Groups that are done are folded
// unless a person unfolded them.
func plant(tasks []dag.Outline, folds map[string]bool) []row {
	numbers := make(map[int64]bool, len(tasks))
	for _, t := range tasks {
		numbers[t.N] = true
	}
	children := map[int64][]int{}
	for i, t := range tasks {
		parent := t.Parent
		if !numbers[parent] {
			parent = 0 // it is outside of the scope
		}
		children[parent] = append(children[parent], i)
	}
	rows := make([]row, 0, len(tasks))
	var grow func(parent int64, below string, depth int)
	grow = func(parent int64, below string, depth int) {
		list := children[parent]
		for k, i := range list {
			t := tasks[i]
			lead, next := "", ""
			switch {
			case depth == 0:
			case depth > deepest:
				lead, next = below, below
			case k == len(list)-1:
				lead, next = below+"└ ", below+"  "
			default:
				lead, next = below+"├ ", below+"│ "
			}
			folded := t.Children > 0 && folded(t, folds)
			rows = append(rows, row{task: i, lead: lead, folded: folded})
			if !folded {
				grow(t.N, next, depth+1)
			}
		}
	}
	grow(0, "", 0)
	return rows
}

func folded(t dag.Outline, folds map[string]bool) bool {
	if f, said := folds[t.ID]; said {
		return f
	}
	return t.Status == dag.Done
}

// window says which rows to show so that the selected one is among them, moving as
// little as possible.
func window(top, selected, rows, height int) int {
	if selected < top {
		top = selected
	}
	if selected >= top+height {
		top = selected - height + 1
	}
	return max(min(top, rows-height), 0)
}
