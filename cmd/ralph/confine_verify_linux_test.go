package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/sandbox"
)

const vandal = `set -e
echo uncommitted > new; echo changed > file; chmod 755 sub/other; touch -d @1 .; mv sub moved; ln -s / link; rm -f .git/HEAD
cat new file`

// TestVerificationLeavesTheProjectAsItWas at every level: it never changed, or it
// is brought back, and what the verifier did is known.
func TestVerificationLeavesTheProjectAsItWas(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level, 1)
			before := looks(t, c.project.Root)
			x, err := c.forVerification(env(filepath.Dir(c.project.Root)), agent{})
			if err != nil {
				t.Fatal(err)
			}
			if got := do(t, c, x, vandal); got != "uncommitted\nchanged" {
				t.Errorf("got %q, want it to see what it wrote", got)
			}
			changes, err := x.undo()
			if wanted := level < sandbox.Namespaces; err != nil || len(changes) > 0 != wanted {
				t.Errorf("got changes %v, %v; want some: %v", changes, err, wanted)
			}
			if diff := cmp.Diff(before, looks(t, c.project.Root)); diff != "" {
				t.Error(diff)
			}
			wantClosed(t, x)
		})
	}
}

// TestLookingIsNoChange: what comes with only looking is undone, and nobody is blamed.
func TestLookingIsNoChange(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		blamed bool
	}{
		"what git notes":               {"git status; git add -A; echo x > .git/opencode; touch .git/FETCH_HEAD", false},
		"what tests leave":             {"mkdir -p out/deep && echo x > out/deep/x; echo x > sub/y.o; mkdir empty && rmdir empty", false},
		"a commit":                     {"git -c user.name=x -c user.email=x@y commit -qm x --allow-empty", true},
		"a hook":                       {"echo x > .git/hooks/pre-commit", true},
		"a file":                       {"echo x > x", true},
		"a touched file":               {"touch -d @1 file", true},
		"a mode":                       {"chmod 700 sub", true},
		"an ignored folder's own rule": {"mkdir new && echo '*' > new/.gitignore && echo x > new/x", true},
		"a change of the rules":        {"echo '*' > .gitignore; echo x > y", true},

		"what git notes in a repository inside":         {"git -C inside status; git -C inside add -A; git -C module add -A", false},
		"what tests leave in a repository inside":       {"echo x > inside/x.o; echo x > inside/skipped; echo x > module/y.o", false},
		"a file in a repository inside":                 {"echo x > inside/x", true},
		"uncommitted work in a repository inside":       {"echo x > inside/work", true},
		"work in a submodule":                           {"rm module/file; echo x > sub/y.o", true},
		"a hook of a submodule":                         {"echo x > .git/modules/module/hooks/pre-commit", true},
		"a pointer":                                     {"echo gitdir: /nowhere > module/.git", true},
		"a commit in a repository inside":               {"git -C inside -c user.name=x -c user.email=x@y commit -qm x --allow-empty", true},
		"a folder that is made a repository":            {"git -C sub init -q", true},
		"what is ignored here and not in another place": {"echo x > inside/out", true},
	}
	for name, tt := range tests {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level, 1)
				if err := os.WriteFile(filepath.Join(c.project.Root, ".gitignore"), []byte("/out/\n*.o\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				repositoriesInside(t, c.project.Root)
				before := looks(t, c.project.Root)
				x, err := c.forVerification(env(filepath.Dir(c.project.Root)), agent{})
				if err != nil {
					t.Fatal(err)
				}
				do(t, c, x, "("+tt.script+") > /dev/null 2>&1; true")
				told, err := x.undo()
				if blamed := tt.blamed && level < sandbox.Namespaces; err != nil || len(told) > 0 != blamed {
					t.Errorf("got %q, %v; want blame: %v", told, err, blamed)
				}
				if diff := cmp.Diff(before, looks(t, c.project.Root)); diff != "" {
					t.Error(diff)
				}
				wantClosed(t, x)
			})
		}
	}
}

// TestVerificationBesideOtherAgentsUndoesNothing: their work would be undone, too.
func TestVerificationBesideOtherAgentsUndoesNothing(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level, 2)
			x, err := c.forVerification(env(filepath.Dir(c.project.Root)), agent{})
			if err != nil {
				t.Fatal(err)
			}
			work := filepath.Join(c.project.Root, "work of another")
			if err := os.WriteFile(work, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			before := looks(t, c.project.Root)
			if level > sandbox.None {
				do(t, c, x, "echo changed > file; rm -rf sub; true")
			}
			if changes, err := x.undo(); err != nil || len(changes) > 0 {
				t.Errorf("got %v, %v, want nobody blamed", changes, err)
			}
			if diff := cmp.Diff(before, looks(t, c.project.Root)); diff != "" {
				t.Error(diff)
			}
			wantClosed(t, x)
		})
	}
}
