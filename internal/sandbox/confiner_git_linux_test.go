package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/seen"
	"ralph/internal/testing/check"
)

// TestGitReadsWhatItBorrows in a temporary folder, most of which cannot be seen: agents and gates
// see every commit, in the project and in a copy of it, and what is committed in the project stays.
func TestGitReadsWhatItBorrows(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	for name, tt := range map[string]struct{ script, project, objects string }{
		"in a subfolder":       {"true", "repo/sub", "repo/.git/objects"},
		"in a worktree":        {"git -C repo worktree add -q ../tree", "tree", "repo/.git/objects"},
		"shared":               {"git clone -q --shared repo one", "one", "one/.git/objects"},
		"shared by the shared": {"git clone -q --shared repo one && git clone -q --shared one two && cd two/.git/objects/info && echo ../../../one/.git/objects > alternates", "two", "two/.git/objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			check.OK(t, err)
			at := func(name string) string { return filepath.Join(dir, name) }
			environ := append(env(at("home")), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
			sh := func(script string) {
				t.Helper()
				cmd := exec.Command("sh", "-ec", script)
				cmd.Dir, cmd.Env = dir, environ
				out, err := cmd.CombinedOutput()
				check.That(t, err == nil, "%v: %s", err, out)
			}
			fill(t, dir, map[string]string{"repo/sub/file": "file", "home/x": "", "other/secret": "", "slot/sub/x": ""})
			sh("git -C repo init -q && git -C repo add . && git -C repo commit -qm first && " + tt.script)
			sh("git -C slot init -q && echo " + at(tt.objects) + " > slot/.git/objects/info/alternates && git -C slot update-ref HEAD $(git -C repo rev-parse HEAD)")
			c, err := New(Options{Mode: "auto", Project: project.Project{Root: at(tt.project)}, Environ: environ, Most: Namespaces})
			check.OK(t, err)
			defer func() { check.OK(t, c.Close()) }()
			in, err := c.In(at("slot"), seen.Folder{})
			check.OK(t, err)
			for place, c := range map[string]*Confiner{at(tt.project): c, at("slot"): in} {
				for _, confine := range []func(Process) (*Confinement, error){c.ForVerification, c.ForWork} {
					x, err := confine(Process{Env: environ})
					check.OK(t, err)
					script := "git cat-file -p HEAD:sub/file && git commit -q --allow-empty -m made && ! test -e " + at("other")
					if place == at("slot") {
						script += "; touch " + at("repo/.git/objects/new") + " || true"
					}
					out, exit := output(t, proc.Spec{Argv: []string{"sh", "-ec", script}, Dir: place, Confine: x.Spec, Env: append(environ, x.Env...)})
					check.That(t, exit.Ok() && out == "file", "in %s: %v: %s", place, exit, out)
					check.OK(t, x.Close())
				}
				sh(`cd ` + place + ` && test "$(git log --format=%s)" = "made
first" && git fsck`)
			}
			_, err = os.Stat(at("repo/.git/objects/new"))
			check.That(t, err != nil, "an agent wrote into what it only borrows")
		})
	}
}
