package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep kills every process that carries the marker in its environment, either
// exactly or as the owner before the slash, every process that a record of that
// owner names or that is in a session of it, and everything below those, until two
// looks in a row find none. It never kills this process or one above it. Helpers are left to end
// by themselves first: they know of children that cleared their environment. It
// returns how many it found; the error is a *SurvivorsError if some would not die.
//
// Only the marker and the records decide: the caller makes sure that their owner
// is dead.
func Sweep(marker string, records ...Record) (killed int, err error) {
	if marker == "" {
		return 0, errors.New("sweep processes: empty marker")
	}
	ours := newMatch(marker, records)
	const mercy = 500 * time.Millisecond
	killed, left, ended := killFound(func(t table, waited time.Duration) []stat {
		return ours.find(t, waited >= mercy)
	}, ours.helpersLeft, mercy+killPatience)
	if !ended {
		err = fmt.Errorf("sweep processes: %w", &SurvivorsError{Argv0: marker, Pids: left})
	}
	return killed, err
}

// Marked counts the processes that Sweep would kill.
func Marked(marker string, records ...Record) (int, error) {
	t, err := readTable()
	if err != nil {
		return 0, err
	}
	return len(newMatch(marker, records).find(t, false)), nil
}

type match struct {
	marker  string
	records []Record
}

// newMatch leaves out the records of other owners, and those of another boot or pid
// namespace: their pids mean others here.
func newMatch(marker string, records []Record) match {
	m := match{marker: marker}
	boot, ns, err := here()
	for _, r := range records {
		if err == nil && r.Owner == marker && r.BootID == boot && r.PIDNS == ns {
			m.records = append(m.records, r)
		}
	}
	return m
}

func (m match) owns(t table, st stat) bool {
	return carries(st.pid, m.marker) || slices.ContainsFunc(m.records, func(r Record) bool { return r.owns(t, st) })
}

// find is every process that is owned, with all below it, without us and those
// above us. Helpers are included only when asked for.
func (m match) find(t table, helpers bool) []stat {
	spared := t.spared()
	owned := t.trees(func(st stat) bool { return !spared[st.pid] && m.owns(t, st) })
	return slices.DeleteFunc(owned, func(st stat) bool { return spared[st.pid] || !helpers && isHelper(st.pid) })
}

func (t table) spared() map[int]bool {
	out := make(map[int]bool)
	for pid := os.Getpid(); pid > 0 && !out[pid]; pid = t[pid].ppid {
		out[pid] = true
	}
	return out
}

func (m match) helpersLeft() bool {
	t, err := readTable()
	if err != nil {
		return false
	}
	left := false
	for _, st := range m.find(t, true) {
		if isHelper(st.pid) {
			left = true
			send(st, unix.SIGCONT) // the agent may have stopped it
		}
	}
	return left
}

// carries reads the environment a process was started with. One that cannot be
// read is not ours for certain, so it does not count.
func carries(pid int, marker string) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	prefix := []byte(MarkerEnv + "=")
	for entry := range bytes.SplitSeq(raw, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, prefix); ok {
			rest, ok := bytes.CutPrefix(value, []byte(marker))
			return ok && (len(rest) == 0 || rest[0] == '/')
		}
	}
	return false
}

func isHelper(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.HasPrefix(raw, []byte(helperName+"\x00"))
}

// killOrphans does the work of a helper that was killed: what was below it came
// to us, the nearest subreaper, and is known by its session, its marker, or by
// being below such a process. What left the session and also cleared its
// environment is missed; only a pid namespace would hold it.
func killOrphans(helperPid int, marker string) []int {
	_, left, _ := killFound(func(t table, _ time.Duration) []stat {
		ours := make(map[int]bool)
		for _, st := range t.below(os.Getpid()) {
			ours[st.pid] = st.session == helperPid || carries(st.pid, marker)
		}
		return t.trees(func(st stat) bool { return ours[st.pid] })
	}, func() bool { return false }, killPatience)
	return left
}

// known is what was found once, by pid and time of start. It is found again until it
// is dead: a process that is ending loses its environment first, and with it what it
// was known by.
type known map[int]uint64

// with adds what was found, and returns it with all that is known and not dead yet.
func (k known) with(t table, found []stat) []stat {
	now := make(map[int]bool, len(found))
	for _, st := range found {
		now[st.pid], k[st.pid] = true, st.start
	}
	for pid, start := range k {
		if st, ok := t[pid]; ok && !now[pid] && st.start == start && !st.zombie() {
			found = append(found, st)
		}
	}
	return found
}

// reapAdopted collects orphans that came to us and were killed. Nobody else
// waits for these: they were never our own children.
func reapAdopted(list []stat) {
	for _, st := range list {
		if now, err := readStat(st.pid); err == nil && now.start == st.start && now.ppid == os.Getpid() {
			_, _ = unix.Wait4(st.pid, nil, unix.WNOHANG, nil)
		}
	}
}
