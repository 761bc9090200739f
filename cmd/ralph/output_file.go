package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
		config, db := settled(p.Config()), settled(p.DB())
		own = func(path string) bool { return path == config || strings.HasPrefix(path, db) }
	}
	taken := map[string]string{}
	for _, f := range output.files() {
		path := absolute(a, f.name)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue // a device, such as /dev/null, takes everything
		}
		path = settled(path)
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

// settled is a path whose folder is taken as it is now: an agent may put a link in
// its place.
func settled(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(folder, filepath.Base(path))
}

// moved says that a folder is no longer where it was.
func moved(path string) error {
	if now := settled(path); now != path {
		return fmt.Errorf("%s leads to %s now: a link was put in the way", filepath.Dir(path), filepath.Dir(now))
	}
	return nil
}

// prepareOutput makes sure that a file can be written, and takes an older one away: should
// this run die, nobody must take the report of another one for its.
func prepareOutput(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe, a device
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ralph-report-*")
	if err != nil {
		return about(path, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
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

// replaceFile writes a file whole or not at all, so that a page is never half old.
func replaceFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o600) // a pipe, a device: there is nothing to replace
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ralph-report-*")
	if err != nil {
		return about(path, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is gone when all went well
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return about(path, err)
}

// about says of the file that a person named what went wrong with the one that was
// to take its place.
func about(path string, err error) error {
	var one *os.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return fmt.Errorf("%s: %w", path, one.Err)
	case errors.As(err, &two):
		return fmt.Errorf("%s: %w", path, two.Err)
	}
	return err
}
