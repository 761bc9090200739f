package slot

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/testing/check"
)

type ctx = context.Context

var ignoreOrder = cmpopts.SortSlices(func(a, b string) bool { return sort.StringsAreSorted([]string{a, b}) && a != b })

// trap is a program that nobody but an agent may run.
type trap struct {
	t    testing.TB
	path string
}

func newTrap(t testing.TB) trap {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trap")
	check.OK(t, os.WriteFile(path, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+path+".sprung'\ncat\n"), 0o700))
	return trap{t, path}
}

func (p trap) reset() { _ = os.Remove(p.path + ".sprung") }

func (p trap) check() {
	p.t.Helper()
	said, err := os.ReadFile(p.path + ".sprung")
	check.That(p.t, err != nil, "ralph ran a program of the agent's:\n%s", said)
}
