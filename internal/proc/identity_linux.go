package proc

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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

// Take records the helpers of this process and everything below them.
func Take(owner string) (Record, error) {
	boot, ns, err := here()
	if err != nil {
		return Record{}, err
	}
	r := Record{Owner: owner, BootID: boot, PIDNS: ns}
	t, err := readTable()
	if err != nil {
		return Record{}, err
	}
	if r.At, err = uptime(); err != nil {
		return Record{}, err
	}
	for _, st := range t.trees(func(st stat) bool { return st.ppid == os.Getpid() && isHelper(st.pid) }) {
		r.Processes = append(r.Processes, Member{Pid: st.pid, Start: st.start, Session: st.session})
	}
	slices.SortFunc(r.Processes, func(a, b Member) int { return cmp.Compare(a.Pid, b.Pid) })
	return r, nil
}

// afterwards is how long after a record was taken a process may have begun that is
// known by its session only, in clock ticks. A number of a session that nobody is
// in any more is used again, but not within that time.
const afterwards = 60 * 100

func (r Record) owns(t table, st stat) bool {
	for _, m := range r.Processes {
		if m.Pid == st.pid && m.Start == st.start {
			return true
		}
		if m.Session == 0 || m.Session != st.session || st.start > r.At+afterwards {
			continue
		}
		// The number belongs to whoever leads the session, as long as that lives.
		leader, lives := t[st.session]
		if !lives || slices.ContainsFunc(r.Processes, func(m Member) bool { return m.Pid == leader.pid && m.Start == leader.start }) {
			return true
		}
	}
	return false
}

// uptime is the time since boot in clock ticks, as the starts of processes are.
func uptime() (uint64, error) {
	raw, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, err
	}
	var seconds float64
	if _, err := fmt.Sscan(string(raw), &seconds); err != nil {
		return 0, fmt.Errorf("read /proc/uptime: %w", err)
	}
	return uint64(seconds * 100), nil
}
