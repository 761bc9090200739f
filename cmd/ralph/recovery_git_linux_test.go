package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkThatGitCannotHandle stays, and that is said: a night must not end because
// of it, and every next start would meet the same.
func TestWorkThatGitCannotHandle(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule, spoil, said string
	}{
		"a merge is under way": {
			"stash", `git hash-object -w half.txt | sed 's/.*/100644 & 1\thalf.txt\n100644 & 2\thalf.txt/' | git update-index --index-info`,
			"its uncommitted work stays, because git could not stash it",
		},
		"there is no commit":        {"stash", "git update-ref -d HEAD", "its uncommitted work stays, because git could not stash it"},
		"how it began is forgotten": {"fail", "rm -r .ralph/objects", "whether it left uncommitted work could not be seen"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cutOffPlace(t, "half.txt", tt.rule)
			p.repository(t)
			p.plan(t, "mine")
			p.cutOff(t)
			spoil := exec.Command("sh", "-ec", tt.spoil)
			spoil.Dir, spoil.Env = p.dir, p.env
			if out, err := spoil.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			p.want(t, 0, "recover")
			if got := p.want(t, 0, "journal", "list", "--json").stdout; !strings.Contains(got, tt.said) {
				t.Errorf("the journal does not say %q:\n%s", tt.said, got)
			}
			if got := p.task(t, "t-00000001"); got.Status != "pending" {
				t.Errorf("got %s, want that it is tried again", got.Status)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "half.txt")); err != nil {
				t.Error(err)
			}
		})
	}
}
