package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OpenForWriting lists the files that this process has open for writing, wherever that
// came from: a redirection, a flag, a setting. Only Linux lists them.
func OpenForWriting() []string {
	var paths []string
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		path, err := os.Readlink(link)
		if err == nil && filepath.IsAbs(path) && isWritable(filepath.Base(link)) {
			paths = append(paths, path)
		}
	}
	return paths
}

func isWritable(fd string) bool {
	info, err := os.ReadFile("/proc/self/fdinfo/" + fd)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 64)
			return err == nil && flags&uint64(os.O_WRONLY|os.O_RDWR) != 0
		}
	}
	return false
}
