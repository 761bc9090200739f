package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// TestTamperingIsPreventedOrFound is about what no agent may write: of the project, and
// of repositories inside it, which can be worked in all the same.
func TestTamperingIsPreventedOrFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		found  string // where it is not prevented
		always bool   // it is prevented nowhere
	}{
		"ordinary work":      {"echo x > new; rm file; git config --list > /dev/null; git -c user.name=x -c user.email=x@y commit -qm x --allow-empty", "", false},
		"a hook":             {"echo x > .git/hooks/post-checkout", "hooks/post-checkout: added", false},
		"the configuration":  {"echo '[alias]' >> .git/config", ".git/config: content", false},
		"ralph's own":        {"echo '[verify]' >> .ralph.toml", ".ralph.toml: content", false},
		"a file of ralph's":  {"echo x > .ralph/planted", ".ralph/planted: added", false},
		"what ralph writes":  {"echo x > .ralph/runs/y; echo x > .ralph/progress.db-wal", "", false},
		"what people edit":   {"echo x > .ralph/features/spec.md", "", false},
		"a plan":             {"mkdir -p .ralph/features/login && echo x > .ralph/features/login/tasks.jsonl", ".ralph/features/login/tasks.jsonl: added", false},
		"the ignored worlds": {"mkdir -p node_modules && echo x > node_modules/x", "", false},

		"inside: a hook":                  {"echo x > inside/.git/hooks/post-checkout", "inside/.git/hooks/post-checkout: added", false},
		"inside: the configuration":       {"git -C inside config core.hooksPath x", "inside/.git/config: content", false},
		"inside: of a worktree alone":     {"echo x > inside/.git/config.worktree", "inside/.git/config.worktree: added", true},
		"inside: moved away, recreated":   {"mv inside old && git init -q inside && echo x > inside/.git/hooks/post-checkout", "inside/.git/hooks/post-checkout: added", true},
		"inside: a link in its place":     {"mv inside old && mkdir inside && git init -q evil && echo x > evil/.git/hooks/x && ln -s ../evil/.git inside/.git", "inside/.git/hooks/x: added", true},
		"inside: ordinary work":           {"cd inside && echo x > new && git add -A && git -c user.name=x -c user.email=x@y commit -qm second && git checkout -qb branch && git gc -q", "", false},
		"inside: a repository made new":   {"git init -q new && git -C new config core.hooksPath x", "", false},
		"inside: removed with all in it":  {"rm -rf inside", "", false},
		"inside: a folder from now on":    {"rm -rf inside/.git", "", false},
		"inside: what is in a submodule":  {"echo x > module/new && git -C module add -A", "", false},
		"inside: a hook, ignored by rule": {"echo '*' > .gitignore; echo inside >> .git/info/exclude; echo x > inside/.git/hooks/x", "inside/.git/hooks/x: added", false},
	}
	for name, tt := range tests {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level)
				root := c.opts.Project.Root
				own := []string{root + "/.ralph", root + "/.git/hooks"}
				if strings.HasPrefix(name, "inside: ") {
					repositoriesInside(t, c)
					own = append(own, root+"/inside/.git/hooks", root+"/inside/.git/config")
				}
				x := forTask(t, c, "")
				before := look(own...)
				do(t, c, x, "("+tt.script+") >/dev/null 2>&1; true")
				tampered, err := x.Tampered()
				check.OK(t, err)
				if level == Namespaces && !tt.always {
					check.Equal(t, "what is protected", before, look(own...))
					check.Equal(t, "found", []string(nil), tampered)
				} else if got := strings.Join(tampered, "\n"); tt.found == "" && got != "" || !strings.Contains(got, tt.found) {
					t.Errorf("got %q, want %q", got, tt.found)
				}
				wantClosed(t, x)
				again, err := x.Tampered()
				check.OK(t, err)
				check.Equal(t, "found after Close", tampered, again)
			})
		}
	}
}

// TestARepositoryThatWasReplacedOpensNothing: what the next attempt may write is
// not for the last one to say, and it can be started whatever is there.
func TestARepositoryThatWasReplacedOpensNothing(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"the project's":   "mv .git old; ln -s ../outside .git",
		"by a link":       "mv inside/.git old; ln -s ../../outside inside/.git",
		"by a file":       "mv inside/.git old; echo x > inside/.git",
		"by a circle":     "mv inside/.git old; mkdir inside/.git; ln -s hooks inside/.git/hooks; ln -s config inside/.git/config",
		"by nothing":      "mv inside old",
		"by a new folder": "mv inside/.git old; mkdir -p inside/.git/hooks; ln -s ../../../outside/config inside/.git/config",
	} {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level)
				repositoriesInside(t, c)
				outside := fill(t, filepath.Join(filepath.Dir(c.opts.Project.Root), "outside"), map[string]string{"hooks/x": "", "config": ""})
				before := look(outside)
				for _, script := range []string{script, "echo x > inside/.git/new; echo x > inside/.git/hooks/x; echo x > inside/.git/config; echo x > ../outside/x"} {
					x := forTask(t, c, "")
					if level > None {
						do(t, c, x, script+"; true")
					}
					wantClosed(t, x)
				}
				check.Equal(t, "result", before, look(outside))
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
			c.place, c.tree = c.opts.Project, c.opts.Project.Root
			c.findProtected()
			x := forTask(t, c, "")
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

// TestTheTableOfWhatIsFoundOutIsTrue: docs/security.md says what becomes of each write.
func TestTheTableOfWhatIsFoundOutIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/security.md")
	check.OK(t, err)
	want := map[string][]string{} // by path: namespaces, landlock, none
	_, table, _ := strings.Cut(string(text), "| written by a working agent |")
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
			x := forTask(t, made, "t-1")
			before := map[string]string{}
			script := ""
			for path := range want {
				before[path] = provenance.Sum(filepath.Join(root, path))
				script += fmt.Sprintf("(mkdir -p %q; echo x >> %q) 2> /dev/null\n", filepath.Dir(path), path)
			}
			do(t, made, x, script+"true")
			found, err := x.Tampered()
			check.OK(t, err)
			for path, cells := range want {
				full := filepath.Join(root, path)
				got := "open"
				switch {
				case provenance.Sum(full) == before[path]:
					got = "refused"
				case slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, full+": ") }):
					got = "found"
				}
				said := cells[Namespaces-level]
				check.That(t, got == said, "%s at %s is %s, and docs/security.md says %s", path, level, got, said)
			}
			x.keep = nil
			wantClosed(t, x)
		})
	}
}
