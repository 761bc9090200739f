package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// TestAVerifierCannotChangeTheProject at the levels that confine: under namespaces it
// works on a copy, under Landlock it is refused. Both leave it a temporary folder and
// places for caches.
func TestAVerifierCannotChangeTheProject(t *testing.T) {
	t.Parallel()
	const vandal = `(echo x > new; echo changed > file; chmod 755 new; mv sub moved; ln -s / link; rm -f .git/HEAD; git add -A) 2> /dev/null
echo x > "$TMPDIR/x" && mkdir -p "$XDG_CACHE_HOME/x" && cat file`
	want := map[Level]string{Namespaces: "changed", Landlock: "file"}
	for _, level := range levels() {
		if level == None {
			continue
		}
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level)
			repositoriesInside(t, c)
			before := look(c.opts.Project.Root)
			x, err := c.ForVerification(Process{Env: env(filepath.Dir(c.opts.Project.Root))})
			check.OK(t, err)
			check.Equal(t, "found", want[level], do(t, c, x, vandal))
			check.Equal(t, "result", before, look(c.opts.Project.Root))
			wantClosed(t, x)
		})
	}
}

// TestAVerifierUnderLandlockWritesNoCache: it is led to a place of its own instead,
// except for downloads, which it can use as they are.
func TestAVerifierUnderLandlockWritesNoCache(t *testing.T) {
	t.Parallel()
	if Detect(Landlock).Level != Landlock {
		t.Skip("no Landlock on this machine")
	}
	c := confinerAt(t, Landlock)
	home := filepath.Dir(c.opts.Project.Root)
	for _, cache := range []string{".cache", "go/pkg/mod", ".cargo/registry", ".npm"} {
		check.OK(t, os.MkdirAll(filepath.Join(home, cache), 0o755))
	}
	x, err := c.ForVerification(Process{Env: env(home)})
	check.OK(t, err)
	before := look(home)
	do(t, c, x, `set -e
for dir in "$XDG_CACHE_HOME" "$npm_config_cache"; do mkdir -p "$dir"; echo x > "$dir/x"; done
test -z "$GOMODCACHE"; test -d ~/go/pkg/mod
for dir in ~/.cache ~/go/pkg/mod ~/.cargo/registry ~/.npm; do if (echo x > $dir/x) 2> /dev/null; then exit 1; fi; done`)
	check.Equal(t, "result", before, look(home))
	wantClosed(t, x)
}
