package modelagent

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ralph/internal/testing/check"
)

func TestRead(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	b := box(t, map[string]string{
		"a.txt": "one\r\ntwo\n\nlast", "empty": "", "bin": "ELF\x00\x01", "many": many.String(), "wide": strings.Repeat("é", 100_000) + "\nnext\n",
		"odd": "bad \xff, escape \x1b[1m, bell \a\n", "d/x.go": "", "d/e/y.go": "", "large": strings.Repeat("x\n", maxText/2+1),
	})
	tests := map[string]struct {
		args, want string
		failed     bool
	}{
		"lines are numbered":         {arguments("path", "a.txt"), "     1\tone\n     2\ttwo\n     3\t\n     4\tlast\n", false},
		"an absolute path":           {arguments("path", filepath.Join(b.dir, "a.txt"), "offset", 4), "     4\tlast\n", false},
		"an empty file":              {arguments("path", "empty"), "(the file is empty)", false},
		"behind the end":             {arguments("path", "a.txt", "offset", 9), "a.txt: there is no line 9, the file has 4", true},
		"a binary file":              {arguments("path", "bin"), "bin is a binary file of 5 bytes, which cannot be shown", true},
		"a folder":                   {arguments("path", "d"), "d: not a regular file: a folder", true},
		"a file that does not exist": {arguments("path", "nope"), "nope: no such file or directory", true},
		"a long line":                {arguments("path", "wide"), "     1\t" + strings.Repeat("é", maxLine/2) + "… (the line is cut here)\n     2\tnext\n", false},
		"odd bytes are seen":         {arguments("path", "odd"), "     1\tbad \ufffd, escape \u241b[1m, bell \u2407\n", false},
		"negative numbers":           {arguments("path", "d/../a.txt", "offset", -3, "limit", -1), "     1\tone\n     2\ttwo\n     3\t\n     4\tlast\n", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := call(t, b, "read", test.args)
			check.Equal(t, "the text", test.want, r.Text)
			check.Equal(t, "failed", test.failed, r.Failed)
		})
	}
	for tool, args := range map[string]string{
		"read": arguments("path", "large"), "edit": arguments("path", "large", "old", "x", "new", "y"), "grep": arguments("path", "large", "pattern", "x"),
	} {
		check.Equal(t, "a large file, "+tool, "large: it has more than 4 MiB; use bash", call(t, b, tool, args).Text)
	}
	r := call(t, b, "read", arguments("path", "many"))
	check.Contains(t, "the end of many lines", "(there are more lines: read on with offset ", r.Text)
	check.That(t, !strings.Contains(r.Text, "left out"), "there is a hole in %s", r.Text)
}

func TestFilesOutsideOfTheFolderAreOutOfReach(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"a.txt": "one\n"})
	outside := filepath.Join(t.TempDir(), "secret")
	check.OK(t, os.WriteFile(outside, []byte("secret"), 0o600))
	check.OK(t, os.Symlink(outside, filepath.Join(b.dir, "link")))
	check.OK(t, os.Symlink(filepath.Dir(outside), filepath.Join(b.dir, "folder")))
	for _, path := range []string{outside, "../" + filepath.Base(b.dir) + "x", "link", "folder/secret", "folder/new", "/etc/passwd", "a/../../x"} {
		want := path + " is outside of the project; only files in " + b.dir + " can be reached"
		check.Equal(t, "read", want, call(t, b, "read", arguments("path", path)).Text)
		check.Equal(t, "write", want, call(t, b, "write", arguments("path", path, "content", "x")).Text)
		check.Equal(t, "edit", want, call(t, b, "edit", arguments("path", path, "old", "secret", "new", "x")).Text)
	}
	data, err := os.ReadFile(outside)
	check.OK(t, err)
	check.Equal(t, "the file outside", "secret", string(data))
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	t.Parallel()
	b := box(t, nil)
	check.OK(t, exec.Command("mkfifo", filepath.Join(b.dir, "pipe")).Run())
	check.OK(t, os.Symlink("nowhere", filepath.Join(b.dir, "dangling")))
	check.OK(t, os.Symlink("loop", filepath.Join(b.dir, "loop")))
	for _, name := range []string{"pipe", "dangling", "loop"} {
		for tool, args := range map[string]string{
			"read": arguments("path", name), "write": arguments("path", name, "content", "x"), "edit": arguments("path", name, "old", "x", "new", "y"),
		} {
			r := call(t, b, tool, args)
			check.That(t, r.Failed, "%s of the %s does not fail", tool, name)
			check.Contains(t, tool, name+": not a regular file", r.Text)
		}
	}
}

func TestTheFolderMayBeNamedThroughALink(t *testing.T) {
	t.Parallel()
	real := box(t, map[string]string{"a.txt": "one\n"})
	link := filepath.Join(t.TempDir(), "link")
	check.OK(t, os.Symlink(real.dir, link))
	b, _ := openToolbox(t.Context(), link, nil, nil)
	defer b.close()
	for _, dir := range []string{real.dir, link} {
		check.Equal(t, "by "+dir, "     1\tone\n", call(t, b, "read", arguments("path", filepath.Join(dir, "a.txt"))).Text)
	}
	check.OK(t, os.Symlink(filepath.Join(link, "a.txt"), filepath.Join(link, "absolute")))
	check.Equal(t, "an absolute link inside", "     1\tone\n", call(t, b, "read", arguments("path", "absolute")).Text)
	check.That(t, !call(t, b, "write", arguments("path", "absolute", "content", "two\n")).Failed, "it is not written through a link")
	check.Equal(t, "through a link", "two\n", content(t, b, "a.txt"))
}

func TestWriteAndEdit(t *testing.T) {
	t.Parallel()
	const text = "package a\n\nfunc a() {\n\treturn\n}\n\nfunc b() {\n\treturn\n}\n"
	tests := map[string]struct{ file, tool, args, result, want string }{
		"a new file with folders": {"", "write", arguments("path", "x/y/a.go", "content", "one\ntwo"), "x/y/a.go was written and has 7 bytes", "one\ntwo"},
		"a file that is replaced": {text, "write", arguments("path", "x/y/a.go", "content", ""), "x/y/a.go was written and has 0 bytes", ""},
		"an edit": {
			text, "edit", arguments("path", "x/y/a.go", "old", "func b() {\n\treturn", "new", "func b() {\n\t// why\n\treturn"),
			"x/y/a.go was changed in 1 place, first at line 7", strings.Replace(text, "b() {", "b() {\n\t// why", 1),
		},
		"all": {text, "edit", arguments("path", "x/y/a.go", "old", "return", "new", "panic(1)", "all", "true"), "x/y/a.go was changed in 2 places, first at line 4", strings.ReplaceAll(text, "return", "panic(1)")},
		"a file with the other ends of lines": {
			"one\r\ntwo\r\nthree\r\n", "edit", arguments("path", "x/y/a.go", "old", "one\ntwo", "new", "1\n2\n2a"),
			"x/y/a.go was changed in 1 place, first at line 1", "1\r\n2\r\n2a\r\nthree\r\n",
		},
		"a file with both": {"one\r\ntwo\n", "edit", arguments("path", "x/y/a.go", "old", "two\n", "new", "2\n"), "x/y/a.go was changed in 1 place, first at line 2", "one\r\n2\n"},
		"twice":            {text, "edit", arguments("path", "x/y/a.go", "old", "\treturn\n", "new", ""), "old occurs 2 times in x/y/a.go, first at line 4; give more of the lines around it, or set all", text},
		"other white space": {
			text, "edit", arguments("path", "x/y/a.go", "old", "func b() {\n    return", "new", "x"),
			"old occurs in x/y/a.go only with other white space; read the file again, and copy tabs, blanks and line breaks exactly", text,
		},
		"nowhere":       {text, "edit", arguments("path", "x/y/a.go", "old", "func c", "new", "x"), "old does not occur in x/y/a.go; read the file again", text},
		"nothing to do": {text, "edit", arguments("path", "x/y/a.go", "old", "func b", "new", "func b"), "old and new are the same", text},
		"an empty old":  {text, "edit", arguments("path", "x/y/a.go", "old", "", "new", "x"), "old is empty; use write to write a whole file", text},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			if test.file != "" {
				files["x/y/a.go"] = test.file
			}
			b := box(t, files)
			r := call(t, b, test.tool, test.args)
			check.Equal(t, "the result", test.result, r.Text)
			check.Equal(t, "the file", test.want, content(t, b, "x/y/a.go"))
			check.Equal(t, "failed", test.want == text, r.Failed)
			left, err := filepath.Glob(filepath.Join(b.dir, "x/y/.*"))
			check.OK(t, err)
			check.Equal(t, "files left over", []string(nil), left)
		})
	}
	b := box(t, map[string]string{"run.sh": "true\n"})
	check.Equal(t, "a file that does not exist", "no.go does not exist; use write to make it", call(t, b, "edit", arguments("path", "no.go", "old", "a", "new", "b")).Text)
	check.OK(t, os.Chmod(filepath.Join(b.dir, "run.sh"), 0o751))
	call(t, b, "edit", arguments("path", "run.sh", "old", "true", "new", "false"))
	call(t, b, "write", arguments("path", "run.sh", "content", "false\nfalse\n"))
	info, err := os.Stat(filepath.Join(b.dir, "run.sh"))
	check.OK(t, err)
	check.Equal(t, "the mode", fs.FileMode(0o751), info.Mode())
	check.Contains(t, "a folder", "d: not a regular file", call(t, box(t, map[string]string{"d/a": ""}), "write", arguments("path", "d", "content", "")).Text)
}

func TestAResultKeepsTheBeginningAndTheEnd(t *testing.T) {
	t.Parallel()
	long := "begin" + strings.Repeat("é\n", 40_000) + "end"
	got := shorten(long, "", 0, maxResult)
	check.That(t, utf8.ValidString(got) && utf8.RuneCountInString(got) <= maxResult, "it has %d characters", utf8.RuneCountInString(got))
	check.That(t, strings.HasPrefix(got, "begin") && strings.HasSuffix(got, "end"), "an end is missing")
	check.Contains(t, "the middle", "\n[... 73 KiB left out ...]\n", got)
	check.Equal(t, "a short text", "short", shorten("sho", "rt", 0, maxResult))

	e := &ends{}
	for range 1 << 10 {
		n, err := e.Write([]byte(strings.Repeat("0123456789abcdef", 1<<10)))
		check.That(t, n == 16<<10 && err == nil, "%d bytes were written: %v", n, err)
	}
	check.That(t, cap(e.head)+cap(e.tail) < 8*keptBytes, "%d bytes are kept", cap(e.head)+cap(e.tail))
	check.Contains(t, "16 MiB", " MiB left out ...]\n", e.text(1000))
	check.That(t, len(e.text(1000)) <= 1000, "it has %d characters", len(e.text(1000)))
}
