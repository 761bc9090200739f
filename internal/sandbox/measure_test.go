//go:build linux

package sandbox

import (
	"bufio"
	"os"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

// TestConfinedProcessesAreMeasured, also where nobody may look into their helper.
func TestConfinedProcessesAreMeasured(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{None, Landlock, Namespaces} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			need(t, level)
			p := newWorld(t).profile(level, Work)
			data, err := p.Encode()
			check.OK(t, err)
			r, w, err := os.Pipe()
			check.OK(t, err)
			defer r.Close()
			owner := "w-1/" + t.Name()
			started, err := proc.Start(proc.Spec{Argv: []string{"sh", "-c", "sleep 1000 & echo; wait"}, Dir: p.Project, Env: os.Environ(), Stdout: w, Owner: owner, Confine: data})
			w.Close()
			check.OK(t, err)
			_, err = bufio.NewReader(r).ReadByte()
			check.OK(t, err)
			u, err := proc.Measure(owner, 1<<40)
			check.That(t, err == nil && u.Threads == 2 && u.Memory > 0, "got %+v, %v", u, err)
			check.OK(t, started.Kill())
			u, err = proc.Measure(owner, 1<<40)
			check.That(t, err == nil && u == proc.Usage{}, "got %+v, %v when all had ended", u, err)
		})
	}
}
