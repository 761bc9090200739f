package slot

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
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
	program(t, path, "#!/bin/sh\necho \"$0 $*\" >> '"+path+".sprung'\ncat\n")
	return trap{t, path}
}

// program writes a script from a process of its own: one that another test forks meanwhile would
// hold it open for writing, and it could not be run.
func program(t testing.TB, path, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `cat > "$0" && chmod 700 "$0"`, path)
	cmd.Stdin = strings.NewReader(text)
	check.OK(t, cmd.Run())
}

func (p trap) reset() { _ = os.Remove(p.path + ".sprung") }

func (p trap) check() {
	p.t.Helper()
	said, err := os.ReadFile(p.path + ".sprung")
	check.That(p.t, err != nil, "ralph ran a program of the agent's:\n%s", said)
}
