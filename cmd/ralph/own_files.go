package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
)

// ownFiles lists, as names below the project, what this command itself writes there
// while it runs: that is no evidence of anybody's work.
func (a *app) ownFiles(c *cli.Context, s *session) []string {
	paths := []string{"/proc/self/fd/1", "/proc/self/fd/2"} // elsewhere there are none such
	for i, path := range paths {
		paths[i], _ = os.Readlink(path)
	}
	for _, flag := range []string{"events", "log-file", "junit", "summary"} {
		if name := c.String(flag); name != "" && name != "-" {
			paths = append(paths, absolute(a, name))
		}
	}
	if path, _ := a.metricsFile(c, s); path != "" {
		paths = append(paths, path)
	}
	var own []string
	for _, path := range paths {
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && filepath.IsAbs(path) {
			path = filepath.Join(folder, filepath.Base(path))
		}
		rel, err := filepath.Rel(s.project.Root, path)
		if err != nil || !filepath.IsAbs(path) || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		own = append(own, filepath.ToSlash(rel))
	}
	return own
}
