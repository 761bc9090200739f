package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// committed is a project with one commit, and a folder that is not part of it.
func committed(t *testing.T) string {
	t.Helper()
	git, root := needs(t, "git"), t.TempDir()
	ok(t, os.WriteFile(filepath.Join(root, ".goreleaser.yaml"), []byte(read(t, "..", ".goreleaser.yaml")), 0o644))
	ok(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte("/mine/\n"), 0o644))
	ok(t, os.Mkdir(filepath.Join(root, "mine"), 0o755))
	ok(t, os.WriteFile(filepath.Join(root, "mine", "thesis.txt"), nil, 0o644))
	does(t, root, nil, git, "init", "-q")
	does(t, root, nil, git, "add", ".")
	does(t, root, nil, git, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false", "commit", "-q", "-m", "All")
	return root
}

// TestWhatIsNoReleaseIsRefused before anything is built or removed.
func TestWhatIsNoReleaseIsRefused(t *testing.T) {
	t.Parallel()
	where := []string{"-home", home}
	for name, c := range map[string]struct {
		args    []string
		changed bool
		says    string
	}{
		"nobody says where it is":   {[]string{"-version", "0.1.0"}, false, "Say -home https://"},
		"it is at a placeholder":    {[]string{"-version", "0.1.0", "-home", placeholder + "/"}, false, "Say -home https://"},
		"files are not committed":   {append(where, "-version", "0.1.0"), true, "commit them, or make a -snapshot\n?? new.txt"},
		"neither a version nor tag": {where, false, "has no tag such as v0.1.0"},
		"one number":                {append(where, "-version", "1"), false, `"1" is no version`},
		"two v":                     {append(where, "-version", "vv0.1.0"), false, `"v0.1.0" is no version`},
		"no such system":            {append(where, "-version", "0.1.0", "-only", "linux/bogus"), false, "-only linux/bogus is none of"},
		"a folder with other files": {append(where, "-version", "0.1.0", "-snapshot", "-out", "mine"), false, "mine has thesis.txt, which is no part of a release"},
		"the project itself":        {append(where, "-version", "v0.1.0-rc.1", "-snapshot", "-out", "."), true, " has .git, which is no part of a release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := committed(t)
			if c.changed {
				ok(t, os.WriteFile(filepath.Join(root, "new.txt"), nil, 0o644))
			}
			err := run(t.Context(), append([]string{"-root", root}, append(c.args, "all")...), io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it said %v, want %q", err, c.says)
			}
			if _, err := os.Stat(filepath.Join(root, "mine", "thesis.txt")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPackagesAreNotLeftOut because a program is missing.
func TestPackagesAreNotLeftOut(t *testing.T) {
	t.Setenv("PATH", tools(t, "git"))
	m := fakeRelease(t, "#!/bin/sh\n")
	m.root = committed(t)
	if err := m.all(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "nfpm, which makes deb and rpm, is not on PATH") {
		t.Errorf("it said %v", err)
	}
}

// TestAReleaseIsReplaced by the next, whatever a stopped one left.
func TestAReleaseIsReplaced(t *testing.T) {
	t.Parallel()
	m := fakeRelease(t, "#!/bin/sh\n")
	ok(t, os.MkdirAll(filepath.Join(m.out, "linux", "amd64"), 0o755))
	ok(t, m.clear())
	left, err := os.ReadDir(m.out)
	ok(t, err)
	if len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestNothingNamesThePlaceholder once somebody publishes a release.
func TestNothingNamesThePlaceholder(t *testing.T) {
	t.Parallel()
	m := fakeRelease(t, "#!/bin/sh\n")
	text := map[string]string{"install.sh": read(t, m.out, "install.sh"), "ralph.rb": read(t, m.out, "ralph.rb")}
	for _, name := range []string{"package.json", "README.md"} {
		data, err := unpack(filepath.Join(m.out, npmName+"-9.8.7.tgz"), "package/"+name)
		ok(t, err)
		text[name] = string(data)
	}
	for name, text := range text {
		if strings.Contains(text, "OWNER") || !strings.Contains(text, home) {
			t.Errorf("%s does not name %s", name, home)
		}
	}
}
