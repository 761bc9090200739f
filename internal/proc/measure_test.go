//go:build linux

package proc

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestSharedMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "sharing", 5, nil)
	plain, err := Measure(t.Name(), 1<<40)
	check.OK(t, err)
	check.That(t, plain.Memory >= 5*shared, "the plain sum is %d, want %d at least", plain.Memory, 5*shared)
	check.That(t, plain.Threads >= 5, "got %d threads of 5 processes", plain.Threads)
	exact, err := Measure(t.Name(), 0)
	check.OK(t, err)
	check.That(t, exact.Memory >= shared && exact.Memory < plain.Memory-3*shared, "got %d of a plain sum of %d, want %d to count once", exact.Memory, plain.Memory, shared)
	check.OK(t, s.Kill())
}

func TestOnlyTheOwnersProcessesAreMeasured(t *testing.T) {
	t.Parallel()
	s := start(t, "tree", 4, func(s *Spec) { s.Owner = t.Name() + "/a-1" })
	for owner, want := range map[string]bool{t.Name(): true, t.Name() + "/a-1": true, t.Name() + "/a-2": false, t.Name() + "/a": false} {
		u, err := Measure(owner, 1<<40)
		check.OK(t, err)
		check.Equal(t, owner, want, u.Threads >= 4 && u.Memory > 0)
		check.Equal(t, owner+" is not there", !want, u == Usage{})
	}
	check.OK(t, s.Kill())
}
