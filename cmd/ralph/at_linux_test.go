package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { programs["at"], programs["answers"] = at, answers }

// at runs a command on a machine of that kind: at KIND COMMAND... What the command starts is there, too.
func at() {
	err := kinds[os.Args[1]]()
	if err == nil {
		err = become(os.Args[2:])
	}
	fmt.Fprintln(os.Stderr, "at:", err)
	os.Exit(125)
}

// kinds are machines that have less than this one, really: ralph has to find out.
var kinds = map[string]func() error{
	"namespaces":      func() error { return nil },
	"no-layers":       overlaid,
	"denied-overlays": func() error { return deny(overlays) },
	"denied":          func() error { return deny(namespacesOfContainers) },
	"landlock":        func() error { return os.Setenv(confinableEnv, "landlock") },
	"denied-landlock": func() error {
		return deny(namespacesOfContainers, refused(unix.SYS_LANDLOCK_CREATE_RULESET, unix.EPERM))
	},
	"off": func() error { return os.Setenv("RALPH_SANDBOX_MODE", "off") },
}

func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

// overlaid has the state of ralph on an overlay, as a container has it without a volume: no other overlay can be laid over that.
func overlaid() error {
	const inside = "OVERLAID"
	state := os.Getenv("XDG_STATE_HOME")
	if os.Getenv(inside) == "" {
		if err := os.Setenv(inside, "yes"); err != nil {
			return err
		}
		return become(append([]string{"unshare", "--user", "--map-root-user", "--mount", "at"}, os.Args[1:]...))
	}
	options := ""
	for _, name := range []string{"lowerdir", "upperdir", "workdir"} {
		dir := filepath.Join(filepath.Dir(state), "overlaid", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		options += name + "=" + dir + ","
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	return unix.Mount("overlay", state, "overlay", 0, options+"userxattr")
}

// filter is a piece of a filter of system calls, which begins with the number of the call.
type filter []unix.SockFilter

// refused has a system call fail.
func refused(call int, with syscall.Errno) filter {
	return filter{jump(unix.BPF_JEQ, uint32(call), 0, 1), leave(with)}
}

// refusedWith has it fail if an argument has one of these bits, or all of them and no others.
func refusedWith(call, argument int, compare uint16, bits uint32, with syscall.Errno) filter {
	return filter{
		jump(unix.BPF_JEQ, uint32(call), 0, 4), load(16 + 8*uint32(argument)), jump(compare, bits, 0, 1), leave(with), load(0),
	}
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(compare uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func leave(with syscall.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(with)}
}

// namespacesOfContainers is what the default filter of Docker, Podman and containerd refuses of what ralph uses.
var namespacesOfContainers = append(refusedWith(unix.SYS_CLONE, 0, unix.BPF_JSET,
	unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWIPC|unix.CLONE_NEWNET, unix.EPERM), all(
	refused(unix.SYS_CLONE3, unix.ENOSYS), refused(unix.SYS_UNSHARE, unix.EPERM), refused(unix.SYS_SETNS, unix.EPERM), refused(unix.SYS_MOUNT, unix.EPERM),
	refused(unix.SYS_UMOUNT2, unix.EPERM), refused(unix.SYS_OPEN_TREE, unix.EPERM), refused(unix.SYS_MOVE_MOUNT, unix.EPERM),
	refused(unix.SYS_MOUNT_SETATTR, unix.EPERM), refused(unix.SYS_FSOPEN, unix.EPERM), refused(unix.SYS_PIVOT_ROOT, unix.EPERM))...)

// overlays are recognized by the flags with which ralph mounts them: a filter cannot read the name of a file system.
var overlays = refusedWith(unix.SYS_MOUNT, 3, unix.BPF_JEQ, unix.MS_NOSUID|unix.MS_NODEV, unix.ENODEV)

func all(filters ...filter) (out filter) {
	for _, f := range filters {
		out = append(out, f...)
	}
	return out
}

// deny has this thread, and what it becomes, not make some system calls. The next thing is to become a command.
func deny(filters ...filter) error {
	runtime.LockOSThread()
	list := append(append(filter{load(0)}, all(filters...)...), unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); err != 0 {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// answers is a server that says that all is good. It writes its address into a file.
func answers() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(l.Addr().String()), 0o600)
	}
	if err == nil {
		err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "good") }))
	}
	fmt.Fprintln(os.Stderr, "answers:", err)
}
