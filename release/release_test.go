package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// want fails the test unless both are the same.
func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// needs finds a program, or skips the test and says so.
func needs(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: there is no %s here", name)
	}
	return path
}

// environment is that of the tests without what people set for ralph and for npm, and with no proxy between tests and this machine.
func environment() []string {
	list := slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "RALPH_") || strings.HasPrefix(strings.ToLower(e), "npm_")
	})
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		list = append(list, name+"="+strings.TrimPrefix(os.Getenv(name)+",127.0.0.1", ","))
	}
	return list
}

// command runs a program in a folder and returns what it says and its status.
func command(t *testing.T, dir string, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(environment(), env...)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// does runs a program that must succeed.
func does(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	text, status := command(t, dir, env, name, args...)
	if status != 0 {
		t.Fatalf("%s %s: status %d\n%s", name, strings.Join(args, " "), status, text)
	}
	return text
}

// clone copies what is committed of this project.
func clone(t *testing.T) string {
	t.Helper()
	needs(t, "git")
	dir := filepath.Join(t.TempDir(), "ralph")
	if _, status := command(t, "..", nil, "git", "rev-parse", "HEAD"); status != 0 {
		t.Skip("SKIPPED: this is no clone of the project, so nothing says what is committed")
	}
	does(t, "..", nil, "git", "clone", "-q", "--no-hardlinks", ".", dir)
	return dir
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	ok(t, err)
	return string(text)
}

// TestARunOfTheSameCommitGivesTheSameFiles makes the release for this system from two copies of the project, in two folders.
func TestARunOfTheSameCommitGivesTheSameFiles(t *testing.T) {
	t.Parallel()
	here := runtime.GOOS + "/" + runtime.GOARCH
	var sums []string
	var last, out string
	for range 2 {
		last, out = clone(t), filepath.Join(t.TempDir(), "dist")
		ok(t, run(t.Context(), []string{"-root", last, "-out", out, "-version", "9.8.7", "-home", home, "-snapshot", "-only", here, "all"}, io.Discard))
		all := read(t, out, "checksums.txt")
		for _, name := range []string{"install.sh", "ralph-runner-9.8.7.tgz", npmHere() + "-9.8.7.tgz"} {
			all += read(t, out, name)
		}
		sums = append(sums, all)
	}
	if sums[0] != sums[1] {
		t.Errorf("the same commit gave %s and then %s", sums[0], sums[1])
	}
	t.Run("the version is that of the release", func(t *testing.T) {
		var v struct{ Version, Revision, Build string }
		program := filepath.Join(out, here, "ralph")
		ok(t, json.Unmarshal([]byte(does(t, last, nil, program, "version", "--json")), &v))
		want(t, "version", v.Version, "v9.8.7")
		want(t, "revision", v.Revision, strings.TrimSpace(does(t, last, nil, "git", "rev-parse", "HEAD")))
		want(t, "build", v.Build, "v9.8.7 "+v.Revision[:12])
	})
	t.Run("the archive has what .goreleaser.yaml lists", func(t *testing.T) {
		file := filepath.Join(out, "ralph_9.8.7_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
		for _, name := range []string{"ralph", "LICENSE", "README.md", "CHANGELOG.md", "completions/ralph.bash", "completions/_ralph", "completions/ralph.fish", "man/ralph.1"} {
			data, err := unpack(file, name)
			ok(t, err)
			if len(data) == 0 {
				t.Errorf("%s is empty", name)
			}
			if strings.Contains(string(data), "OWNER") && name != "ralph" || name == "README.md" && !strings.Contains(string(data), home) {
				t.Errorf("%s does not name %s", name, home)
			}
		}
	})
	t.Run("the list of modules has those of go.mod", func(t *testing.T) {
		var bom struct {
			BomFormat  string
			Metadata   struct{ Component component }
			Components []component
		}
		ok(t, json.Unmarshal([]byte(read(t, out, "ralph_9.8.7_"+runtime.GOOS+"_"+runtime.GOARCH+".cdx.json")), &bom))
		want(t, "format", bom.BomFormat, "CycloneDX")
		want(t, "version", bom.Metadata.Component.Version, "v9.8.7")
		for _, name := range []string{"std", "zombiezen.com/go/sqlite", "modernc.org/sqlite"} {
			if !slices.ContainsFunc(bom.Components, func(c component) bool { return c.Name == name && c.Version != "" }) {
				t.Errorf("%s is not listed", name)
			}
		}
	})
}

// TestPackingTwiceGivesTheSameBytes, at other times and with files that have other times.
func TestPackingTwiceGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	when := time.Unix(1_700_000_000, 0).UTC()
	entries := []entry{{name: "a/b", data: []byte("text")}, {name: "ralph", program: true, data: []byte("program")}}
	for _, kind := range []string{"x.tar.gz", "x.zip", "x.tgz"} {
		one, two := filepath.Join(t.TempDir(), kind), filepath.Join(t.TempDir(), kind)
		ok(t, pack(one, entries, when))
		ok(t, pack(two, entries, when))
		want(t, kind, read(t, one), read(t, two))
		data, err := unpack(one, "ralph")
		ok(t, err)
		want(t, kind, string(data), "program")
		if _, err := unpack(one, "other"); err == nil {
			t.Errorf("%s has a file that nobody put there", kind)
		}
	}
}

// home is where the releases of tests say that they are.
const home = "https://example.org/ralph"

// npmHere is the package with the binary of this system.
func npmHere() string {
	return npmName + "-" + nodeOS[runtime.GOOS] + "-" + nodeArch[runtime.GOARCH]
}

// fakeRelease is a release whose program is a shell script, for every system.
func fakeRelease(t *testing.T, program string) *maker {
	t.Helper()
	return fakeReleaseIn(t, t.TempDir(), home, program)
}

func fakeReleaseIn(t *testing.T, out, home, program string) *maker {
	t.Helper()
	root, err := filepath.Abs("..")
	ok(t, err)
	m := &maker{root: root, out: out, home: home, version: "9.8.7", say: func(string, ...any) {}}
	m.config, err = readConfig(filepath.Join(root, ".goreleaser.yaml"))
	ok(t, err)
	f := facts{version: "9.8.7", when: time.Unix(1_700_000_000, 0).UTC()}
	var made []string
	for _, target := range m.targets() {
		name, err := f.names(target).fill(m.config.Archive[0].Name)
		ok(t, err)
		name += "." + m.config.Archive[0].format(target.os)
		binary := "ralph"
		if target.os == "windows" {
			binary += ".exe"
		}
		ok(t, pack(filepath.Join(m.out, name), []entry{{name: binary, program: true, data: []byte(program)}}, f.when))
		made = append(made, name)
	}
	ok(t, m.checksums(made))
	ok(t, m.rest(f))
	return m
}

// TestTheFormulaNamesEachArchive of macOS and Linux with its sum, and ruby can read it.
func TestTheFormulaNamesEachArchive(t *testing.T) {
	t.Parallel()
	m := fakeRelease(t, "#!/bin/sh\n")
	text := read(t, m.out, "ralph.rb")
	sums, err := m.sums()
	ok(t, err)
	for name, sum := range sums {
		named := strings.Contains(text, "/releases/download/v9.8.7/"+name+"\"\n      sha256 \""+sum+"\"")
		if named == strings.HasSuffix(name, ".zip") {
			t.Errorf("%s is named with its sum: %v", name, named)
		}
	}
	t.Run("ruby -c", func(t *testing.T) {
		want(t, "ruby -c", does(t, m.out, nil, needs(t, "ruby"), "-c", "ralph.rb"), "Syntax OK\n")
	})
}

// TestTheLauncherEndsAsTheProgramEnds starts what the npm packages contain.
func TestTheLauncherEndsAsTheProgramEnds(t *testing.T) {
	t.Parallel()
	node := needs(t, "node")
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the program of this test is a shell script")
	}
	m := fakeRelease(t, "#!/bin/sh\necho \"ralph $*\"\ncase $1 in\nkill) kill -TERM $$ ;;\ndemo) ;;\nwait) trap 'exit 42' \"$2\"; echo ready; while :; do sleep 0.1; done ;;\n*) exit \"$1\" ;;\nesac\n")
	modules := filepath.Join(t.TempDir(), "node_modules")
	add := func(name string) string {
		dir := filepath.Join(modules, name)
		ok(t, os.MkdirAll(dir, 0o755))
		does(t, dir, nil, "tar", "-xzf", filepath.Join(m.out, name+"-9.8.7.tgz"), "--strip-components=1")
		return dir
	}
	start := filepath.Join(add(npmName), "bin", "ralph.js")
	text, status := command(t, modules, nil, node, start, "0")
	if status != 1 || !strings.Contains(text, "is not installed.\nhint: ") {
		t.Errorf("without the package of this system: status %d, %s", status, text)
	}
	add(npmHere())
	for argument, code := range map[string]int{"0": 0, "4": 4, "kill": 143} {
		text, status := command(t, modules, nil, node, start, argument, "--json")
		want(t, "what it says", text, "ralph "+argument+" --json\n")
		if status != code {
			t.Errorf("status %d, want %d", status, code)
		}
	}
	t.Run("npx demo says how to keep it", func(t *testing.T) {
		want(t, "by its name", does(t, modules, nil, node, start, "demo"), "ralph demo\n")
		if text := does(t, modules, []string{"npm_command=exec"}, node, start, "demo"); !strings.HasSuffix(text, "npm install --global ralph-runner)\n") {
			t.Errorf("by npx: %s", text)
		}
	})
	for name, signal := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT} {
		t.Run("passes on "+name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, start, "wait", name)
			cmd.Env = environment()
			out, err := cmd.StdoutPipe()
			ok(t, err)
			ok(t, cmd.Start())
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "ready" {
			}
			ok(t, cmd.Process.Signal(signal))
			_ = cmd.Wait() // its status says it
			if code := cmd.ProcessState.ExitCode(); code != 42 {
				t.Errorf("status %d, want that of the program", code)
			}
		})
	}
}

// TestTheImageHasGitAndIsNotRoot reads what docker would be told; just release-check builds it.
func TestTheImageHasGitAndIsNotRoot(t *testing.T) {
	t.Parallel()
	user := ""
	lines := strings.Split(read(t, "..", "Dockerfile"), "\n")
	for _, line := range lines {
		if name, found := strings.CutPrefix(line, "USER "); found {
			user = name
		}
	}
	if user == "" || user == "root" || user == "0" {
		t.Errorf("the image runs as %q", user)
	}
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.Contains(l, "install") && slices.Contains(strings.Fields(l), "git")
	}) {
		t.Error("the image does not install git")
	}
	if !slices.Contains(lines, "ARG TARGETPLATFORM") {
		t.Error("the image does not take the platform that the builder names: a default wins over it")
	}
}
