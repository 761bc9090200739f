// Command derby takes the same plans through ralph and what people use instead, with one scripted model, and counts
// what goes wrong. tools/derby/README.md says how to read it.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "run only those CONTESTANT/PLAN that this `expression` matches")
	keep := flag.String("keep", "", "keep projects and logs in this `folder`, which is new")
	flag.Parse()
	if err := derby(*only, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "derby:", err)
		os.Exit(1)
	}
}

func derby(only, keep string) error {
	match, err := regexp.Compile(only)
	if err := errors.Join(err, missing()); err != nil {
		return err
	}
	began := time.Now()
	if keep == "" {
		if keep, err = os.MkdirTemp("", "derby-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(keep) }()
	}
	if keep, err = filepath.Abs(keep); err != nil {
		return err
	}
	bin := filepath.Join(keep, "bin")
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "ralph"), "./cmd/ralph")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build ralph: %w\n%s", err, out)
	}
	var rows []row
	for _, c := range contestants() {
		path, err := install(append([]string{agentPackage}, c.packages...))
		if err != nil {
			fmt.Printf("%s does not take part: %v\n", c.name, err)
			continue
		}
		for _, p := range plans() {
			if !match.MatchString(c.name + "/" + p.name) {
				continue
			}
			start := time.Now()
			r, err := newRace(c, p, path+string(os.PathListSeparator)+bin, filepath.Join(keep, c.name, p.name))
			if err != nil {
				return fmt.Errorf("set up %s for %s: %w", c.name, p.name, err)
			}
			s, err := r.finish()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, p.name, err)
			}
			rows = append(rows, row{c.name, p.name, s})
			fmt.Fprintf(os.Stderr, "%s, %s: %s\n", c.name, p.name, time.Since(start).Round(time.Second))
		}
	}
	fmt.Printf("\n%s, %d cores, %s\n\n%s", began.Format(time.DateOnly), runtime.NumCPU(), time.Since(began).Round(time.Second), table(rows))
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

// install gets packages from npm, once, into the cache that the tests with real agents use, and returns a PATH.
func install(packages []string) (string, error) {
	user, err := os.UserCacheDir()
	cache := cmp.Or(os.Getenv("RALPH_E2E_CACHE"), filepath.Join(user, "ralph-e2e"))
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
	return strings.Join(path, string(os.PathListSeparator)), err
}

// row is a race that is over.
type row struct {
	contestant, plan string
	score
}

// table is Markdown: a row a race, and one for all races of a contestant.
func table(rows []row) string {
	text := "| contestant | plan | false dones | not done | lost work | survivors | wasted calls | human actions |\n|---|---|---|---|---|---|---|---|\n"
	var all score
	for i, r := range rows {
		text += r.line(r.contestant, r.plan)
		all.add(r.score)
		if i == len(rows)-1 || rows[i+1].contestant != r.contestant {
			text += all.line("**"+r.contestant+"**", "**all**")
			all = score{}
		}
	}
	return text
}

func (s score) line(contestant, plan string) string {
	survivors, wasted := "n/a", fmt.Sprint(s.wasted)
	if s.killed {
		survivors = fmt.Sprint(s.survivors)
	}
	if s.checks > 0 {
		wasted += fmt.Sprintf(" (%d verify)", s.checks)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s | %s | %d |\n", contestant, plan, s.falseDone, s.notDone, s.lost, survivors, wasted, s.actions)
}

func (s *score) add(o score) {
	s.falseDone, s.notDone, s.lost, s.survivors = s.falseDone+o.falseDone, s.notDone+o.notDone, s.lost+o.lost, s.survivors+o.survivors
	s.wasted, s.checks, s.actions, s.killed = s.wasted+o.wasted, s.checks+o.checks, s.actions+o.actions, s.killed || o.killed
}
