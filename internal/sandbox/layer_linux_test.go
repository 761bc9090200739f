package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/testing/check"
)

// TestMountingSkipsWhatVanishes: files come and go in a temporary folder, and git
// replaces its configuration, while a sandbox is set up.
func TestMountingSkipsWhatVanishes(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	cmd := exec.Command("/proc/self/exe", t.TempDir())
	cmd.Env = append(os.Environ(), roleEnv+"=vanish")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && strings.TrimSpace(string(out)) == "ok", "%v: %s", err, out)
}

// attachWhatVanished is the other side, in a mount namespace of its own.
func attachWhatVanished(dir string) {
	file := func(name string) string { return filepath.Join(dir, name) }
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	for _, name := range []string{"removed", "replaced", "protected and removed"} {
		must(os.WriteFile(file(name), []byte("old"), 0o644))
	}
	removed, err := cloneLayer(file("removed"), rankOverlay, unix.MOUNT_ATTR_RDONLY)
	must(err)
	replaced, err := cloneLayer(file("replaced"), rankReadOnly, unix.MOUNT_ATTR_RDONLY)
	must(err)
	gone, err := cloneLayer(file("protected and removed"), rankReadOnly, unix.MOUNT_ATTR_RDONLY)
	must(err)
	must(errors.Join(os.Remove(file("removed")), os.Remove(file("protected and removed"))))
	must(os.WriteFile(file("new"), []byte("new"), 0o644))
	must(os.Rename(file("new"), file("replaced")))
	must(errors.Join(removed.attach(), replaced.attach(), gone.attach()))
	if _, err := os.Lstat(file("removed")); err == nil {
		fmt.Println("a mount point is left of the file that was removed")
	}
	if err := os.WriteFile(file("replaced"), []byte("evil"), 0o644); !errors.Is(err, unix.EROFS) {
		fmt.Println("the file in the place of the protected one is not read-only:", err)
	}
	var ls layers
	if ls.add(cloneLayer(file("never was"), rankWrite, 0)); ls.err != nil || len(ls.list) > 0 {
		fmt.Println(ls.err)
	}
	fmt.Println("ok")
}
