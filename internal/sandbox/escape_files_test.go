//go:build linux

package sandbox

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// overwrite writes a file of the test's own and only opens any other.
func overwrite(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if target, _ := os.Readlink("/proc/self/fd/" + itoa(int(f.Fd()))); !strings.Contains(target, baseName) {
		escaped("opened %s", target)
		return
	}
	f.WriteString("overwritten")
}

func fileAttempts() map[string]attempt {
	return map[string]attempt{
		"write":    {from: Landlock, do: func(w *world) { overwrite(w.Outside + "/file") }},
		"create":   {from: Landlock, do: func(w *world) { os.WriteFile(w.Outside+"/new", nil, 0o644) }},
		"truncate": {from: Landlock, do: func(w *world) { os.Truncate(w.Outside+"/file", 1) }},
		"unlink":   {from: Landlock, do: func(w *world) { os.Remove(w.Outside + "/file") }},
		"mkdir":    {from: Landlock, do: func(w *world) { os.Mkdir(w.Outside+"/new", 0o755) }},
		"rename outside": {from: Landlock, do: func(w *world) {
			os.Rename(w.Outside+"/file", w.Outside+"/dir/moved")
			os.Rename(w.Outside+"/file", w.Outside+"/moved")
		}},
		"rename inside":  {from: Landlock, do: func(w *world) { os.Rename(w.Outside+"/file", w.Project+"/moved") }},
		"rename over":    {from: Landlock, do: func(w *world) { os.Rename(w.Project+"/file", w.Outside+"/file") }},
		"rename project": {from: Namespaces, do: func(w *world) { os.Rename(w.Project, w.Outside+"/project") }},
		"exchange": {from: Landlock, do: func(w *world) {
			unix.Renameat2(unix.AT_FDCWD, w.Project+"/file", unix.AT_FDCWD, w.Outside+"/file", unix.RENAME_EXCHANGE)
		}},
		"unnamed file": {from: Landlock, do: func(w *world) {
			if fd, err := unix.Open(w.Outside, unix.O_TMPFILE|unix.O_RDWR, 0o644); err == nil {
				unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), unix.AT_FDCWD, w.Outside+"/linked", unix.AT_SYMLINK_FOLLOW)
			}
		}},
		"fifo":   {from: Landlock, do: func(w *world) { unix.Mkfifo(w.Outside+"/fifo", 0o666) }},
		"system": {from: Landlock, do: func(*world) { overwrite("/etc/passwd") }},
		"read hidden": {from: Landlock, do: func(w *world) {
			read(w.Hidden + "/key")
			read("/proc/self/root" + w.Hidden + "/key")
		}},
		"link hidden": {from: Landlock, do: func(w *world) {
			escapedIf(os.Link(w.Hidden+"/key", w.Project+"/key") == nil, "linked the hidden file")
		}},
		"inherited folder": {from: Landlock, do: func(*world) {
			for fd := 3; fd < 256; fd++ { // the others are our runtime's
				target, _ := os.Readlink("/proc/self/fd/" + itoa(fd))
				escapedIf(strings.Contains(target, baseName), "has inherited file %d", fd)
			}
		}},
	}
}

// metadataAttempts are what Landlock knows nothing about.
func metadataAttempts() map[string]attempt {
	return map[string]attempt{
		"chmod": {from: Namespaces, do: func(w *world) { os.Chmod(w.Outside+"/file", 0o777) }},
		"chown": {from: Namespaces, do: func(w *world) { os.Chown(w.Outside+"/file", os.Getuid(), 12); os.Chown(w.Outside+"/file", 12, 12) }},
		"times": {from: Namespaces, do: func(w *world) { os.Chtimes(w.Outside+"/file", time.Unix(1, 0), time.Unix(1, 0)) }},
		"xattr": {from: Namespaces, do: func(w *world) { unix.Setxattr(w.Outside+"/file", "user.x", []byte("x"), 0) }},
		"chattr": {from: Namespaces, do: func(w *world) {
			if fd, err := unix.Open(w.Outside+"/file", unix.O_RDONLY, 0); err == nil {
				const noDump, noAtime = 0x40, 0x80
				unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, noDump|noAtime)
			}
		}},
	}
}

// protectedAttempts are against what is read-only inside the project.
func protectedAttempts() map[string]attempt {
	in := func(do func(dir string)) attempt {
		return attempt{from: Namespaces, do: func(w *world) { do(w.Project) }}
	}
	return map[string]attempt{
		"git hook":       in(func(dir string) { os.WriteFile(dir+"/.git/hooks/pre-commit", []byte("#!/bin/sh"), 0o755) }),
		"git hook, mode": in(func(dir string) { os.Chmod(dir+"/.git/hooks/pre-push", 0o755) }),
		"git config":     in(func(dir string) { os.WriteFile(dir+"/.git/config", []byte("[core]\nhooksPath=x"), 0o644) }),
		"git config.lock": in(func(dir string) {
			os.WriteFile(dir+"/.git/config.lock", nil, 0o644)
			os.Rename(dir+"/.git/config.lock", dir+"/.git/config")
		}),
		"git folder replaced": in(func(dir string) {
			os.Rename(dir+"/.git", dir+"/.old")
			os.MkdirAll(dir+"/.git/hooks", 0o755)
			os.WriteFile(dir+"/.git/hooks/pre-commit", nil, 0o755)
		}),
		"git hooks renamed": in(func(dir string) { os.Rename(dir+"/.git/hooks", dir+"/.git/old") }),
		"hook inside":       in(func(dir string) { os.WriteFile(dir+"/inside/.git/hooks/pre-commit", []byte("#!/bin/sh"), 0o755) }),
		"hook inside, mode": in(func(dir string) { os.Chmod(dir+"/inside/.git/hooks/pre-push", 0o755) }),
		"config inside":     in(func(dir string) { overwrite(dir + "/inside/.git/config"); os.Remove(dir + "/inside/.git/config") }),
		"config.lock inside": in(func(dir string) {
			os.WriteFile(dir+"/inside/.git/config.lock", nil, 0o644)
			os.Rename(dir+"/inside/.git/config.lock", dir+"/inside/.git/config")
		}),
		"hooks inside renamed": in(func(dir string) { os.Rename(dir+"/inside/.git/hooks", dir+"/inside/.git/old") }),
		"hooks inside by link": in(func(dir string) {
			os.Symlink(dir+"/inside/.git/hooks", dir+"/hooks")
			os.WriteFile(dir+"/hooks/pre-commit", nil, 0o755)
			os.Remove(dir + "/hooks")
		}),
		"state":         in(func(dir string) { overwrite(dir + "/.ralph/state"); os.Remove(dir + "/.ralph/state") }),
		"state renamed": in(func(dir string) { os.Rename(dir+"/.ralph", dir+"/old") }),
		"configuration": in(func(dir string) { overwrite(dir + "/.ralph.toml"); os.Remove(dir + "/.ralph.toml") }),
		"state by link": in(func(dir string) {
			os.Symlink(dir+"/.ralph/state", dir+"/link")
			overwrite(dir + "/link")
			os.Link(dir+"/.ralph/state", dir+"/hard")
			overwrite(dir + "/hard")
			os.Remove(dir + "/link")
		}),
	}
}

func linkAttempts() map[string]attempt {
	return map[string]attempt{
		"symlink": {from: Landlock, do: func(w *world) {
			os.Symlink(w.Outside+"/file", w.Project+"/link")
			overwrite(w.Project + "/link")
		}},
		"symlink to folder": {from: Landlock, do: func(w *world) {
			os.Symlink(w.Outside, w.Project+"/folder")
			os.WriteFile(w.Project+"/folder/new", nil, 0o644)
		}},
		"hard link": {from: Landlock, do: func(w *world) {
			os.Link(w.Outside+"/file", w.Project+"/hard")
			overwrite(w.Project + "/hard")
		}},
		"dot dot": {from: Landlock, do: func(w *world) { overwrite(w.Project + "/../outside/file") }},
		"file handle": {from: Landlock, do: func(w *world) {
			handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.Outside+"/file", 0)
			if err != nil {
				return
			}
			for _, at := range []string{"/", w.Project, w.Temp} {
				dir, _ := unix.Open(at, unix.O_RDONLY, 0)
				if fd, err := unix.OpenByHandleAt(dir, handle, unix.O_WRONLY); err == nil {
					unix.Write(fd, []byte("overwritten"))
				}
			}
		}},
	}
}
