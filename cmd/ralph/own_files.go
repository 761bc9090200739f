package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/agents"
)

// outputKey is where the settings of a run name the files that it writes. It is no flag,
// so that a run that continues another one does not take it over.
const outputKey = "output files"

// ownFiles lists, as names below the project, the files that ralph itself writes there
// while it runs: that is no evidence of anybody's work. Those are what this process has
// open, what this command writes now and then or at its end, and what other runs said
// that they write.
func (a *app) ownFiles(s *session, output runOutput) func([]dag.Run) []string {
	var named []string
	for _, f := range output.files() {
		if f.flag != "metrics" && f.name != "-" {
			named = append(named, absolute(a, f.name))
		}
	}
	if path, _ := a.metricsFile(s, output); path != "" {
		named = append(named, path)
	}
	return func(runs []dag.Run) []string {
		names := inProject(s.project.Root, slices.Concat(named, openForOutput()))
		for _, run := range runs {
			names = append(names, outputOf(run)...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// outputOf lists the files below the project that a run said that it writes.
func outputOf(run dag.Run) []string {
	var given map[string]string
	if json.Unmarshal([]byte(run.Settings), &given) != nil || given[outputKey] == "" {
		return nil
	}
	return strings.Split(given[outputKey], "\x00")
}

// openForOutput lists the regular files that this process has open for writing, wherever
// that came from: a redirection, a flag, a setting. Only Linux tells.
func openForOutput() []string {
	var paths []string
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		path, err := os.Readlink(link)
		if err == nil && filepath.IsAbs(path) && forWriting(filepath.Base(link)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// forWriting says whether a descriptor was opened for writing.
func forWriting(fd string) bool {
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

// inProject makes names below the root of those regular files, or files to come, that lie
// there.
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
	return names
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
