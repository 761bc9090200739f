package main

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestTheWholeRelease makes everything, installs each file in a fresh folder or root, and runs the demo there. It takes minutes, so
// just release-check says when.
func TestTheWholeRelease(t *testing.T) {
	if os.Getenv("RALPH_RELEASE") == "" {
		t.Skip("SKIPPED: just release-check installs what a release is made of")
	}
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: packages and images are installed on Linux")
	}
	var log bytes.Buffer
	root := clone(t)
	m := maker{root: root, out: filepath.Join(t.TempDir(), "dist"), version: "0.1.0"}
	err := run(t.Context(), []string{"-root", root, "-out", m.out, "-version", m.version, "all"}, io.MultiWriter(&log, os.Stderr))
	ok(t, err)
	file := func(kind string) string {
		path := filepath.Join(m.out, "ralph_0.1.0_linux_"+runtime.GOARCH+kind)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("SKIPPED: there is no %s", filepath.Base(path))
		}
		return path
	}
	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		does(t, dir, nil, "tar", "-xzf", file(".tar.gz"))
		demo(t, filepath.Join(dir, "ralph"))
		does(t, dir, nil, needs(t, "bash"), "-c", ". completions/ralph.bash && complete -p ralph")
	})
	t.Run("deb", func(t *testing.T) {
		dpkg, dir := needs(t, "dpkg"), t.TempDir()
		ok(t, os.MkdirAll(filepath.Join(dir, "var/lib/dpkg/updates"), 0o755))
		ok(t, os.MkdirAll(filepath.Join(dir, "var/lib/dpkg/info"), 0o755))
		ok(t, os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), nil, 0o644))
		// git is not in this root: what it depends on is seen below.
		does(t, dir, nil, dpkg, "--root="+dir, "--force-depends", "--log=/dev/null", "-i", file(".deb"))
		want(t, "depends", does(t, dir, nil, "dpkg-deb", "--field", file(".deb"), "Depends"), "git\n")
		packaged(t, dir, "usr/share/zsh/vendor-completions/_ralph")
		does(t, dir, nil, dpkg, "--root="+dir, "--log=/dev/null", "-r", "ralph")
		gone(t, dir)
	})
	t.Run("rpm", func(t *testing.T) {
		rpm, dir := needs(t, "rpm"), t.TempDir()
		does(t, dir, nil, rpm, "--root", dir, "--initdb")
		does(t, dir, nil, rpm, "--root", dir, "--nodeps", "-i", file(".rpm"))
		if text := does(t, dir, nil, rpm, "-qpR", file(".rpm")); !strings.Contains(text, "git\n") {
			t.Errorf("it depends on %s", text)
		}
		packaged(t, dir, "usr/share/zsh/site-functions/_ralph")
		does(t, dir, nil, rpm, "--root", dir, "-e", "ralph")
		gone(t, dir)
	})
	t.Run("install.sh", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "bin")
		mux := http.NewServeMux()
		mux.Handle("/releases/latest/download/", http.StripPrefix("/releases/latest/download/", http.FileServer(http.Dir(m.out))))
		server := httptest.NewServer(mux)
		defer server.Close()
		does(t, m.out, []string{"RALPH_RELEASES=" + server.URL + "/releases", "RALPH_INSTALL_DIR=" + dir}, "sh", "install.sh")
		demo(t, filepath.Join(dir, "ralph"))
	})
	t.Run("npx", func(t *testing.T) {
		npx, dir := needs(t, "npx"), t.TempDir()
		env := []string{"npm_config_registry=" + registry(t, m.out), "npm_config_cache=" + t.TempDir(), "npm_config_update_notifier=false", "HOME=" + t.TempDir()}
		demoed(t, does(t, dir, env, npx, "--yes", npmName, "demo"))
		does(t, dir, env, "npm", "install", "--prefix", dir, "--global", npmName)
		demo(t, filepath.Join(dir, "bin", "ralph"))
	})
	t.Run("formula", func(t *testing.T) {
		ruby, dir := needs(t, "ruby"), t.TempDir()
		stand, err := filepath.Abs("testdata/brew.rb")
		ok(t, err)
		does(t, dir, nil, ruby, stand, filepath.Join(m.out, "ralph.rb"), m.out, dir, runtime.GOARCH)
		demo(t, filepath.Join(dir, "bin", "ralph"))
	})
	t.Run("image", func(t *testing.T) { image(t, root, m.out) })
	t.Run("goreleaser", func(t *testing.T) { goreleased(t, root, m.out) })
	t.Run("arm64", func(t *testing.T) {
		qemu := needs(t, "qemu-aarch64-static")
		program := filepath.Join(m.out, "linux", "arm64", "ralph")
		if text := does(t, root, nil, qemu, program, "version"); !strings.Contains(text, "linux/arm64") {
			t.Errorf("it says %s", text)
		}
		args := append([]string{"test", "-count=1", "-exec", qemu}, pure...)
		t.Log(does(t, root, []string{"GOARCH=arm64", "CGO_ENABLED=0"}, "go", args...))
	})
}

// pure are packages that need nothing of the operating system but files, so that an emulator of the processor is enough.
var pure = []string{"./event", "./sigils", "./strategy", "./forecast", "./risk", "./internal/db", "./dag", "./internal/glob", "./internal/cron", "./internal/plain", "./internal/human"}

// demo runs the demo in a folder of its own and expects its end.
func demo(t *testing.T, program string) {
	t.Helper()
	if text := does(t, t.TempDir(), nil, program, "version"); !strings.Contains(text, "v0.1.0") {
		t.Errorf("it says %s", text)
	}
	demoed(t, does(t, t.TempDir(), nil, program, "demo"))
}

func demoed(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "complete: 8 done, 0 failed, 0 remaining") {
		t.Errorf("the demo said\n%s", text)
	}
}

// packaged looks at what a package installed below a root.
func packaged(t *testing.T, root string, more ...string) {
	t.Helper()
	for _, name := range append(more, "usr/share/man/man1/ralph.1.gz", "usr/share/bash-completion/completions/ralph", "usr/share/fish/vendor_completions.d/ralph.fish") {
		if read(t, root, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	demo(t, filepath.Join(root, "usr/bin/ralph"))
}

// gone expects that a package left no file.
func gone(t *testing.T, root string) {
	t.Helper()
	ok(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(path, filepath.Join(root, "usr")) && !strings.Contains(path, "/rpm/") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

// registry serves the packages of a release to npm.
func registry(t *testing.T, dir string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	files, err := filepath.Glob(filepath.Join(dir, npmName+"*.tgz"))
	ok(t, err)
	for _, file := range files {
		data, err := unpack(file, "package/package.json")
		ok(t, err)
		var p map[string]any
		ok(t, json.Unmarshal(data, &p))
		archive := []byte(read(t, file))
		whole := sha512.Sum512(archive)
		p["dist"] = map[string]any{
			"tarball": server.URL + "/-/" + filepath.Base(file), "shasum": fmt.Sprintf("%x", sha1.Sum(archive)),
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(whole[:]),
		}
		version := p["version"].(string)
		answer, err := json.Marshal(map[string]any{"name": p["name"], "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: p}})
		ok(t, err)
		mux.HandleFunc("/"+p["name"].(string), func(w http.ResponseWriter, _ *http.Request) { w.Write(answer) })
		mux.HandleFunc("/-/"+filepath.Base(file), func(w http.ResponseWriter, _ *http.Request) { w.Write(archive) })
	}
	return server.URL
}

// image builds the Dockerfile with buildah, in a store of its own, on a Debian that debootstrap makes: no registry of images is needed.
func image(t *testing.T, root, out string) {
	buildah, debootstrap := needs(t, "buildah"), needs(t, "debootstrap")
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: debootstrap needs root")
	}
	store, base := t.TempDir(), t.TempDir()
	does(t, base, nil, debootstrap, "--variant=minbase", "bookworm", filepath.Join(base, "root"))
	ok(t, os.WriteFile(filepath.Join(base, "Dockerfile"), []byte("FROM scratch\nADD root /\n"), 0o644))
	in := func(args ...string) string {
		global := []string{"--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run"), "--storage-driver", "vfs"}
		return does(t, base, []string{"BUILDAH_ISOLATION=chroot"}, buildah, append(global, args...)...)
	}
	in("build", "-t", "docker.io/library/debian:bookworm-slim", base)
	in("build", "--pull-never", "-f", filepath.Join(root, "Dockerfile"), "-t", "ralph", "--build-arg", "TARGETPLATFORM=linux/"+runtime.GOARCH, out)
	container := strings.TrimSpace(in("from", "--pull-never", "localhost/ralph"))
	defer in("rm", container)
	for _, user := range []string{"", "4242:4242"} {
		run := func(args ...string) string {
			if user != "" {
				return in(slices.Concat([]string{"run", "--user", user, container, "--"}, args)...)
			}
			return in(slices.Concat([]string{"run", container, "--"}, args)...)
		}
		if id := strings.TrimSpace(run("id", "-u")); id == "0" {
			t.Error("it runs as root")
		}
		run("git", "--version")
		demoed(t, run("ralph", "demo"))
	}
}

// goreleased has goreleaser make the same release, and compares the two.
func goreleased(t *testing.T, root, out string) {
	goreleaser := needs(t, "goreleaser")
	does(t, root, nil, goreleaser, "check")
	does(t, root, []string{"RALPH_VERSION=0.1.0"}, goreleaser, "release", "--snapshot", "--clean", "--skip=publish")
	theirs := filepath.Join(root, "dist")
	m := maker{out: out}
	m.config.Checksum.Name = "checksums.txt"
	ours, err := m.sums()
	ok(t, err)
	m.out = theirs
	their, err := m.sums()
	ok(t, err)
	same := 0
	for name, sum := range ours {
		switch {
		case their[name] == "":
			t.Errorf("goreleaser makes no %s", name)
		case their[name] == sum:
			same++
		case strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".zip"):
			program := "ralph"
			if strings.HasSuffix(name, ".zip") {
				program += ".exe"
			}
			one, err := unpack(filepath.Join(out, name), program)
			ok(t, err)
			two, err := unpack(filepath.Join(theirs, name), program)
			ok(t, err)
			if !bytes.Equal(one, two) {
				t.Errorf("%s has another program", name)
			}
		}
	}
	if len(ours) != len(their) {
		t.Errorf("%d files with a sum, and %d of goreleaser", len(ours), len(their))
	}
	t.Logf("%d of %d files have the same bytes, and all archives the same program", same, len(ours))
}
