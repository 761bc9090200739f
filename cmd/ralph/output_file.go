package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/proc"
)

// checkOutput refuses files that can never be written, before anything is opened; one
// file for two things, because the later one would replace the other; and files that
// ralph itself needs.
func checkOutput(a *app, output runOutput) error {
	switch a.logFormat {
	case "", "text", "json":
	default:
		return usagef("--log-format is text or json, not %q", a.logFormat)
	}
	own := func(string) bool { return false }
	if p, err := a.findProject(); err == nil {
		config, db := atomicfile.Settle(p.Config()), atomicfile.Settle(p.DB())
		own = func(path string) bool { return path == config || strings.HasPrefix(path, db) }
	}
	taken := map[string]string{}
	for _, f := range output.files() {
		path := absolute(a, f.name)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue // a device, such as /dev/null, takes everything
		}
		path = atomicfile.Settle(path)
		if other := taken[path]; other != "" {
			return usagef("--%s and --%s cannot be the same file: %s", other, f.flag, f.name)
		}
		if own(path) {
			return usagef("--%s: %s is ralph's own", f.flag, f.name)
		}
		taken[path] = f.flag
	}
	for _, f := range output.files() {
		if f.flag == "junit" || f.flag == "summary" { // prepareReports checks more
			continue
		}
		path := absolute(a, f.name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return usagef("--%s: %s is a folder", f.flag, f.name)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return usagef("--%s: %s: there is no such folder", f.flag, filepath.Dir(f.name))
		}
	}
	return nil
}

func absolute(a *app, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir, err := a.getwd()
	if err != nil {
		return path
	}
	return filepath.Join(dir, path)
}

// outputKey is where the settings of a run name the files that it writes. It is no flag,
// so that a run that continues another one does not inherit it.
const outputKey = "output files"

// ownFiles lists, as names below the project, the files that ralph itself writes there
// while it runs: they are no evidence of work. Those are what this process has open, what this
// command writes now and then or at its end, and what other runs recorded.
func ownFiles(a *app, s *session, output runOutput) func([]dag.Run) []string {
	var named []string
	for _, f := range output.files() {
		if f.flag != "metrics" && f.name != "-" {
			named = append(named, absolute(a, f.name))
		}
	}
	if path, _ := metricsFile(a, s, output); path != "" {
		named = append(named, path)
	}
	return func(runs []dag.Run) []string {
		names := s.project.Names(slices.Concat(named, proc.OpenForWriting()))
		for _, run := range runs {
			names = append(names, outputOf(run)...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// outputOf lists the files below the project that a run recorded as its output.
func outputOf(run dag.Run) []string {
	var given map[string]string
	if json.Unmarshal([]byte(run.Settings), &given) != nil || given[outputKey] == "" {
		return nil
	}
	return strings.Split(given[outputKey], "\x00")
}
