package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkThatWasCutOffInARepositoryInside is seen as any other is: it is told to the next
// agent, or left to a person. It is not stashed, and that is said.
func TestWorkThatWasCutOffInARepositoryInside(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		exit   int
		status string
		said   string // in the task's journal
		prompt string // of the second attempt
	}{
		"keep":  {0, "done", "", "uncommitted: inside/half.txt"},
		"stash": {0, "done", "in repositories inside the project stays, and is not stashed: inside/half.txt", "uncommitted: inside/half.txt"},
		"fail":  {1, "failed", "does not allow: inside/half.txt", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cutOffPlace(t, "inside/half.txt", name)
			p.repository(t)
			inside := exec.Command("sh", "-ec", `git init -q inside && cd inside && echo x > file && git add -A &&
				git -c user.name=t -c user.email=t@localhost commit -qm first && echo y > mine.txt`)
			inside.Dir, inside.Env = p.dir, p.env
			if out, err := inside.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			p.plan(t, "mine")
			p.cutOff(t)
			p.want(t, tt.exit, "run")
			if got := p.task(t, "t-00000001"); string(got.Status) != tt.status {
				t.Errorf("got %s, want %s", got.Status, tt.status)
			}
			for _, file := range []string{"half.txt", "mine.txt", "file"} {
				if _, err := os.Stat(filepath.Join(p.dir, "inside", file)); err != nil {
					t.Error(err)
				}
			}
			if got := p.want(t, 0, "journal", "list", "--json").stdout; !strings.Contains(got, tt.said) {
				t.Errorf("the journal does not say %q:\n%s", tt.said, got)
			}
			if prompts := p.prompts(t); tt.prompt != "" && !strings.Contains(prompts[len(prompts)-1], tt.prompt) {
				t.Errorf("the prompt does not say %q:\n%s", tt.prompt, prompts[len(prompts)-1])
			}
		})
	}
}
