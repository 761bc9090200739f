//go:build linux

package proc

import (
	"os"
	"testing"

	"ralph/internal/testing/check"
)

func TestForeignIsWhoWasNotStartedForTheOwner(t *testing.T) {
	t.Parallel()
	for role, n := range map[string]int{"tree": 4, "clean": 2} {
		owner := t.Name() + "/" + role
		s := start(t, role, n, func(s *Spec) { s.Owner = owner + "/a-1" })
		for name, id := range s.reported {
			for other, want := range map[string]bool{owner: false, owner + "/a-1": false, owner + "/a-2": true, owner + "/a": true, "": true} {
				check.Equal(t, role+": "+name+" of "+other, want, Foreign(other, id.Pid))
			}
		}
		for name, pid := range map[string]int{"this process": os.Getpid(), "its parent": os.Getppid(), "one that cannot be seen": 0} {
			check.Equal(t, name, true, Foreign(owner, pid))
		}
		check.OK(t, s.Kill())
		check.Equal(t, "after its end", true, Foreign(owner, s.reported["agent"].Pid))
	}
}
