package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestPackagesDoNothingAtStart: every command pays for what packages do before main, and so does each helper of a run. What one of ours needs is
// made when it is first needed (sync.OnceValue, internal/lazyregexp).
func TestPackagesDoNothingAtStart(t *testing.T) {
	t.Parallel()
	const most = 16 << 10 // bytes of a package; functions that make something later take some, too
	known := map[string]int{
		"ralph/cmd/ralph":               192 << 10, // the tree of commands; and tests, which are in this one
		"ralph/internal/cli/featurecmd": 32 << 10,  // commands and their flags
		"ralph/internal/cli/taskcmd":    32 << 10,
	}
	program, err := exec.LookPath("ralph")
	check.OK(t, err)
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	check.OK(t, err)
	found := regexp.MustCompile(`(?m)^init (ralph/\S+) @.*, (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	check.That(t, len(found) > 10, "inittrace says %s", out)
	roomy, gob := strings.Index(string(out), "init ralph/internal/roomy "), strings.Index(string(out), "init encoding/gob ")
	check.That(t, 0 <= roomy && roomy < gob, "the stack grows after packages that need it: %s", out)
	for _, m := range found {
		if strings.HasPrefix(m[1], "ralph/internal/testing/") { // in no released program
			continue
		}
		bytes, _ := strconv.Atoi(m[2])
		bound := most
		if of, is := known[m[1]]; is {
			bound = of
		}
		check.That(t, bytes <= bound, "%s allocates %d bytes when the program starts, and may %d", m[1], bytes, bound)
	}
}
