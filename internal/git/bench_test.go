package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// BenchmarkTree prints what a tree of 5,000 files costs, one of them changed since
// the last, compared with git status in the same repository.
func BenchmarkTree(b *testing.B) {
	dir := b.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(b.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		check.That(b, err == nil, "git %v: %v\n%s", args, err, out)
	}
	for i := range 5000 {
		path := filepath.Join(dir, fmt.Sprintf("d%02d/e%d/f%d.go", i%50, i%7, i))
		check.OK(b, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(b, os.WriteFile(path, fmt.Appendf(nil, "package e\n\nconst N%d = %d\n", i, i), 0o600))
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "all")
	objects := filepath.Join(b.TempDir(), "objects")
	tree := func() {
		if _, err := Take(b.Context(), dir, objects); err != nil {
			b.Fatal(err)
		}
	}
	first := time.Now()
	tree()
	cold := time.Since(first)
	var trees, looks time.Duration
	n := 0
	for b.Loop() {
		n++
		check.OK(b, os.WriteFile(filepath.Join(dir, "changed.go"), fmt.Appendf(nil, "package e // %d\n", n), 0o600))
		start := time.Now()
		git("status", "--porcelain=v2", "--untracked-files=all")
		looks += time.Since(start)
		start = time.Now()
		tree()
		trees += time.Since(start)
	}
	b.ReportMetric(trees.Seconds()*1e3/float64(n), "ms/tree")
	b.ReportMetric(float64(trees)/float64(looks), "x-status")
	b.ReportMetric(float64(cold)*float64(n)/float64(looks), "x-status-cold")
}
