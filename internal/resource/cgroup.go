package resource

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/proc"
)

// cgroup is where the system itself limits what processes use together: a folder of cgroup v2. An empty one is none. Where
// there is one, Measure is still asked: what gets out of it, or never came in, is limited as everywhere.
type cgroup string

// prefix begins the names of our cgroups; the pid of the ralph that made one follows.
const prefix = "ralph-"

// delegated is the nearest cgroup, from our own upwards, that passes the controllers on which limits need, and in which we
// may make others. A cgroup with processes in it passes none on, unless it is the root: in most cases it is the one above.
func delegated(l Limits) cgroup {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // there are none on other systems
	own, _ := os.ReadFile("/proc/self/cgroup")
	dir, top := locate(string(mounts), string(own))
	for ; dir != "" && strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		passed, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err != nil || !l.needs(strings.Fields(string(passed))) {
			continue
		}
		probe, err := cgroup(dir).make("probe", l)
		if probe.remove(); err == nil {
			cgroup(dir).sweep()
			return cgroup(dir)
		}
	}
	return ""
}

func (l Limits) needs(controllers []string) bool {
	return (l.Memory == 0 || slices.Contains(controllers, "memory")) && (l.Processes == 0 || slices.Contains(controllers, "pids"))
}

// locate finds our own cgroup, and the root of its file system, in what the system says of mounts and of us.
func locate(mounts, own string) (dir, top string) {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/"); ok && !strings.HasPrefix(rest, "..") {
			path = "/" + rest
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if path == "" || len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		if rel, err := filepath.Rel(fields[3], path); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(fields[4], rel), fields[4]
		}
	}
	return "", ""
}

// make makes a cgroup with these limits below one.
func (c cgroup) make(name string, l Limits) (cgroup, error) {
	made := cgroup(filepath.Join(string(c), prefix+strconv.Itoa(os.Getpid())+"-"+strings.ReplaceAll(name, "/", "-")))
	if err := os.Mkdir(string(made), 0o700); err != nil {
		return "", err
	}
	var err error
	if l.Memory > 0 {
		// All of them at once: who lives on of an attempt that was killed in part does not know what to do.
		err = errors.Join(made.set("memory.max", l.Memory), made.set("memory.oom.group", 1))
	}
	if l.Processes > 0 {
		err = errors.Join(err, made.set("pids.max", int64(l.Processes)))
	}
	return made, err
}

func (c cgroup) set(file string, value int64) error {
	return os.WriteFile(filepath.Join(string(c), file), []byte(strconv.FormatInt(value, 10)), 0o600)
}

// happened is how often something did, by the system's count.
func (c cgroup) happened(file, what string) (n int) {
	if c == "" {
		return 0
	}
	raw, _ := os.ReadFile(filepath.Join(string(c), file))
	for line := range strings.Lines(string(raw)) {
		if _, err := fmt.Sscanf(line, what+" %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// remove removes a cgroup. One whose processes are still ending is left to the next run.
func (c cgroup) remove() {
	if c == "" {
		return
	}
	if os.Remove(string(c)) != nil {
		_ = c.set("cgroup.kill", 1)
		_ = os.Remove(string(c))
	}
}

// sweep removes what runs that were killed have left. What still has processes cannot be removed.
func (c cgroup) sweep() {
	left, _ := filepath.Glob(filepath.Join(string(c), prefix+"*-*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && !exists(n) {
			_ = os.Remove(dir)
		}
	}
}

func exists(pid int) bool {
	_, err := proc.Of(pid)
	return err == nil
}
