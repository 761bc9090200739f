package proc

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Lookup finds the file that a command names: as it is if it has a path
// separator (below dir if it is relative), otherwise along the PATH of env. The
// error is ErrNotFound if there is no such executable file.
func Lookup(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("empty command: %w", ErrNotFound)
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.Abs(path) // a bare name would be looked for in our own PATH
		if err == nil {
			path, err = exec.LookPath(path)
		}
		if err == nil {
			return path, nil
		}
		return "", fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	for _, folder := range filepath.SplitList(Getenv(env, "PATH")) {
		// An empty or relative entry would run whatever the project contains.
		if !filepath.IsAbs(folder) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w in PATH", name, ErrNotFound)
}

// Getenv is the value that a process given env would see: the last one wins.
func Getenv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
