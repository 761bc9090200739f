// Command derby takes the same plans through ralph and what people use instead, with one scripted model, and counts
// what goes wrong. docs/derby.md says how to read it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "run only the contestants and plans whose `names` are listed, with commas")
	keep := flag.String("keep", "", "keep projects and logs in this `folder`")
	flag.Parse()
	if err := derby(*only, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "derby:", err)
		os.Exit(1)
	}
}

func derby(only, keep string) error {
	if err := missing(); err != nil {
		return err
	}
	began := time.Now()
	if keep == "" {
		dir, err := os.MkdirTemp("", "derby-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		keep = dir
	}
	ralph := filepath.Join(keep, "bin", "ralph")
	build := exec.Command("go", "build", "-o", ralph, "./cmd/ralph")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build ralph: %w\n%s", err, out)
	}
	var rows []row
	for _, c := range contestants() {
		if !chosen(only, c.name, names(contestants(), func(c contestant) string { return c.name })) {
			continue
		}
		bin, err := install(append([]string{agentPackage}, c.packages...))
		if err != nil {
			fmt.Printf("%s does not take part: %v\n", c.name, err)
			continue
		}
		for _, p := range plans() {
			if !chosen(only, p.name, names(plans(), func(p plan) string { return p.name })) {
				continue
			}
			start := time.Now()
			r, err := newRace(c, p, bin+string(os.PathListSeparator)+filepath.Dir(ralph), filepath.Join(keep, strings.ReplaceAll(c.name, " ", "-"), p.name))
			if err != nil {
				return fmt.Errorf("%s, %s: set up: %w", c.name, p.name, err)
			}
			s, err := r.finish()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, p.name, err)
			}
			rows = append(rows, row{c.name, p.name, s})
			fmt.Fprintf(os.Stderr, "%s, %s: %s\n", c.name, p.name, time.Since(start).Round(time.Second))
		}
	}
	fmt.Printf("\n%s, %s, %d cores, %s\n\n%s", began.Format(time.DateOnly), agentPackage, runtime.NumCPU(), time.Since(began).Round(time.Second), table(rows))
	return nil
}

// missing says what the derby needs and this machine does not have.
func missing() error {
	if runtime.GOOS != "linux" {
		return errors.New("it counts processes in /proc, so it needs Linux")
	}
	var list []string
	for _, name := range []string{"node", "npm", "git", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			list = append(list, name)
		}
	}
	if list != nil {
		return fmt.Errorf("install %s first: the contestants need it", strings.Join(list, ", "))
	}
	return nil
}

func names[T any](list []T, name func(T) string) []string {
	var out []string
	for _, v := range list {
		out = append(out, name(v))
	}
	return out
}

// chosen says whether a name is listed, or none of its kind is.
func chosen(only, name string, kind []string) bool {
	any := false
	for word := range strings.SplitSeq(only, ",") {
		if word == name {
			return true
		}
		for _, k := range kind {
			any = any || k == word
		}
	}
	return !any
}

// install gets packages from npm, once, into the cache that the tests with real agents use, and returns a PATH.
func install(packages []string) (string, error) {
	cache := os.Getenv("RALPH_E2E_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "ralph-e2e")
	}
	var path []string
	for _, pkg := range packages {
		dir := filepath.Join(cache, strings.NewReplacer("/", "_", "@", "_").Replace(pkg))
		path = append(path, filepath.Join(dir, "node_modules", ".bin"))
		stamp := filepath.Join(dir, "complete")
		if _, err := os.Stat(stamp); err == nil {
			continue
		}
		if out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", dir, pkg).CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm install %s: %w\n%s", pkg, err, out)
		}
		if err := writeFile(stamp, ""); err != nil {
			return "", err
		}
	}
	return strings.Join(path, string(os.PathListSeparator)), nil
}
