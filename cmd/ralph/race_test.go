//go:build race

package main

import (
	"debug/buildinfo"
	"os/exec"
	"runtime/debug"
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

// TestTheProgramIsRaced: the detector sees what it is built into, and most of what
// is tested happens in programs that the tests start.
func TestTheProgramIsRaced(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ralph", "fakeagent"} {
		path, err := exec.LookPath(name)
		check.OK(t, err)
		info, err := buildinfo.ReadFile(path)
		check.OK(t, err)
		if !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
			t.Errorf("%s is built without the race detector", name)
		}
	}
}
