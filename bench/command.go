package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// readyQuery is one indexed query that gives the same task as the command.
const readyQuery = `SELECT id, title FROM tasks INDEXED BY queue_all WHERE queue = 0 ORDER BY priority, n LIMIT 1`

const megabyte = 1_000_000

// command measures the program as people start it: its size, its memory, and how
// long a short command takes against sqlite3 on the same file.
func (b *bench) command() error {
	n, rounds := 100_000, 40
	if b.quick {
		n, rounds = 10_000, 10
	}
	ralph, err := b.build()
	if err != nil {
		return err
	}
	info, err := os.Stat(ralph)
	if err != nil {
		return err
	}
	b.limit("binary size, stripped", float64(info.Size())/megabyte, 45)
	project, err := b.project(ralph, n)
	if err != nil {
		return err
	}
	file := filepath.Join(project, ".ralph", "progress.db")
	list := []string{ralph, "--project", project, "task", "list", "--ready", "--limit", "1"}
	if canMeasureRSS {
		rss, err := maxRSS(list)
		if err != nil {
			return err
		}
		b.limit("max resident, task list", float64(rss)/megabyte, 20)
	}
	return b.againstShell(n, rounds, list, []string{"sqlite3", file, readyQuery})
}

// limit adds a figure in megabytes that has to stay below most.
func (b *bench) limit(what string, figure, most float64) {
	b.table.add("command", what, fmt.Sprintf("%.1f MB", figure), "", "", b.table.verdict(fmt.Sprintf("< %.0f MB", most), figure < most))
}

func (b *bench) againstShell(n, rounds int, ralph, shell []string) error {
	what := fmt.Sprintf("task list --ready --limit 1, %s", count(n))
	if path, _ := exec.LookPath(shell[0]); path == "" {
		b.table.add("command", what, "", "skipped: no sqlite3 here", "", "<= 3.0 unknown")
		return nil
	}
	var a, c []time.Duration
	for range rounds {
		mine, err := b.wall(ralph)
		if err != nil {
			return err
		}
		other, err := b.wall(shell)
		if err != nil {
			return err
		}
		a, c = append(a, mine), append(c, other)
	}
	b.table.compare("command", what, short(median(a)), short(median(c))+" sqlite3", ratio(median(a), median(c)), true, 3)
	return nil
}

func (b *bench) wall(args []string) (time.Duration, error) {
	begin := time.Now()
	out, err := exec.CommandContext(b.ctx, args[0], args[1:]...).CombinedOutput()
	took := time.Since(begin)
	if err == nil && !strings.Contains(string(out), "Step ") {
		err = fmt.Errorf("it found no task: %q", out)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return took, nil
}

// build makes the program as it is released.
func (b *bench) build() (string, error) {
	target, err := filepath.Abs(b.path("ralph"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", target, "./cmd/ralph")
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ralph: %w: %s", err, out)
	}
	return target, nil
}

// project makes a project whose graph has n tasks.
func (b *bench) project(ralph string, n int) (string, error) {
	dir := b.path("project")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(b.ctx, ralph, "init")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("ralph init: %w: %s", err, out)
	}
	_, err := b.copyOf(n, filepath.Join("project", ".ralph", "progress.db"))
	return dir, err
}
