package proc

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPatience bounds how long a tree may resist SIGKILL, which only a
	// process of another user or one stuck in the kernel can.
	killPatience = 5 * time.Second
	killPause    = time.Millisecond
)

// killAll stops every descendant of this process until a look finds no new one, so
// that none can fork behind our back, then kills them; again until reap, which collects
// children, says that none is left. It returns the pids of those that could not be killed.
func killAll(reap func() (none bool)) []int {
	var left []stat
	for waited := time.Duration(0); !reap(); waited += killPause {
		if waited > killPatience {
			return pids(left)
		}
		left = freeze(func(t table) []stat { return t.below(os.Getpid()) })
		for _, st := range left {
			send(st, unix.SIGKILL)
		}
		if reap() {
			break
		}
		time.Sleep(killPause)
	}
	return nil
}

// killFound does the same to what find selects, which are not all of them our children,
// until two looks in a row find none and nothing is pending. It returns how many it found,
// the pids of those that could not be killed, and whether it came to an end in time.
func killFound(
	find func(t table, waited time.Duration) []stat, pending func() bool, patience time.Duration,
) (killed int, left []int, ended bool) {
	seen := make(known)
	quiet := 0
	for waited := time.Duration(0); quiet < 2; waited += killPause {
		found := freeze(func(t table) []stat { return seen.with(t, find(t, waited)) })
		for _, st := range found {
			send(st, unix.SIGKILL)
		}
		if quiet++; len(found) > 0 || pending() {
			quiet = 0
		}
		if waited > patience {
			return len(seen), pids(found), false
		}
		reapAdopted(found)
		time.Sleep(killPause)
	}
	return len(seen), nil, true
}

// freeze stops everything found, looking again until all of it was stopped
// before the look. A fork bomb is caught after a few rounds; a process that
// cannot be stopped ends the rounds.
func freeze(find func(table) []stat) []stat {
	const rounds = 50
	sent := make(map[int]uint64)
	var found []stat
	for range rounds {
		t, err := readTable()
		if err != nil {
			return found
		}
		found = find(t)
		fresh := false
		for _, st := range found {
			if start, ok := sent[st.pid]; ok && start == st.start {
				continue
			}
			fresh = true
			sent[st.pid] = st.start
			send(st, unix.SIGSTOP)
		}
		if !fresh {
			break
		}
	}
	return found
}

// Freeze stops the whole tree until it is thawed: nothing of it runs meanwhile. It can be killed all the same.
func (p *Process) Freeze() (thaw func()) {
	pid := p.helper.Process.Pid
	if marker, lives := helpers.Load(pid); !lives || marker != p.marker { // by now another process may have its pid
		return func() {}
	}
	frozen := freeze(func(t table) []stat { return t.below(pid) })
	runs := func(st stat) bool {
		now, err := readStat(st.pid)
		return err == nil && now.start == st.start && !now.zombie() && now.state != 'T' && now.state != 't'
	}
	for waited := time.Duration(0); slices.ContainsFunc(frozen, runs) && waited < killPatience; waited += killPause {
		time.Sleep(killPause) // what is in the kernel stops when it comes out of it
	}
	return func() {
		for _, st := range frozen {
			send(st, unix.SIGCONT)
		}
	}
}

func pids(list []stat) []int {
	var out []int
	for _, st := range list {
		out = append(out, st.pid)
	}
	slices.Sort(out)
	return out
}

// Gaps says, in sentences for a person, which processes may outlive us on this
// system. It is empty where none can.
func Gaps() []string {
	return []string{
		"below namespaces, a process that clears its environment and leaves its session survives if it kills its helper, or if its helper is killed together with ralph within a second after it began",
	}
}
