package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
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
	root := clone(t)
	m := maker{root: root, out: os.Getenv("RALPH_RELEASE"), version: "0.1.0"}
	if !filepath.IsAbs(m.out) { // else it is a release that was made before
		m.out = filepath.Join(t.TempDir(), "dist")
		ok(t, run(t.Context(), []string{"-root", root, "-out", m.out, "-version", m.version, "-home", home, "-snapshot", "all"}, os.Stderr))
	}
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
	t.Run("README", func(t *testing.T) {
		for _, line := range readme(t) {
			t.Run(line, func(t *testing.T) { tried(line)(t, root, m.out) })
		}
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
	t.Run("windows", func(t *testing.T) { windows(t, m.out) })
	t.Run("arm64", func(t *testing.T) {
		qemu := needs(t, "qemu-aarch64-static")
		program := filepath.Join(m.out, "linux", "arm64", "ralph")
		if text := does(t, root, nil, qemu, program, "version"); !strings.Contains(text, "linux/arm64") {
			t.Errorf("it says %s", text)
		}
		args := append([]string{"test", "-trimpath", "-count=1", "-exec", qemu}, pure...)
		t.Log(does(t, root, []string{"GOARCH=arm64", "CGO_ENABLED=0"}, "go", args...))
	})
}

// windows runs commands that start no other program in Wine, where its version has what Go needs.
func windows(t *testing.T, out string) {
	wine, dir := needs(t, "wine"), t.TempDir()
	env := []string{"WINEDEBUG=-all", "WINEPREFIX=" + cmp.Or(os.Getenv("WINEPREFIX"), filepath.Join(t.TempDir(), "wine"))}
	program := filepath.Join(out, "windows", "amd64", "ralph.exe")
	if text, _ := command(t, dir, env, wine, program, "version"); strings.Contains(text, "bcryptprimitives.dll not found") {
		t.Skip("SKIPPED: this Wine lacks bcryptprimitives.dll, which every Go program needs; Wine 9 has it")
	}
	for _, c := range []struct{ args, says string }{
		{"version", "windows/amd64"},
		{"init", "is now a ralph project"},
		{"task add hello", "t-"},
		{"task list", "hello"},
		{"doctor", "processes cannot be confined on windows"},
		{"doctor", "files are not locked"},
	} {
		if text := does(t, dir, env, wine, append([]string{program}, strings.Fields(c.args)...)...); !strings.Contains(text, c.says) {
			t.Errorf("%s said %s, without %q", c.args, text, c.says)
		}
	}
}

// pure are packages that need nothing of the operating system, so that an emulator of the processor is enough.
var pure = []string{"./event", "./sigils", "./strategy", "./forecast", "./risk", "./internal/glob", "./internal/cron", "./internal/plain", "./internal/human"}

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

// readme are the commands of the section Install of README.md.
func readme(t *testing.T) []string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "..", "README.md"), "\n## Install\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var list []string
	for i, block := range strings.Split(section, "```") {
		for line := range strings.Lines(strings.TrimPrefix(block, "sh\n")) {
			if line, _, _ = strings.Cut(line, "#"); i%2 == 1 && strings.TrimSpace(line) != "" {
				list = append(list, strings.TrimSpace(line))
			}
		}
	}
	return list
}

// TestEachLineOfTheReadmeIsTried by just release-check.
func TestEachLineOfTheReadmeIsTried(t *testing.T) {
	t.Parallel()
	list := readme(t)
	if len(list) < 5 {
		t.Fatalf("found %q: the test is blind", list)
	}
	for _, line := range list {
		if tried(line) == nil {
			t.Errorf("nothing tries: %s", line)
		}
	}
}

// tried is how a line of the README is tried as it stands, on a system that has the files of a release beside it; nil if it is not.
func tried(line string) func(t *testing.T, root, out string) {
	program, rest, _ := strings.Cut(line, " ")
	line = strings.ReplaceAll(line, "amd64", runtime.GOARCH)
	switch {
	case program == "curl":
		return func(t *testing.T, _, out string) {
			needs(t, "curl")
			home, server := t.TempDir(), site(t, out)
			line = strings.ReplaceAll(line, placeholder+"/releases", server)
			does(t, home, []string{"HOME=" + home, "RALPH_RELEASES=" + server, "RALPH_INSTALL_DIR="}, "sh", "-c", line)
			demo(t, filepath.Join(home, ".local/bin/ralph"))
		}
	case program == "npx":
		return func(t *testing.T, _, out string) {
			needs(t, "npx")
			dir := t.TempDir()
			env := []string{
				"npm_config_registry=" + registry(t, out), "npm_config_cache=" + t.TempDir(), "npm_config_update_notifier=false",
				"npm_config_yes=true", "HOME=" + dir, "npm_config_prefix=" + dir,
			}
			demoed(t, does(t, dir, env, "sh", "-c", line))
			does(t, dir, env, "npm", "install", "--global", npmName) // as the remark beside it says
			demo(t, filepath.Join(dir, "bin", "ralph"))
		}
	case program == "tar":
		return func(t *testing.T, _, out string) {
			dir := t.TempDir()
			does(t, dir, nil, "sh", "-c", "ln -s '"+out+"'/*.tar.gz . && "+line)
			demo(t, filepath.Join(dir, "ralph"))
		}
	case program == "sudo" && strings.HasPrefix(rest, "apt-get install ./"):
		return func(t *testing.T, _, out string) {
			in := debian(t)
			container := strings.TrimSpace(in("from", "--pull-never", "docker.io/library/debian:bookworm-slim"))
			in("copy", container, filepath.Join(out, strings.TrimPrefix(strings.Fields(line)[3], "./")), "/")
			in("run", container, "--", "apt-get", "update")
			in("run", container, "--", "sh", "-c", "cd / && "+strings.TrimPrefix(line, "sudo ")+" --yes")
			in("run", container, "--", "git", "--version")
			demoed(t, in("run", container, "--", "ralph", "demo"))
			in("run", container, "--", "apt-get", "remove", "--yes", "ralph")
			in("run", container, "--", "sh", "-c", "! test -e /usr/bin/ralph")
		}
	case strings.HasPrefix(line, "CGO_ENABLED=0 go build -o ralph "):
		return func(t *testing.T, root, _ string) {
			does(t, root, nil, "sh", "-c", line)
			demoed(t, does(t, t.TempDir(), nil, filepath.Join(root, "ralph"), "demo"))
		}
	}
	return nil
}

// debian returns buildah, in a store of its own, with a Debian that debootstrap makes: no registry of images is needed.
func debian(t *testing.T) func(args ...string) string {
	t.Helper()
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
	return in
}

// image builds the Dockerfile and runs the demo in it, as the image's own user and as one that it does not know.
func image(t *testing.T, root, out string) {
	in := debian(t)
	in("build", "--pull-never", "-f", filepath.Join(root, "Dockerfile"), "-t", "ralph", out)
	container := strings.TrimSpace(in("from", "--pull-never", "localhost/ralph"))
	for _, user := range []string{"ralph", "4242:4242"} {
		run := func(args ...string) string {
			return in(slices.Concat([]string{"run", "--user", user, container, "--"}, args)...)
		}
		if id := strings.TrimSpace(run("id", "-u")); id == "0" {
			t.Error("it runs as root")
		}
		run("git", "--version")
		demoed(t, run("ralph", "demo"))
	}
	if id := strings.TrimSpace(in("run", container, "--", "id", "-u")); id != "1000" {
		t.Errorf("it runs as %s unless told otherwise", id)
	}
}

// goreleased has goreleaser make the same release, and compares the two.
func goreleased(t *testing.T, root, out string) {
	goreleaser := needs(t, "goreleaser")
	does(t, root, nil, goreleaser, "check")
	does(t, root, []string{"RALPH_SNAPSHOT=0.1.0", "RALPH_HOME=" + home}, goreleaser, "release", "--snapshot", "--clean", "--skip=publish")
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
		switch their[name] {
		case "":
			t.Errorf("goreleaser makes no %s", name)
		case sum:
			same++
		default: // compressed otherwise, perhaps
			want(t, "what is in "+name, contents(t, filepath.Join(theirs, name)), contents(t, filepath.Join(out, name)))
		}
	}
	if len(ours) != len(their) {
		t.Errorf("%d files with a sum, and %d of goreleaser", len(ours), len(their))
	}
	t.Logf("%d of %d files have the same bytes, and all others the same contents", same, len(ours))
}

// contents are what an archive or a package has: names, modes and sums of files, and what a package says of itself.
func contents(t *testing.T, file string) string {
	t.Helper()
	text := read(t, file)
	var list []string
	add := func(name string, mode os.FileMode, r io.Reader) {
		data, err := io.ReadAll(r)
		ok(t, err)
		list = append(list, fmt.Sprintf("%s %v %x", path.Clean(name), mode, sha256.Sum256(data)))
	}
	switch kind := filepath.Ext(file); kind {
	case ".gz":
		zipped, err := gzip.NewReader(strings.NewReader(text))
		ok(t, err)
		r := tar.NewReader(zipped)
		for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
			ok(t, err)
			add(h.Name, h.FileInfo().Mode(), r)
		}
	case ".zip":
		r, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
		ok(t, err)
		for _, f := range r.File {
			data, err := f.Open()
			ok(t, err)
			add(f.Name, f.Mode(), data)
		}
	case ".deb":
		needs(t, "dpkg-deb")
		// goreleaser also says that amd64 is the first of its variants, which is what amd64 means.
		for _, script := range []string{`dpkg-deb --field "$0" | grep -v '^Architecture-Variant: amd64v1$'`, `dpkg-deb --contents "$0"`, `dpkg-deb --ctrl-tarfile "$0" | tar -xO ./md5sums`} {
			list = append(list, strings.Split(does(t, ".", nil, "sh", "-c", script, file), "\n")...)
		}
	case ".rpm":
		list = strings.Split(does(t, ".", nil, needs(t, "rpm"), "-qp", "--dump", "--requires", file), "\n")
	default:
		return text
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// TestContentsTellArchivesApart by a mode, a name or a byte, and by nothing else.
func TestContentsTellArchivesApart(t *testing.T) {
	t.Parallel()
	made := 0
	of := func(kind string, day int64, e entry) string {
		made++
		file := filepath.Join(t.TempDir(), fmt.Sprint(made)+kind)
		ok(t, pack(file, []entry{{name: "other"}, e}, time.Unix(day*86400, 0).UTC()))
		return contents(t, file)
	}
	for _, kind := range []string{".tar.gz", ".zip"} {
		one := of(kind, 20000, entry{name: "a", data: []byte("1")})
		want(t, kind+" of another day", of(kind, 20001, entry{name: "a", data: []byte("1")}), one)
		for _, e := range []entry{{name: "b", data: []byte("1")}, {name: "a", data: []byte("2")}, {name: "a", data: []byte("1"), program: true}} {
			if of(kind, 20000, e) == one {
				t.Errorf("%s: %v is not told apart", kind, e)
			}
		}
	}
}
