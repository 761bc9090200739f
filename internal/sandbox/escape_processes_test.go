//go:build linux

package sandbox

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// others are processes that an attacker did not start: the victim and its own
// init or helper, never those of the machine.
func others(w *world) []int {
	pids := []int{w.Victim}
	for _, pid := range []int{1, os.Getppid()} {
		if raw, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline"); strings.HasPrefix(string(raw), "ralph-proc") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func procfsAttempts() map[string]attempt {
	return map[string]attempt{
		"proc self root": {from: Landlock, do: func(w *world) { overwrite("/proc/self/root" + w.Outside + "/file") }},
		"proc self cwd":  {from: Landlock, do: func(w *world) { overwrite("/proc/self/cwd/../outside/file") }},
		"proc 1 root": {from: Landlock, do: func(w *world) {
			overwrite("/proc/1/root" + w.Outside + "/file")
			overwrite("/proc/1/cwd" + w.Outside + "/file")
		}},
		"cwd and root of others": {from: Landlock, do: func(w *world) {
			for _, pid := range others(w) {
				overwrite("/proc/" + itoa(pid) + "/cwd/file")
				overwrite("/proc/" + itoa(pid) + "/root" + w.Outside + "/file")
			}
		}},
		"files of others": {from: Landlock, do: func(w *world) {
			for _, pid := range others(w) {
				found, _ := filepath.Glob("/proc/" + itoa(pid) + "/fd/*")
				for _, path := range found {
					if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
						if target, _ := os.Readlink(path); target != "/dev/null" && os.Getuid() == 0 {
							escaped("opened %s of process %d", target, pid)
						}
						unix.Close(fd)
					}
				}
			}
		}},
		"memory of others": {from: Landlock, do: func(w *world) {
			for _, pid := range others(w) {
				if os.Getuid() != 0 && w.Level == Landlock && pid != w.Victim {
					continue // its helper, which may do no more than it may
				}
				open("/proc/"+itoa(pid)+"/mem", os.O_RDWR)
			}
		}},
		"terminal of a person": {from: Landlock, do: func(w *world) {
			open(w.Terminal, os.O_WRONLY|unix.O_NOCTTY)
			open(w.Terminal, os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK)
			open("/dev/tty", os.O_WRONLY)
		}},
		"core pattern": {from: Landlock, do: func(*world) { corePattern() }},
		"sysrq":        {from: Landlock, do: func(*world) { open("/proc/sysrq-trigger", os.O_WRONLY) }},
		"sysfs": {from: Landlock, do: func(*world) {
			found, _ := filepath.Glob("/sys/kernel/*")
			for _, path := range found {
				open(path, os.O_WRONLY)
			}
		}},
		"oom score of others": {from: Landlock, do: func(w *world) {
			escapedIf(os.WriteFile("/proc/"+itoa(w.Victim)+"/oom_score_adj", []byte("1000"), 0) == nil, "wrote the oom score of the victim")
		}},
	}
}

func processAttempts() map[string]attempt {
	return map[string]attempt{
		"kill": {abi: 6, from: Landlock, do: func(w *world) { unix.Kill(w.Victim, unix.SIGKILL) }},
		"kill by pidfd": {abi: 6, from: Landlock, do: func(w *world) {
			if fd, err := unix.PidfdOpen(w.Victim, 0); err == nil {
				unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
		}},
		"signal all": {abi: 6, from: Landlock, do: func(*world) { unix.Kill(-1, unix.SIGWINCH) }},
		"kill init": {from: Namespaces, do: func(w *world) {
			if !slices.Contains(others(w), 1) {
				escaped("sees the init of the outside")
				return
			}
			for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGTERM, unix.SIGSEGV, unix.SIGABRT} {
				unix.Kill(1, sig)
			}
		}},
		"kill from another session": {abi: 6, from: Landlock, do: func(w *world) {
			cmd := exec.Command("setsid", "kill", "-9", itoa(w.Victim))
			cmd.Run()
		}},
		"ptrace": {from: Landlock, do: func(w *world) {
			for _, pid := range others(w) {
				if os.Getuid() != 0 && w.Level == Landlock && pid != w.Victim {
					continue
				}
				if unix.PtraceAttach(pid) == nil {
					escaped("traces process %d", pid)
					unix.PtraceDetach(pid)
				}
			}
		}},
		"write memory of another": {from: Landlock, do: func(w *world) {
			buf := []byte("x")
			local := []unix.Iovec{{Base: &buf[0], Len: 1}}
			_, err := unix.ProcessVMWritev(w.Victim, local, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
			escapedIf(err == unix.EFAULT, "may write the victim's memory")
		}},
		"steal a file": {from: Landlock, do: func(w *world) {
			if fd, err := unix.PidfdOpen(w.Victim, 0); err == nil {
				file, err := unix.PidfdGetfd(fd, 1, 0)
				escapedIf(err == nil, "took file %d of the victim", file)
			}
		}},
		"limits of another": {from: Namespaces, do: func(w *world) {
			var old unix.Rlimit
			escapedIf(unix.Prlimit(w.Victim, unix.RLIMIT_NOFILE, nil, &old) == nil, "reads and sets limits of the victim")
		}},
		"abstract socket": {abi: 6, from: Landlock, do: func(w *world) { dial(w.Abstract) }},
		"socket in /tmp":  {from: Namespaces, do: func(w *world) { dial(w.Socket) }},
		"shared memory": {from: Namespaces, do: func(w *world) {
			_, err := unix.SysvShmGet(w.Shared, 4096, 0)
			escapedIf(err == nil, "found shared memory of the outside")
		}},
	}
}

func dial(address string) {
	if c, err := net.DialTimeout("unix", address, time.Second); err == nil {
		escaped("connected to %s", address)
		c.Close()
	}
}

func kernelAttempts() map[string]attempt {
	return map[string]attempt{
		"capabilities": {from: Landlock, do: func(*world) {
			raw, _ := os.ReadFile("/proc/self/status")
			for line := range strings.Lines(string(raw)) {
				held := strings.HasPrefix(line, "Cap") && !strings.HasSuffix(line, "\t0000000000000000\n")
				escapedIf(held && (os.Getuid() == 0 || !strings.HasPrefix(line, "CapBnd")), "has %s", line)
			}
		}},
		"setuid program": {from: Landlock, do: func(w *world) {
			cmd := exec.Command(filepath.Dir(w.Base) + "/setuid")
			cmd.Env = []string{roleEnv + "=whoami"}
			out, _ := cmd.Output()
			escapedIf(os.Getuid() != 0 && strings.TrimSpace(string(out)) == "0", "became root")
		}},
		"become another": {from: Landlock, do: func(*world) {
			escapedIf(os.Getuid() == 0 && (unix.Setuid(12) == nil || unix.Setgroups([]int{12}) == nil), "changed its user")
		}},
		"device node": {from: Landlock, do: func(w *world) {
			for _, mode := range []uint32{unix.S_IFBLK, unix.S_IFCHR} {
				path := w.Temp + "/node"
				var st unix.Stat_t
				unix.Stat("/", &st)
				escapedIf(unix.Mknod(path, mode|0o600, int(st.Dev)) == nil, "made a device node")
				os.Remove(path)
			}
		}},
		"disks": {from: Landlock, do: func(*world) {
			raw, _ := os.ReadFile("/proc/partitions")
			for line := range strings.Lines(string(raw)) {
				if fields := strings.Fields(line); len(fields) == 4 {
					open("/dev/"+fields[3], os.O_RDONLY)
				}
			}
			open("/dev/mem", os.O_RDONLY)
		}},
		"host name": {from: Landlock, do: func(*world) {
			name, err := os.Hostname()
			escapedIf(err == nil && unix.Sethostname([]byte(name)) == nil, "set the host name")
		}},
		"clock": {from: Landlock, do: func(*world) {
			var now unix.Timex
			unix.Adjtimex(&now)
			now.Modes = 0x4000 // the tick, to what it is
			_, err := unix.Adjtimex(&now)
			escapedIf(err == nil, "set the clock")
		}},
	}
}
