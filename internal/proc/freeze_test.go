//go:build linux

package proc

import (
	"testing"

	"ralph/internal/testing/check"
)

// TestAFrozenTreeStandsStill, all of it, until it is thawed; and it can be killed.
func TestAFrozenTreeStandsStill(t *testing.T) {
	t.Parallel()
	s := start(t, "tree", 4, nil)
	states := func() (stopped int) {
		for _, id := range s.reported {
			if st, err := readStat(id.Pid); err == nil && st.state == 'T' {
				stopped++
			}
		}
		return stopped
	}
	thaw := s.Freeze()
	check.Equal(t, "processes that stand still", 4, states())
	thaw()
	check.Equal(t, "processes that still do", 0, states())
	s.Freeze()
	check.OK(t, s.Kill())
	s.wantGone(t)
	s.Freeze()() // a process that has its pid now goes on
}
