package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Self is the identity of this process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of is the identity of a running process, or an error if there is none.
func Of(pid int) (Identity, error) {
	boot, ns, err := here()
	if err != nil {
		return Identity{}, err
	}
	st, err := readStat(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{Pid: pid, Start: st.start, BootID: boot, PIDNS: ns}, nil
}

// Liveness says whether the process still runs. It is Unknown unless the
// identity was recorded since this boot and in this pid namespace: containers
// share a boot ID but not their pids. A zombie is dead.
func Liveness(id Identity) State {
	boot, ns, err := here()
	if err != nil || id.Pid <= 0 || id.BootID != boot || id.PIDNS != ns {
		return Unknown
	}
	st, err := readStat(id.Pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return Dead
	case err != nil:
		return Unknown
	case st.start != id.Start || st.zombie():
		return Dead
	}
	return Alive
}

// here names this boot and the pid namespace we count pids in.
func here() (boot, ns string, err error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", "", fmt.Errorf("read boot id: %w", err)
	}
	ns, err = os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", "", fmt.Errorf("read pid namespace: %w", err)
	}
	return strings.TrimSpace(string(raw)), ns, nil
}
