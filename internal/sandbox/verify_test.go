//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

const vandal = `
echo new > new; echo changed > file; mkdir -p sub/dir; echo x > sub/dir/x
chmod 777 file; touch -d @1 file other; touch .
rm -rf gone; mkdir gone; echo x > gone/again
mv renamed moved; ln other linked; ln -sf /etc/passwd .ralph-link
echo x >> .git/index; rm .git/HEAD
cat new sub/dir/x gone/again; test -e moved; test "$(stat -c %a file)" = 777
`

func verifyWorld(t *testing.T) *world {
	w := newWorld(t)
	for path, text := range map[string]string{"other": "other", "gone/file": "gone", "renamed": "renamed"} {
		path = filepath.Join(w.Project, path)
		must(os.MkdirAll(filepath.Dir(path), 0o750))
		must(os.WriteFile(path, []byte(text), 0o640))
	}
	return w
}

// The verifier sees what it did, and nothing of it happened.
func TestVerifyLeavesTheProjectAsItWas(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	for name, scratch := range map[string]bool{"in memory": false, "on disk": true} {
		t.Run(name, func(t *testing.T) {
			w := verifyWorld(t)
			p := w.profile(Namespaces, Verify)
			if scratch {
				p.Scratch = w.Base + "/scratch"
				must(os.Mkdir(p.Scratch, 0o700))
			}
			before := look(w.Project)
			out, exit := run(t, p, nil, "sh", "-ec", vandal)
			check.That(t, exit.Ok() && out == "new\nx\nx", "got %v %q, want it to see its own writes", exit, out)
			check.Equal(t, "result", before, look(w.Project))
			if scratch {
				check.OK(t, RemoveAll(p.Scratch))
			}
		})
	}
}

// goProject is a small module, and the environment and caches to test it with.
func goProject(t testing.TB, w *world) (env, caches []string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go on this machine")
	}
	must(os.WriteFile(w.Project+"/go.mod", []byte("module example\n\ngo 1.24\n"), 0o644))
	must(os.WriteFile(w.Project+"/x_test.go", []byte("package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"+
		"func TestX(t *testing.T) {\n\tif err := os.WriteFile(\"out.txt\", []byte(\"x\"), 0o644); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"), 0o644))
	// The real cache, which is warm: this test was compiled with it.
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("go does not say where its cache is: %v", err)
	}
	dir := strings.TrimSpace(string(cache))
	return []string{"GOCACHE=" + dir, "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "HOME=" + w.Temp}, []string{dir}
}

func TestGoTestWithAWarmCache(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w := newWorld(t)
	env, caches := goProject(t, w)
	p := w.profile(Namespaces, Verify)
	p.Cache = caches
	before := look(w.Project)
	out, exit := run(t, p, env, "sh", "-ec", `go test -count=1 -x . 2>&1; echo x > "$GOCACHE/`+filepath.Base(w.Base)+`"`)
	if !exit.Ok() || !strings.Contains(out, "ok") {
		t.Fatalf("%v: %s", exit, out)
	}
	check.That(t, !strings.Contains(out, "-p runtime "), "the cache was cold: the runtime was compiled again")
	check.Equal(t, "result", before, look(w.Project))
	_, err := os.Stat(filepath.Join(caches[0], filepath.Base(w.Base)))
	check.That(t, err != nil, "the cache was really written")
}

// Caches are used, look writable, and stay what they were: folders, and files such as
// Cargo's locks, which lie in a folder that also has credentials.
func TestCachesAreWarmAndThrownAway(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Landlock, Namespaces} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			need(t, level)
			w := newWorld(t)
			folder, file := w.Base+"/cache", w.Base+"/.package-cache"
			must(os.MkdirAll(folder+"/deep", 0o755))
			must(os.WriteFile(folder+"/deep/warm", []byte("warm"), 0o644))
			must(os.WriteFile(file, []byte("warm"), 0o600))
			p := w.profile(level, Verify)
			p.Cache = []string{folder, file}
			r, err := DetectFor(p)
			check.OK(t, err)
			check.Equal(t, "level", level, r.Level)
			if level == Landlock {
				return // a verifier only reads there
			}
			before := look(folder, file)
			out, exit := run(t, p, nil, "sh", "-ec", `cd ../cache; cat deep/warm; echo new > deep/new; rm deep/warm; chmod 700 deep; cat deep/new
				cat "$0"; echo cold > "$0"; cat "$0"; stat -c %a "$0"`, file)
			check.That(t, exit.Ok() && out == "warmnew\nwarmcold\n600", "got %v %q, want what was there and what it wrote", exit, out)
			check.Equal(t, "caches", before, look(folder, file))
		})
	}
}

func TestNpmTest(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm on this machine")
	}
	need(t, Namespaces)
	w := newWorld(t)
	must(os.WriteFile(w.Project+"/package.json", []byte(`{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}`), 0o644))
	must(os.WriteFile(w.Project+"/x.test.js", []byte(`
const test = require('node:test'); const fs = require('fs');
test('writes', () => { fs.mkdirSync('coverage', {recursive: true}); fs.writeFileSync('coverage/out', 'x'); });
`), 0o644))
	must(os.Mkdir(w.Base+"/npm", 0o755))
	p := w.profile(Namespaces, Verify)
	p.Cache = []string{w.Base + "/npm"}
	before := look(w.Project, w.Base+"/npm")
	out, exit := run(t, p, []string{"HOME=" + w.Temp, "npm_config_cache=" + w.Base + "/npm", "NO_UPDATE_NOTIFIER=1"}, "npm", "test")
	check.That(t, exit.Ok() && strings.Contains(out, "pass 1"), "%v: %s", exit, out)
	check.Equal(t, "result", before, look(w.Project, w.Base+"/npm"))
}
