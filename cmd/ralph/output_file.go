package main

import (
	"os"
	"path/filepath"
	"strings"

	"ralph/internal/atomicfile"
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
