package loop

import (
	"testing"

	"ralph/internal/testing/check"
)

// Three jobs run at once, and the second one does not count.
func TestIterationsThatCountHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	n := numbers{highest: 4} // of the run that is continued
	var got []int
	begin := func() {
		number := n.next()
		n.take(number)
		got = append(got, number)
	}
	begin()
	begin()
	begin()
	n.giveBack(6)
	begin()
	begin()
	check.Equal(t, "result", []int{5, 6, 7, 6, 8}, got)
}
