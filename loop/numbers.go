package loop

import "slices"

// numbers are those of iterations, from 1. One that does not count leaves its number to
// the next, so that the last number of a run is how many iterations it says that it took,
// and no two that count have the same.
type numbers struct {
	highest int
	spare   []int // lower ones that are free again
}

// next is the number of the iteration that begins next.
func (n *numbers) next() int {
	if len(n.spare) > 0 {
		return slices.Min(n.spare)
	}
	return n.highest + 1
}

// take uses up a number that next gave.
func (n *numbers) take(number int) {
	n.highest = max(n.highest, number)
	n.spare = slices.DeleteFunc(n.spare, func(spare int) bool { return spare == number })
}

// giveBack frees the number of an iteration that does not count.
func (n *numbers) giveBack(number int) { n.spare = append(n.spare, number) }
