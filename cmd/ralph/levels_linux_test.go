package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/sandbox"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

const (
	deniedHere = "(namespaces: user namespaces are not allowed here"
	slotOnly   = ": agents write only their slot, their own folders and caches"
	cachesOpen = "tests of rejected work can write caches that later gates read"
)

// machines are kinds of machines, with the column of docs/security.md that holds there and what the header of a run and ralph doctor say.
var machines = []struct {
	kind, needs, column, header, doctor string
}{
	{"namespaces", "namespaces", "namespaces", "namespaces" + slotOnly + "\n", "namespaces; not covered:"},
	{"no-layers", "namespaces", "namespaces", "namespaces" + slotOnly + "; " + sandbox.Unlayered + "\n", sandbox.Unlayered},
	{"landlock", "landlock", "Landlock", "landlock" + slotOnly + "; " + cachesOpen + " (namespaces: not asked for)", cachesOpen},
	{"denied", "landlock", "Landlock", "landlock" + slotOnly + "; " + cachesOpen + " " + deniedHere, "no namespaces: user namespaces are not allowed here"},
	{"denied-overlays", "landlock", "Landlock", "landlock" + slotOnly + "; " + cachesOpen + " (namespaces: mount an overlay: no such device)", "no namespaces: mount an overlay: no such device"},
	{"denied-landlock", "none", "none", "none: agents and gates run with your rights " + deniedHere, "every process may read and write whatever the user may"},
	{"off", "none", "none", "off: agents and gates run with your rights\n", "off, as configured"},
}

// TestFaultsAtEachLevel plays the attacks of testdata/levels at each level, also where a container or a kernel denies what a better one needs,
// and compares what becomes of them with the table of docs/security.md.
func TestFaultsAtEachLevel(t *testing.T) {
	raced.Skip(t, "what becomes of work is shown here")
	t.Parallel()
	for _, m := range machines {
		t.Run(m.kind, func(t *testing.T) {
			t.Parallel()
			if ok, err := scriptCondition(m.needs); err != nil || !ok {
				t.Skipf("no %s here: %v", m.needs, err) // scriptCondition prints why
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			check.OK(t, err)
			check.OK(t, os.CopyFS(dir, os.DirFS("testdata/levels")))
			at := func(argv ...string) (stdout, stderr string) {
				cmd := exec.Command("at", append([]string{m.kind}, argv...)...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HOME="+dir+"/home", "XDG_STATE_HOME="+dir+"/state", "NO_COLOR=1", "RALPH_VERIFY_ENABLED=false", "GORACE=atexit_sleep_ms=0")
				var out, said strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &said
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v: %v\n%s%s", argv, err, out.String(), said.String())
				}
				return out.String(), said.String()
			}
			check.OK(t, os.Mkdir(dir+"/home", 0o700))
			stdout, stderr := at("sh", "play.sh")
			if want := faultsOf(t, m.column); want != stdout {
				t.Errorf("got\n%swant\n%s%s", stdout, want, stderr)
			}
			check.Contains(t, "the header", "sandbox: "+m.header, stderr)
			stdout, _ = at("sh", "-c", "cd repo/sub && ralph doctor")
			check.Contains(t, "ralph doctor", m.doctor, stdout)
		})
	}
}

// faultsOf is a column of the table in docs/security.md, as play.sh prints it.
func faultsOf(t *testing.T, column string) (out string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(between(t, "docs/security.md", "| an agent in a slot |", "\n\n")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if n == 0 {
			for i, name := range cells {
				if strings.TrimSpace(name) == column {
					n = i + 2 // what is before it was cut off
				}
			}
			continue
		}
		if row := strings.TrimSpace(cells[1]); strings.Trim(row, "-") != "" {
			out += row + ": " + strings.TrimSpace(cells[n]) + "\n"
		}
	}
	check.That(t, out != "", "docs/security.md has no column %s", column)
	return out
}

// TestNamespacesAreNotSkipped fails where the kernel has user namespaces and overlays, and tests skip them all the same: CI would not see
// what breaks there.
func TestNamespacesAreNotSkipped(t *testing.T) {
	if ok, err := scriptCondition("namespaces"); err != nil || ok {
		check.OK(t, err)
		return
	}
	if most, ok := os.LookupEnv(confinableEnv); ok {
		t.Skipf("%s=%s", confinableEnv, most)
	}
	most, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	systems, err2 := os.ReadFile("/proc/filesystems")
	check.OK(t, err2)
	if err != nil || strings.TrimSpace(string(most)) == "0" || !strings.Contains(string(systems), "\toverlay\n") {
		fmt.Fprintln(os.Stderr, "SKIPPED: namespaces, which the kernel lacks or sysctl user.max_user_namespaces forbids")
		t.SkipNow()
	}
	t.Fatalf("the kernel has user namespaces and overlays, and tests skip them: %s\n%s",
		strings.Join(sandbox.Detect(sandbox.Namespaces).Reasons, "; "), sandbox.Grants)
}
