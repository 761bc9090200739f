package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// TestATaskMayChangeTheConfigurationAndNothingElseThatIsProtected: no glob stands for ralph's own state, nor for what git uses.
func TestATaskMayChangeTheConfigurationAndNothingElseThatIsProtected(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		globs []string
		want  []string
	}{
		"nothing":           {nil, []string{".git/hooks/pre-commit", ".ralph.toml", ".ralph/prompts/x"}},
		"another file":      {[]string{"ci/**"}, []string{".git/hooks/pre-commit", ".ralph.toml", ".ralph/prompts/x"}},
		"the configuration": {[]string{".ralph.toml"}, []string{".git/hooks/pre-commit", ".ralph/prompts/x"}},
		"all":               {[]string{"**"}, []string{".git/hooks/pre-commit", ".ralph/prompts/x"}},
		"all of it by name": {[]string{".ralph/**", ".git/**", ".git/hooks/pre-commit"}, []string{".git/hooks/pre-commit", ".ralph.toml", ".ralph/prompts/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := project.Project{Root: t.TempDir()}
			write := func(name, text string) {
				path := filepath.Join(p.Root, name)
				check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
				check.OK(t, os.WriteFile(path, []byte(text), 0o644))
			}
			write(".git/HEAD", "") // without it, git sees no repository
			write(".ralph.toml", "old")
			write(".ralph/prompts/x", "old")
			c := &Confiner{opts: Options{Project: p, Trust: provenance.Store{Dir: t.TempDir()}}, place: p, protection: Protect(t.Context(), p), first: map[string][]*Fingerprint{}}
			x := &Confinement{Level: None}
			check.OK(t, c.Watch(x, "t-1", "a-1", tt.globs))
			for _, name := range tt.want {
				write(name, "new")
			}
			write(".ralph.toml", "new")
			found, err := x.Tampered()
			check.OK(t, err)
			var want []string
			for _, name := range tt.want {
				kind := ": content"
				if name == ".git/hooks/pre-commit" {
					kind = ": added"
				}
				want = append(want, filepath.Join(p.Root, name)+kind)
			}
			check.Equal(t, "tampered", want, slices.DeleteFunc(found, func(s string) bool { return s == filepath.Join(p.Root, ".git/hooks")+": added" }))
			check.OK(t, x.Close())
			planted, err := c.opts.Trust.Findings(OlderFindings(p))
			check.OK(t, err)
			check.That(t, len(planted) >= len(tt.want), "told of later: %v", planted)
			for _, planted := range planted {
				check.That(t, !slices.Contains(tt.globs, "**") || filepath.Base(planted.Path) != ".ralph.toml", "it is told of later: %v", planted)
			}
		})
	}
}
