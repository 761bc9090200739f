package proc

import (
	"os"
	"strconv"
	"strings"
)

// Foreign says that a process is certainly neither one that this process has started for an owner, nor below one. A process can
// choose its environment, but not its parents: what the one that was started forks and abandons stays below its helper.
func Foreign(owner string, pid int) bool {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return false // nothing is certain where we do not see ourselves
	}
	for range 100 {
		if started, certain := startedFor(owner, pid); certain {
			return !started
		}
	}
	return true
}

// startedFor looks at the parents of a process. It is not certain if one of them has ended meanwhile: another has its children then.
func startedFor(owner string, pid int) (started, certain bool) {
	st, err := readStat(pid)
	if err != nil {
		return false, true // 0 is nobody in our namespace, and whoever is gone gets no answer
	}
	for {
		if marker, ok := helpers.Load(st.pid); ok {
			return strings.HasPrefix(marker.(string), ownerName(owner)+"/"), true
		}
		if st.ppid == 0 {
			return false, true
		}
		parent, err := readStat(st.ppid)
		if err != nil || parent.start > st.start { // the pid is somebody else's by now
			return false, false
		}
		st = parent
	}
}
