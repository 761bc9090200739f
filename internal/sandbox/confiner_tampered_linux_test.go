package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
)

// TestTamperingIsPreventedOrFound is about what no agent may write.
func TestTamperingIsPreventedOrFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ script, want string }{
		"ordinary work":      {"echo x > new; rm file; git config --list > /dev/null; git -c user.name=x -c user.email=x@y commit -qm x --allow-empty", ""},
		"a hook":             {"echo x > .git/hooks/post-checkout", "hooks/post-checkout: added"},
		"the configuration":  {"echo '[alias]' >> .git/config", ".git/config: content"},
		"ralph's own":        {"echo '[verify]' >> .ralph.toml", ".ralph.toml: content"},
		"a file of ralph's":  {"echo x > .ralph/planted", ".ralph/planted: added"},
		"what ralph writes":  {"echo x > .ralph/runs/y; echo x > .ralph/progress.db-wal", ""},
		"what people edit":   {"echo x > .ralph/features/spec.md", ""},
		"the ignored worlds": {"mkdir -p node_modules && echo x > node_modules/x", ""},
	}
	for name, tt := range tests {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level)
				x, err := c.ForTask(Process{Env: env(filepath.Dir(c.opts.Project.Root))}, "", false)
				check.OK(t, err)
				before := looks(t, filepath.Join(c.opts.Project.Root, ".ralph")) + looks(t, filepath.Join(c.opts.Project.Root, ".git/hooks"))
				do(t, c, x, "("+tt.script+") 2>/dev/null; true")
				tampered, err := x.Tampered()
				check.OK(t, err)
				if level == Namespaces {
					after := looks(t, filepath.Join(c.opts.Project.Root, ".ralph")) + looks(t, filepath.Join(c.opts.Project.Root, ".git/hooks"))
					diff := cmp.Diff(before, after)
					check.That(t, diff == "" && len(tampered) == 0, "found %q; %s", tampered, diff)
				} else if got := strings.Join(tampered, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				wantClosed(t, x)
				again, err := x.Tampered()
				check.That(t, err == nil && len(again) == len(tampered), "after Close got %q, %v", again, err)
			})
		}
	}
}

// TestAWorktreeCanBeCommitted although its repository lies elsewhere, and that one's
// hooks stay what they are.
func TestAWorktreeCanBeCommitted(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level)
			main := c.opts.Project.Root
			for _, args := range [][]string{{"commit", "-qm", "x", "--allow-empty"}, {"worktree", "add", "-q", "../tree"}} {
				out, err := exec.Command("git", append([]string{"-C", main, "-c", "user.name=x", "-c", "user.email=x@y"}, args...)...).CombinedOutput()
				check.That(t, err == nil, "%v: %s", err, out)
			}
			c.opts.Project.Root = filepath.Join(filepath.Dir(main), "tree")
			c.findProtected()
			x, err := c.ForTask(Process{Env: env(filepath.Dir(main))}, "", false)
			check.OK(t, err)
			got := do(t, c, x, "echo x > new && git add new && git -c user.name=x -c user.email=x@y commit -qm message && git log --format=%s -1")
			check.That(t, got == "message", "got %q", got)
			for _, script := range []string{"echo x > ../project/.git/hooks/pre-push", "echo gitdir: /tmp > .git", "echo /tmp > ../project/.git/worktrees/tree/commondir"} {
				do(t, c, x, "("+script+") 2>/dev/null; true")
			}
			tampered, err := x.Tampered()
			want := 3
			if level == Namespaces {
				want = 0
			}
			check.That(t, err == nil && len(tampered) == want, "got %q, %v, want %d", tampered, err, want)
			_, err = os.Stat(filepath.Join(main, ".git/hooks/pre-push"))
			check.Equal(t, "the hook was planted", level < Namespaces, err == nil)
			wantClosed(t, x)
		})
	}
}

// TestTheTableOfWhatIsFoundOutIsTrue: docs/sandbox.md says what becomes of each write.
func TestTheTableOfWhatIsFoundOutIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/sandbox.md")
	check.OK(t, err)
	want := map[string][]string{} // by path: namespaces, landlock, none
	_, table, _ := strings.Cut(string(text), "| written by an agent at work |")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) == 6 {
			want[strings.Trim(cells[1], " `")] = []string{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
		}
	}
	if len(want) < 15 {
		t.Fatalf("got %d rows: %v", len(want), want)
	}
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			made := confinerAt(t, level)
			root := made.opts.Project.Root
			setUp := exec.Command("sh", "-ec", `echo /build/ > .gitignore; for name in inside build/clone; do git init -q $name; mkdir -p $name/.git/hooks; done; git init -q --bare .git/modules/lib; mkdir module; echo 'gitdir: ../.git/modules/lib' > module/.git; mkdir -p .git/worktrees/tree; echo ../.. > .git/worktrees/tree/commondir; mkdir -p .ralph/objects .ralph/knowledge .git/info; : > .ralph/progress.db`)
			setUp.Dir = root
			if out, err := setUp.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			made.findProtected() // as it would be found now
			x, err := made.ForTask(Process{Env: env(filepath.Dir(root))}, "t-1", false)
			check.OK(t, err)
			before := map[string]string{}
			script := ""
			for path := range want {
				before[path] = Sum(filepath.Join(root, path))
				script += fmt.Sprintf("(mkdir -p %q; echo x >> %q) 2> /dev/null\n", filepath.Dir(path), path)
			}
			do(t, made, x, script+"true")
			found, err := x.Tampered()
			check.OK(t, err)
			for path, cells := range want {
				full := filepath.Join(root, path)
				got := "open"
				switch {
				case Sum(full) == before[path]:
					got = "refused"
				case slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, full+": ") }):
					got = "found"
				}
				said := cells[Namespaces-level]
				check.That(t, got == said, "%s at %s is %s, and docs/sandbox.md says %s", path, level, got, said)
			}
			x.keep = nil
			wantClosed(t, x)
		})
	}
}
