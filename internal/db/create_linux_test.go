package db_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestANewFileIsOnTheDiskBeforeItHasItsName, or a power cut would leave an empty one,
// which reads as damage.
func TestANewFileIsOnTheDiskBeforeItHasItsName(t *testing.T) {
	t.Parallel()
	if err := exec.Command("strace", "-f", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("system calls cannot be seen here: %v", err)
	}
	cmd := exec.Command("strace", "-f", "-y", "-e", "trace=fsync,fdatasync,link,linkat", os.Args[0])
	cmd.Env = append(os.Environ(), "RALPH_TEST_OPEN="+newPath(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before, after, linked := strings.Cut(string(out), `/progress.db", 0`)
	if !linked {
		t.Fatalf("nothing became the file:\n%s", out)
	}
	synced := func(text, what string) bool {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "sync(") && strings.Contains(line, what) {
				return true
			}
		}
		return false
	}
	if !synced(before, "/progress.db-new-") {
		t.Errorf("it is not on the disk when it gets its name:\n%s", out)
	}
	if !synced(after, "/.ralph>") {
		t.Errorf("its name is not on the disk in the end:\n%s", out)
	}
}
