//go:build unix

package slot

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// BenchmarkTake is a warm slot made ready for the next task, against one git status in it: the
// goal is at most 3 times its CPU.
func BenchmarkTake(b *testing.B) {
	for _, count := range []int{10_000, 50_000} {
		b.Run(fmt.Sprint(count, " files"), func(b *testing.B) {
			r := newRepo(b)
			var stream strings.Builder // as git fast-import reads it: writing files takes minutes
			stream.WriteString("commit refs/heads/main\ncommitter x <x> 1 +0000\ndata 1\nx\n")
			for i := range count {
				text := strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20)
				fmt.Fprintf(&stream, "M 644 inline d%d/s%d/f%d.txt\ndata %d\n%s\n", i%50, i/50%20, i, len(text), text)
			}
			cmd := exec.CommandContext(b.Context(), "git", "fast-import", "--quiet")
			cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stream.String())
			check.OK(b, cmd.Run())
			first := r.git("rev-parse", "main")
			p := open(b, r, nil)
			start := cpu()
			s, at := take(b, p, 1, first)
			made := cpu() - start
			at.git("status")
			var took, status, kept time.Duration
			base := first
			for b.Loop() {
				start = cpu()
				at.git("status")
				status += cpu() - start
				at.sh("for i in 1 2 3 4 5 6 7 8 9 10; do date +%N >> d$i/s1/f$((50+i)).txt; done; echo n > new")
				start = cpu()
				w := keep(b, s, base)
				kept += cpu() - start
				start = cpu()
				s, at = take(b, p, 1, w.Commit)
				took += cpu() - start
				base = w.Commit
			}
			n := float64(b.N)
			b.ReportMetric(made.Seconds(), "make-cpu-s")
			b.ReportMetric(took.Seconds()/n, "take-cpu-s")
			b.ReportMetric(kept.Seconds()/n, "keep-cpu-s")
			b.ReportMetric(status.Seconds()/n, "status-cpu-s")
			b.ReportMetric(took.Seconds()/status.Seconds(), "take/status")
		})
	}
}

// cpu is what this process and those that it waited for have used.
func cpu() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
