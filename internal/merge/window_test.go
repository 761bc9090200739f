package merge

import (
	"math"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestWindow(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		processors int
		wall, cpu  time.Duration
		want       int
	}{
		"nothing was tested yet":              {processors: 8, want: 1},
		"a test fills all processors":         {processors: 8, wall: s, cpu: 8 * s, want: 1},
		"and more, by the clock's precision":  {processors: 8, wall: s, cpu: 9 * s, want: 1},
		"a test fills one":                    {processors: 8, wall: s, cpu: s, want: 8},
		"its shell and helper need some, too": {processors: 2, wall: s, cpu: 1050 * time.Millisecond, want: 2},
		"a test fills most of them":           {processors: 2, wall: s, cpu: 1500 * time.Millisecond, want: 1},
		"a test waits most of the time":       {processors: 2, wall: 10 * s, cpu: s, want: 20},
		"one processor, and tests that wait":  {processors: 1, wall: 10 * s, cpu: s, want: 10},
		"a test takes no processor at all":    {processors: 1, wall: 24 * time.Hour, want: math.MaxInt32},
	} {
		check.Equal(t, name, c.want, Window(c.processors, c.wall, c.cpu))
	}
}
