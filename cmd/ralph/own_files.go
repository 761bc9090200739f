package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/internal/agents"
)

// ownFiles returns what lists, as names below the project, the files that ralph itself
// writes there while it runs: that is no evidence of anybody's work. Those are what
// this process and the other ones given have open, and what this command writes now
// and then, or at its end.
func (a *app) ownFiles(c *cli.Context, s *session) func(others []int64) []string {
	var named []string
	for _, flag := range []string{"events", "log-file", "junit", "summary"} {
		if name := c.String(flag); name != "" && name != "-" {
			named = append(named, absolute(a, name))
		}
	}
	if path, _ := a.metricsFile(c, s); path != "" {
		named = append(named, path)
	}
	return func(others []int64) []string {
		return inProject(s.project.Root, slices.Concat(named, openForOutput(others...)))
	}
}

// openForOutput lists the regular files that this process and the others have open for
// writing, wherever that came from: a redirection, a flag, a setting. Only Linux tells.
func openForOutput(others ...int64) []string {
	var paths []string
	for _, process := range append([]string{"self"}, asStrings(others)...) {
		links, _ := filepath.Glob("/proc/" + process + "/fd/*")
		for _, link := range links {
			path, err := os.Readlink(link)
			if err == nil && filepath.IsAbs(path) && forWriting(process, filepath.Base(link)) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// forWriting says whether a descriptor was opened for writing.
func forWriting(process, fd string) bool {
	info, err := os.ReadFile("/proc/" + process + "/fdinfo/" + fd)
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

// inProject makes names below the root of those regular files, or files to come, that lie
// there, sorted and each once.
func inProject(root string, paths []string) []string {
	var names []string
	for _, path := range paths {
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(folder, filepath.Base(path))
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		names = append(names, filepath.ToSlash(rel))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func asStrings(list []int64) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = fmt.Sprint(n)
	}
	return out
}

// openedFolders lists what any agent of this run may write in the project while it
// verifies.
func (o *opener) openedFolders() []string {
	var names []string
	for _, preset := range append(agents.All(), o.chosen.preset) {
		names = append(names, o.sandbox.opened(o.app.environ(), agent{preset: preset})...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
