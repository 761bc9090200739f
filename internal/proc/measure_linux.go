package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Measures says that Measure works here.
const Measures = true

// helpers are the markers of what this process has started, by the pid of the helper. It is not read from their environment:
// an ordinary user may not look into a helper in namespaces.
var helpers sync.Map

// Measure adds up what this process has started for an owner, without its helpers. Memory that several processes share
// counts once, but that takes a look at all pages of each: as long as not even the plain sum exceeds enough, that is
// what is returned.
func Measure(owner string, enough int64) (u Usage, err error) {
	t, err := readTable()
	if err != nil {
		return Usage{}, err
	}
	var pids []int
	for pid, marker := range helpers.Range {
		if strings.HasPrefix(marker.(string), owner+"/") {
			pids = append(pids, pid.(int))
		}
	}
	list := t.below(pids...)
	for _, st := range list {
		u.Threads += st.threads
		u.Memory += st.resident
	}
	if u.Memory <= enough {
		return u, nil
	}
	u.Memory = 0
	for _, st := range list {
		u.Memory += st.share()
	}
	return u, nil
}

// share is a process's part of the memory that it uses: what is its own, and of what it shares with others the share.
// Where that is not told, because the process may not be looked into, it is what is certainly its own.
func (s stat) share() int64 {
	dir := "/proc/" + strconv.Itoa(s.pid)
	raw, err := os.ReadFile(dir + "/smaps_rollup")
	if err == nil {
		for line := range bytes.Lines(raw) {
			var kib int64
			if rest, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
				if _, err := fmt.Sscan(string(rest), &kib); err == nil {
					return kib << 10
				}
			}
		}
	}
	var size, resident, shared int64
	if raw, err = os.ReadFile(dir + "/statm"); err == nil {
		_, err = fmt.Sscan(string(raw), &size, &resident, &shared)
	}
	if err != nil {
		return 0 // it has ended
	}
	return (resident - shared) * int64(os.Getpagesize())
}
