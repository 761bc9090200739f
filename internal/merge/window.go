package merge

import (
	"math"
	"time"
)

// Window is how many candidates to test at once so that testing keeps the processors busy and
// does not fill them twice: what is tested further ahead is tested in vain more often. wall and cpu are
// what one test took; until that is known (wall is 0), they are tested one after another.
func Window(processors int, wall, cpu time.Duration) int {
	if wall <= 0 {
		return 1
	}
	n := math.Round(float64(processors) * wall.Seconds() / max(cpu, time.Microsecond).Seconds())
	return int(min(max(n, 1), math.MaxInt32))
}
