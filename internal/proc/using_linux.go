package proc

import (
	"os"
	"path/filepath"
	"strings"
)

// Using reports whether a process that can be seen from here has a file open, or is called name and works in a folder that in accepts.
// Known is false where nobody can tell.
func Using(file, name string, in func(folder string) bool) (using, known bool) {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false, false
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(processes) == 0 {
		return false, false
	}
	for _, p := range processes { // one that ends meanwhile uses nothing
		if comm, _ := os.ReadFile(filepath.Join(p, "comm")); strings.TrimSpace(string(comm)) == name {
			if folder, err := os.Readlink(filepath.Join(p, "cwd")); err == nil && in(folder) {
				return true, true
			}
		}
		open, _ := os.ReadDir(filepath.Join(p, "fd"))
		for _, fd := range open {
			if path, _ := os.Readlink(filepath.Join(p, "fd", fd.Name())); path == file {
				return true, true
			}
		}
	}
	return false, true
}
