//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// inNamespace runs another attempt with all capabilities of a user namespace of
// its own.
func inNamespace(name string) {
	uid, gid := os.Getuid(), os.Getgid()
	cmd := exec.Command("/proc/self/exe", name)
	cmd.Env = os.Environ()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET,
	}
	if uid != 0 { // root may not be mapped by one without capabilities, and owns its files all the same
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	} else {
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
	}
}

func mountAttempts() map[string]attempt {
	remount := func(w *world) {
		for _, path := range []string{"/", w.Base, w.Outside, w.Project + "/.ralph", w.Project + "/.git/hooks", "/proc/sys"} {
			unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "")
			unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}
		overwrite(w.Outside + "/file")
		overwrite(w.Project + "/.ralph/state")
		corePattern()
	}
	unmount := func(w *world) {
		for _, path := range []string{w.Project + "/.ralph", w.Project + "/.git/hooks", w.Project + "/.git", w.Project, "/proc/sys", "/proc", "/dev", "/tmp", w.Hidden} {
			unix.Unmount(path, unix.MNT_DETACH)
		}
		overwrite(w.Project + "/.ralph/state")
		overwrite(w.Project + "/file")
		read(w.Hidden + "/key")
		corePattern()
	}
	bind := func(w *world) {
		for _, from := range []string{w.Outside, "/", w.Project} {
			unix.Mount(from, w.Temp, "", unix.MS_BIND, "")
			overwrite(w.Temp + "/file")
			overwrite(w.Temp + "/.ralph/state")
			overwrite(filepath.Join(w.Temp, w.Outside, "file"))
			if fd, err := unix.OpenTree(unix.AT_FDCWD, from, unix.OPEN_TREE_CLONE); err == nil {
				unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
				if file, err := unix.Openat(fd, "file", unix.O_WRONLY, 0); err == nil && from != w.Project {
					unix.Write(file, []byte("overwritten"))
				}
			}
		}
		read(filepath.Join(w.Temp, w.Hidden, "key"))
	}
	all := map[string]attempt{
		"remount":     {from: Namespaces, do: remount},
		"unmount":     {from: Landlock, do: func(*world) { escapedIf(hasCaps(unix.CAP_SYS_ADMIN), "has CAP_SYS_ADMIN") }},
		"unmount all": {from: Namespaces, do: unmount},
		"bind": {from: Landlock, do: func(w *world) {
			if unix.Mount(w.Outside, w.Temp, "", unix.MS_BIND, "") == nil {
				escaped("mounted")
				unix.Unmount(w.Temp, 0)
			}
		}},
		"bind many": {from: Namespaces, do: bind},
		"unshare":   {from: Landlock, do: func(*world) { escapedIf(unix.Unshare(unix.CLONE_NEWNS) == nil, "has mounts of its own") }},
		"pivot root": {from: Landlock, do: func(w *world) {
			unix.PivotRoot(w.Outside, w.Outside+"/dir")
			unix.Chroot("/proc/1/root")
			overwrite(w.Outside + "/file")
		}},
		"join namespaces": {from: Landlock, do: func(w *world) {
			for _, pid := range []int{1, w.Victim, os.Getppid()} {
				for _, kind := range []string{"user", "mnt"} {
					if fd, err := unix.Open("/proc/"+itoa(pid)+"/ns/"+kind, unix.O_RDONLY, 0); err == nil {
						unix.Setns(fd, 0)
					}
				}
			}
			overwrite(w.Outside + "/file")
		}},
		"fresh proc": {from: Namespaces, do: func(w *world) {
			if unix.Mount("proc", w.Temp, "proc", 0, "") == nil {
				rewrite(w.Temp + "/sys/kernel/core_pattern")
			}
		}},
		"cgroup": {from: Namespaces, do: func(w *world) {
			unix.Mount("cgroup2", w.Temp, "cgroup2", 0, "")
			for _, root := range []string{w.Temp, "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"} {
				if _, err := os.Stat(root + "/cgroup.procs"); err == nil && os.Mkdir(root+"/escape", 0o755) == nil {
					os.Remove(root + "/escape")
					escaped("made a cgroup in %s", root)
				}
			}
		}},
		"overlay's upper folder": {from: Namespaces, do: func(w *world) {
			raw, _ := os.ReadFile("/proc/self/mountinfo")
			for line := range strings.Lines(string(raw)) {
				_, upper, ok := strings.Cut(line, "upperdir=")
				upper, _, _ = strings.Cut(upper, ",")
				escapedIf(ok && os.WriteFile(upper+"/planted", nil, 0o644) == nil, "wrote %s", upper)
			}
			for _, pattern := range []string{"/dev/overlay*", "/tmp/overlay*", "/run/overlay*"} {
				found, _ := filepath.Glob(pattern)
				escapedIf(len(found) > 0, "sees %v", found)
			}
		}},
		"privileged helper": {from: Landlock, do: func(*world) {
			raw, _ := os.ReadFile("/proc/self/status")
			escapedIf(strings.Contains(string(raw), "NoNewPrivs:\t0"), "may gain privileges")
		}},
	}
	for _, name := range []string{"remount", "unmount all", "bind many", "fresh proc", "cgroup"} {
		all[name+" in a namespace"] = attempt{from: Namespaces, do: func(*world) { inNamespace(name) }}
	}
	return all
}

func corePattern() { rewrite("/proc/sys/kernel/core_pattern") }

// rewrite writes what is there, so that nothing breaks if it can.
func rewrite(path string) {
	raw, err := os.ReadFile(path)
	escapedIf(err == nil && os.WriteFile(path, raw, 0) == nil, "wrote %s", path)
}
