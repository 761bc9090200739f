package loop

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff([]int{5, 6, 7, 6, 8}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
