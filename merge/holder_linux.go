package merge

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// holder names a process that may hold one of these lock files, or is "". That nobody has the
// file open is not enough: git commit closes the lock while its editor is open. So a git
// process that works in one of these folders, and was there when a lock was last written, may
// hold it too.
func holder(locks, dirs []string) string {
	var written time.Time
	for _, path := range locks {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(written) {
			written = info.ModTime()
		}
	}
	pids, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(pids) == 0 {
		return "the processes cannot be listed"
	}
	boot := bootTime()
	for _, at := range pids {
		comm, _ := os.ReadFile(filepath.Join(at, "comm"))
		name := strings.TrimSpace(string(comm))
		isGit := name == "git" || strings.HasPrefix(name, "git-")
		open, err := os.ReadDir(filepath.Join(at, "fd"))
		holds := slices.ContainsFunc(open, func(e os.DirEntry) bool {
			target, _ := os.Readlink(filepath.Join(at, "fd", e.Name()))
			return slices.Contains(locks, target)
		})
		start, dead := started(at, boot)
		if isGit && !dead && start.Before(written.Add(2*time.Second)) { // it may be two seconds off
			holds = holds || os.IsPermission(err) || worksIn(at, dirs)
		}
		if holds {
			return fmt.Sprintf("%s, process %s", name, filepath.Base(at))
		}
	}
	return ""
}

func worksIn(at string, dirs []string) bool {
	cwd, err := os.Readlink(filepath.Join(at, "cwd"))
	if err != nil {
		return os.IsPermission(err)
	}
	places := []string{cwd}
	environ, _ := os.ReadFile(filepath.Join(at, "environ"))
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if dir, ok := strings.CutPrefix(string(entry), "GIT_DIR="); ok {
			places = append(places, dir)
		}
	}
	return slices.ContainsFunc(places, func(place string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			rel, err := filepath.Rel(dir, place)
			return err == nil && filepath.IsLocal(rel)
		})
	})
}

// started is when a process began, to the second. A dead one may be waiting for its parent.
func started(at string, boot time.Time) (start time.Time, dead bool) {
	const ticks = 100 // in a second, for every program
	stat, _ := os.ReadFile(filepath.Join(at, "stat"))
	part := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(part) < 20 || part[0] == "Z" {
		return time.Time{}, true
	}
	n, _ := strconv.ParseInt(part[19], 10, 64)
	return boot.Add(time.Duration(n) * time.Second / ticks), false
}

func bootTime() time.Time {
	stat, _ := os.ReadFile("/proc/stat")
	_, rest, _ := strings.Cut(string(stat), "\nbtime ")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseInt(line, 10, 64)
	return time.Unix(n, 0)
}
