package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
)

// TestRepositoriesInsideAreProtected as the project's own is, and can be worked in.
func TestRepositoriesInsideAreProtected(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script  string
		found   string // where it is not prevented
		reached bool   // at every level
	}{
		"a hook":                  {"echo x > inside/.git/hooks/post-checkout", "inside/.git/hooks/post-checkout: added", false},
		"the configuration":       {"git -C inside config core.hooksPath x", "inside/.git/config: content", false},
		"of a worktree alone":     {"echo x > inside/.git/config.worktree", "inside/.git/config.worktree: added", true},
		"moved away, recreated":   {"mv inside old && git init -q inside && echo x > inside/.git/hooks/post-checkout", "inside/.git/hooks/post-checkout: added", true},
		"a link in its place":     {"mv inside old && mkdir inside && git init -q evil && echo x > evil/.git/hooks/x && ln -s ../evil/.git inside/.git", "inside/.git/hooks/x: added", true},
		"ordinary work":           {"cd inside && echo x > new && git add -A && git -c user.name=x -c user.email=x@y commit -qm second && git checkout -qb branch && git gc -q", "", false},
		"a repository made new":   {"git init -q new && git -C new config core.hooksPath x", "", false},
		"removed with all in it":  {"rm -rf inside", "", false},
		"a folder from now on":    {"rm -rf inside/.git", "", false},
		"what is in a submodule":  {"echo x > module/new && git -C module add -A", "", false},
		"a hook, ignored by rule": {"echo '*' > .gitignore; echo inside >> .git/info/exclude; echo x > inside/.git/hooks/x", "inside/.git/hooks/x: added", false},
	}
	for name, tt := range tests {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level)
				repositoriesInside(t, c.opts.Project.Root)
				c.findProtected()
				x, err := c.ForTask(Process{Env: env(filepath.Dir(c.opts.Project.Root))}, "", false)
				check.OK(t, err)
				own := []string{filepath.Join(c.opts.Project.Root, "inside/.git/hooks"), filepath.Join(c.opts.Project.Root, "inside/.git/config")}
				before := looks(t, own[0]) + looks(t, own[1])
				do(t, c, x, "("+tt.script+") >/dev/null 2>&1; true")
				tampered, err := x.Tampered()
				check.OK(t, err)
				if level == Namespaces && !tt.reached {
					diff := cmp.Diff(before, looks(t, own[0])+looks(t, own[1]))
					check.That(t, diff == "" && len(tampered) == 0, "found %q; %s", tampered, diff)
				} else if got := strings.Join(tampered, "\n"); tt.found == "" && got != "" || !strings.Contains(got, tt.found) {
					t.Errorf("got %q, want %q", got, tt.found)
				}
				wantClosed(t, x)
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
				repositoriesInside(t, c.opts.Project.Root)
				outside := filepath.Join(filepath.Dir(c.opts.Project.Root), "outside")
				for _, file := range []string{"hooks/x", "config"} {
					path := filepath.Join(outside, file)
					check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
					check.OK(t, os.WriteFile(path, nil, 0o644))
				}
				c.findProtected()
				before := looks(t, outside)
				for _, script := range []string{script, "echo x > inside/.git/new; echo x > inside/.git/hooks/x; echo x > inside/.git/config; echo x > ../outside/x"} {
					x, err := c.ForTask(Process{Env: env(filepath.Dir(c.opts.Project.Root))}, "", false)
					check.OK(t, err)
					if level > None {
						do(t, c, x, script+"; true")
					}
					wantClosed(t, x)
				}
				check.Equal(t, "result", before, looks(t, outside))
			})
		}
	}
}
