//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

func TestDetectFindsALevelAndSaysWhyNotABetterOne(t *testing.T) {
	t.Parallel()
	r := Detect(Namespaces)
	want := int(Namespaces - r.Level)
	check.That(t, len(r.Reasons) == want, "level %s: got reasons %q, want %d", r.Level, r.Reasons, want)
	for _, level := range []Level{None, Landlock, Namespaces} {
		check.That(t, len(level.Gaps()) != 0, "%s does not say what it covers", level)
	}
	t.Logf("%s here", r.Level)
}

// What work needs still works at every level.
func TestWorkWorks(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{None, Landlock, Namespaces} {
		t.Run(level.String(), func(t *testing.T) {
			need(t, level)
			w := newWorld(t)
			p := w.profile(level, Work)
			p.State = []string{w.Base + "/state/new", w.Base + "/file.json"}
			p.Write = []string{w.Base + "/extra", w.Base + "/missing"}
			must(os.Mkdir(w.Base+"/extra", 0o755))
			for name, script := range map[string]string{
				"project":    `echo x > new && mkdir -p a/b && mv new a/b/new && ln a/b/new a/link && rm -r a && chmod 600 file`,
				"git":        `echo x > .git/index && mkdir -p .git/objects/aa && echo x > .git/objects/aa/bb`,
				"temp":       `echo x > "$TMPDIR/x" && test "$TMPDIR" = ` + w.Temp,
				"state":      `echo x > ../state/new/x`,
				"extra":      `echo x > ../extra/x`,
				"devices":    `echo x > /dev/null && head -c 1 /dev/urandom > /dev/null && test -r /dev/zero`,
				"read":       `cat ../outside/file /etc/passwd > /dev/null && ls / > /dev/null`,
				"own proc":   `test "$(cat /proc/self/comm)" = cat`,
				"signals":    `sleep 100 & kill $! && ! wait $!`,
				"own socket": `test ! -e sock`,
			} {
				if level == None && name == "temp" {
					continue // the caller's business
				}
				if level == None {
					must(os.MkdirAll(w.Base+"/state/new", 0o755))
				}
				out, exit := run(t, p, nil, "sh", "-ec", script)
				check.That(t, exit.Ok(), "%s: %v: %s", name, exit, out)
			}
		})
	}
}

// Hard-coded paths in /tmp work, and are private.
func TestTmpIsPrivate(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w := newWorld(t)
	f, err := os.CreateTemp("/tmp", "sandbox-test")
	check.OK(t, err)
	defer os.Remove(f.Name())
	f.WriteString("there")
	f.Close()
	out, exit := run(t, w.profile(Namespaces, Work), nil, "sh", "-ec", "cat "+f.Name()+"; echo new > "+f.Name()+".new; echo x > /dev/shm/x")
	check.That(t, exit.Ok() && out == "there", "got %v %q, want the file readable and the folder writable", exit, out)
	_, err = os.Stat(f.Name())
	check.That(t, err == nil, "the file outside: %v", err)
	_, err = os.Stat(f.Name() + ".new")
	check.That(t, err != nil, "a file came out")
}

func TestRealGitWorksInside(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	for _, level := range []Level{Landlock, Namespaces} {
		t.Run(level.String(), func(t *testing.T) {
			need(t, level)
			w := newWorld(t)
			must(os.RemoveAll(w.Project + "/.git"))
			if out, err := exec.Command("git", "-C", w.Project, "init", "-q").CombinedOutput(); err != nil {
				t.Fatal(string(out))
			}
			out, exit := run(t, w.profile(level, Work), []string{"HOME=" + w.Temp}, "sh", "-ec",
				"git add file && git -c user.name=x -c user.email=x@y commit -qm message && git status --short && git log --oneline")
			check.That(t, exit.Ok() && strings.Contains(out, "message"), "%v: %s", exit, out)
			if level == Namespaces {
				if out, exit := run(t, w.profile(level, Work), nil, "git", "config", "core.hooksPath", "x"); exit.Ok() {
					t.Errorf("git config could be changed: %s", out)
				}
			}
		})
	}
}

func TestConfinementRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, change := range map[string]func(*Profile){
		"no such project": func(p *Profile) { p.Project = w.Base + "/nothing" },
		"no such temp":    func(p *Profile) { p.Temp = w.Base + "/nothing" },
		"relative":        func(p *Profile) { p.Write = []string{"x"} },
		"no mode":         func(p *Profile) { p.Mode = "" },
	} {
		p := w.profile(Landlock, Work)
		change(&p)
		_, err := p.Encode()
		check.That(t, err != nil, "%s: no error", name)
	}
	data, err := w.profile(None, Work).Encode()
	check.That(t, data == nil && err == nil, "none: got %s, %v, want nothing", data, err)
	_, err = proc.Start(proc.Spec{Argv: []string{"true"}, Env: os.Environ(), Confine: []byte("nonsense")})
	check.That(t, err != nil, "nonsense was taken for a confinement")
}
