package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// site serves a release as the place that install.sh fetches from does.
func site(t *testing.T, dir string) string {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	mux := http.NewServeMux()
	mux.Handle("/releases/latest/download/", http.StripPrefix("/releases/latest/download/", files))
	mux.Handle("/releases/download/v9.8.7/", http.StripPrefix("/releases/download/v9.8.7/", files))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/releases"
}

// tools is a PATH with these programs only.
func tools(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(names, "sh", "uname", "mkdir", "mktemp", "rm", "grep", "tar", "gzip", "cp", "chmod", "mv") {
		ok(t, os.Symlink(needs(t, name), filepath.Join(dir, name)))
	}
	return dir
}

func TestInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: install.sh is for Linux and macOS")
	}
	const program = "#!/bin/sh\necho \"ralph v9.8.7 $1\"\n"
	here := "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	type place struct{ out, dir string }
	for name, c := range map[string]struct {
		with    []string // programs; nil means everything that is on PATH
		change  func(t *testing.T, p *place)
		env     []string
		says    string
		refuses bool
		last    bool // it says nothing after that
	}{
		"the newest":  {says: "installed ralph v9.8.7 version in "},
		"with curl":   {with: []string{"curl", "sha256sum"}, says: "installed ralph v9.8.7"},
		"with wget":   {with: []string{"wget", "sha256sum"}, says: "installed ralph v9.8.7"},
		"with shasum": {with: []string{"curl", "shasum", "perl"}, says: "installed ralph v9.8.7"},
		"a version":   {env: []string{"RALPH_VERSION=9.8.7"}, says: "installed ralph v9.8.7"},
		"a tag":       {env: []string{"RALPH_VERSION=v9.8.7"}, says: "installed ralph v9.8.7"},
		"a version that there is not": {
			env: []string{"RALPH_VERSION=1.2.3"}, refuses: true,
			says: "checksums.txt\nhint: is there a network, and such a version?",
		},
		"neither curl nor wget": {with: []string{"sha256sum"}, refuses: true, says: "there is neither curl nor wget\nhint: install one of them"},
		"nothing that checks":   {with: []string{"curl"}, refuses: true, says: "nothing here computes SHA-256\nhint: install sha256sum (coreutils) or shasum (Perl)\n", last: true},
		"tampered with": {refuses: true, says: "is not what its release says: its SHA-256 is ", change: func(t *testing.T, p *place) {
			file := filepath.Join(p.out, "ralph_9.8.7"+here)
			ok(t, os.WriteFile(file, []byte(read(t, file)+"x"), 0o644))
		}},
		"an archive that the sums do not name": {refuses: true, says: "this release has no archive for ", change: func(t *testing.T, p *place) {
			file := filepath.Join(p.out, "checksums.txt")
			ok(t, os.WriteFile(file, []byte(strings.ReplaceAll(read(t, file), runtime.GOARCH, "other")), 0o644))
		}},
		"a folder that cannot be made": {refuses: true, says: "cannot create ", change: func(t *testing.T, p *place) {
			file := filepath.Join(p.dir, "file")
			ok(t, os.MkdirAll(p.dir, 0o755))
			ok(t, os.WriteFile(file, nil, 0o644))
			p.dir = filepath.Join(file, "bin")
		}},
		"a folder that cannot be written": {refuses: true, says: "cannot write to /proc/self\nhint: choose another folder", change: func(t *testing.T, p *place) {
			if runtime.GOOS != "linux" {
				t.Skip("SKIPPED: it takes a folder that nobody can write, which Linux has")
			}
			p.dir = "/proc/self"
		}},
		"a folder in the place of the program": {refuses: true, says: "/ralph is a folder\nhint: move it away", change: func(t *testing.T, p *place) {
			ok(t, os.MkdirAll(filepath.Join(p.dir, "ralph"), 0o755))
		}},
		"no temporary folder":       {env: []string{"TMPDIR=/nonexistent"}, refuses: true, says: "cannot create a temporary folder in /nonexistent\nhint: choose another"},
		"neither HOME nor a folder": {env: []string{"HOME=", "RALPH_INSTALL_DIR="}, refuses: true, says: "HOME is not set, so there is no ~/.local/bin\nhint: say where"},
		"a folder that is on PATH":  {env: []string{"RALPH_INSTALL_DIR=$dir/", "PATH=$dir:" + os.Getenv("PATH")}, says: "next: ralph demo"},
		"a relative folder":         {env: []string{"RALPH_INSTALL_DIR=bin"}, says: "next: put /"},
		"over one that is there": {says: "installed ralph v9.8.7", change: func(t *testing.T, p *place) {
			ok(t, os.MkdirAll(p.dir, 0o755))
			ok(t, os.WriteFile(filepath.Join(p.dir, "ralph"), []byte("#!/bin/sh\necho old\n"), 0o755))
		}},
		"a program that does not run here": {refuses: true, says: "does not run here", change: func(t *testing.T, p *place) {
			p.out = fakeRelease(t, "#!/bin/sh\nexit 1\n").out
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			p := &place{out: fakeRelease(t, program).out, dir: filepath.Join(work, "bin")}
			script := filepath.Join(p.out, "install.sh")
			if c.change != nil {
				c.change(t, p)
			}
			env := []string{"RALPH_RELEASES=" + site(t, p.out), "RALPH_INSTALL_DIR=" + p.dir, "TMPDIR=" + t.TempDir()}
			for _, e := range c.env {
				env = append(env, strings.ReplaceAll(e, "$dir", p.dir))
			}
			if c.with != nil {
				env = append(env, "PATH="+tools(t, c.with...))
			} else if _, err := exec.LookPath("curl"); err != nil {
				needs(t, "wget")
			}
			text, status := command(t, work, env, needs(t, "sh"), script)
			if (status != 0) != c.refuses || !strings.Contains(text, c.says) || c.last && !strings.HasSuffix(text, c.says) {
				t.Errorf("status %d, %s; want %q", status, text, c.says)
			}
			if p.dir == "/proc/self" {
				return
			}
			left, _ := filepath.Glob(filepath.Join(p.dir, "*"))
			hidden, _ := filepath.Glob(filepath.Join(p.dir, ".ralph*"))
			text, _ = command(t, work, nil, "sh", "-c", "bin/ralph version")
			if installed := len(left) == 1 && text == "ralph v9.8.7 version\n"; installed == c.refuses || len(hidden) > 0 {
				t.Errorf("the folder has %v %v, and its program says %s", left, hidden, text)
			}
		})
	}
}

// TestTheInstallerFetchesFromItsHome, when nobody says otherwise.
func TestTheInstallerFetchesFromItsHome(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: install.sh is for Linux and macOS")
	}
	out, dir := t.TempDir(), t.TempDir()
	fakeReleaseIn(t, out, strings.TrimSuffix(site(t, out), "/releases"), "#!/bin/sh\necho \"ralph v9.8.7 $1\"\n")
	if _, err := exec.LookPath("curl"); err != nil {
		needs(t, "wget")
	}
	if text := does(t, dir, []string{"RALPH_INSTALL_DIR=" + dir}, needs(t, "sh"), filepath.Join(out, "install.sh")); !strings.HasPrefix(text, "installed ralph v9.8.7 version in ") {
		t.Errorf("it says %s", text)
	}
}

// TestTheTestsAreNotThoseOfWhoeverRunsThem: what a person or CI has set for ralph changes nothing.
func TestTheTestsAreNotThoseOfWhoeverRunsThem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: install.sh is for Linux and macOS")
	}
	t.Setenv("RALPH_VERSION", "0.0.1")
	t.Setenv("http_proxy", "http://127.0.0.1:9")
	t.Setenv("no_proxy", "")
	out, dir := fakeRelease(t, "#!/bin/sh\n").out, t.TempDir()
	for _, program := range []string{"curl", "wget"} {
		t.Run(program, func(t *testing.T) {
			env := []string{"PATH=" + tools(t, program, "sha256sum"), "RALPH_RELEASES=" + site(t, out), "RALPH_INSTALL_DIR=" + dir}
			does(t, dir, env, needs(t, "sh"), filepath.Join(out, "install.sh"))
		})
	}
}

// TestAnInterruptedInstallationLeavesNothing, whichever shell runs it. What fetches sends the signal, so it comes in the middle.
func TestAnInterruptedInstallationLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: install.sh is for Linux and macOS")
	}
	// A shell cannot trap a signal that it began with ignored, as under nohup. What we catch it does not inherit.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(caught) })
	for _, shell := range []string{"sh", "dash", "bash"} {
		for name, code := range map[string]int{"HUP": 129, "INT": 130, "TERM": 143} {
			t.Run(shell+" "+name, func(t *testing.T) {
				t.Parallel()
				path, temp, dir := tools(t, "sha256sum"), t.TempDir(), t.TempDir()
				ok(t, os.WriteFile(filepath.Join(path, "curl"), []byte("#!/bin/sh\nkill -"+name+" $PPID\n"), 0o755))
				text, status := command(t, dir, []string{"PATH=" + path, "TMPDIR=" + temp, "RALPH_INSTALL_DIR=" + dir}, needs(t, shell), installer(t))
				if status != code {
					t.Errorf("status %d, want %d: %s", status, code, text)
				}
				for _, place := range []string{temp, dir} {
					left, err := os.ReadDir(place)
					ok(t, err)
					if len(left) > 0 {
						t.Errorf("it left %v", left)
					}
				}
			})
		}
	}
}

// TestAnInstallationOfAnUnknownSystem is refused before anything is fetched.
func TestAnInstallationOfAnUnknownSystem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ system, machine, says string }{
		"a system":    {"Plan9", "x86_64", "there is no archive of this kind for Plan9\nhint: on Windows take the .zip"},
		"a processor": {"Linux", "riscv64", "there is no archive for riscv64\nhint: build ralph with Go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ok(t, os.WriteFile(filepath.Join(dir, "uname"), []byte("#!/bin/sh\n[ \"$1\" = -s ] && echo "+c.system+" || echo "+c.machine+"\n"), 0o755))
			env := []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), "RALPH_RELEASES=http://localhost:1", "RALPH_INSTALL_DIR=" + dir + "/bin"}
			text, status := command(t, dir, env, needs(t, "sh"), installer(t))
			if status != 1 || !strings.Contains(text, c.says) {
				t.Errorf("status %d, %s; want %q", status, text, c.says)
			}
		})
	}
}

// TestHalfAnInstallerDoesNothing, because a network can fail in the middle of curl | sh.
func TestHalfAnInstallerDoesNothing(t *testing.T) {
	t.Parallel()
	text := read(t, "..", "install.sh")
	dir := t.TempDir()
	half := filepath.Join(dir, "half.sh")
	for _, length := range []int{len(text) / 2, len(text) - len("main \"$@\"\n")} {
		ok(t, os.WriteFile(half, []byte(text[:length]), 0o644))
		command(t, dir, []string{"RALPH_INSTALL_DIR=" + dir + "/bin"}, needs(t, "sh"), half)
		if _, err := os.Stat(filepath.Join(dir, "bin")); err == nil {
			t.Errorf("its first %d bytes made the folder", length)
		}
	}
}

func installer(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../install.sh")
	ok(t, err)
	return path
}
