package coverage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

func TestOnlyChangedLinesThatCanBeExecutedCount(t *testing.T) {
	t.Parallel()
	c := git.Change{Path: "a.py", Kind: git.Modified, Added: 4, Patch: "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n" +
		"@@ -1,3 +1,4 @@\n one\n-two\n+++two\n+\n three\n@@ -10 +11,2 @@ def f():\n-x\n+ten\n+eleven\n\\ No newline at end of file\n"}
	check.Equal(t, "added", "map[2:++two 3: 11:ten 12:eleven]", fmt.Sprint(Added(c.Patch)))
	p := Profile{"a.py": {1: false, 2: true, 11: false, 12: true, 13: false}, "b.py": {1: false}}
	r := Unexecuted([]git.Change{c, {Path: "tests/test_b.py", Kind: git.Added, Added: 1, Patch: "@@ -0,0 +1 @@\n+x\n"}}, p)
	check.Equal(t, "report", Report{[]string{"a.py:11: ten"}, 1, 3}, r)
	check.Equal(t, "words", "no gate executed 1 of 3 changed lines of code: a.py:11: ten", r.String())
}

func TestLessThanFourFifthsAreTooFew(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		missed, changed int
		want            bool
	}{{0, 0, false}, {0, 1, false}, {1, 1, true}, {1, 5, false}, {2, 5, true}, {20, 100, false}, {21, 100, true}} {
		check.Equal(t, fmt.Sprint(test), test.want, Report{nil, test.missed, test.changed}.TooFew())
	}
}

func TestWhichFilesAreMeasured(t *testing.T) {
	t.Parallel()
	var changes []git.Change
	for _, file := range []string{
		"a.go", "a_test.go", "b.PY", "c.ts", "c.test.ts", "d.d.ts", "vendor/x/e.go", "node_modules/f/f.js", "testdata/g.go", "h.rs", "i.tsx", "README.md",
	} {
		changes = append(changes, git.Change{Path: file, Kind: git.Added, Added: 1})
	}
	changes = append(changes, git.Change{Path: "gone.go", Kind: git.Deleted}, git.Change{Path: "only_less.go", Kind: git.Modified, Removed: 3})
	check.Equal(t, "files", "[a.go b.PY c.ts i.tsx]", fmt.Sprint(Measurable(changes)))
}

func TestFilesOfCoverageAreRead(t *testing.T) {
	t.Parallel()
	read := func(file string) ([]byte, error) {
		text, is := map[string]string{"go.mod": "module m\n", "a.go": "package m\n\nfunc F() {\n\tprintln(1)\n}\n"}[file]
		if !is {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	lcov := "TN:\nSF:/p/src/a.ts\nFN:1,f\nDA:1,2\nDA:2,0\nDA:x,1\nend_of_record\nSF:src/a.ts\nDA:2,0\nDA:3,1,hash\nend_of_record\nSF:other.ts\nDA:1,0\n"
	for name, test := range map[string]struct{ text, want string }{
		"lcov":            {lcov, "map[src/a.ts:map[1:true 2:false 3:true]]"},
		"go":              {"mode: set\nm/a.go:3.10,5.2 1 0\nm/other.go:1.1,2.2 1 1\n", "map[a.go:map[4:false]]"},
		"a cut line":      {"mode: set\nm/a.go:3.10,5.2 1 1\nm/a.go:3.10,m/a.go:3.1\nm/a.go:9999999999999999999.1,2.2 1 1\n", "map[a.go:map[4:true]]"},
		"nothing":         {"", "map[]"},
		"something else":  {"<xml/>", "map[]"},
		"lines of nobody": {"DA:1,0\n", "map[]"},
	} {
		check.Equal(t, name, test.want, fmt.Sprint(File(test.text, "/p", []string{"src/a.ts", "a.go"}, read)))
	}
}

// TestWhatGatesPutInPlaceOfTheirWordIsNotRead: neither links out of the folder, nor what would be waited for.
func TestWhatGatesPutInPlaceOfTheirWordIsNotRead(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	check.OK(t, os.WriteFile(secret, []byte("loaded\ta.py\t1\t1\n"), 0o600))
	dir := t.TempDir()
	if err := os.Symlink(secret, filepath.Join(dir, "python-1")); err != nil {
		t.Skip(err)
	}
	check.OK(t, os.Mkdir(filepath.Join(dir, "python-2"), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(dir, "python-3.part"), []byte("loaded\ta.py\t1\t1\n"), 0o600))
	check.OK(t, os.WriteFile(filepath.Join(dir, "python-4"), []byte("loaded\tb.py\t1,2,x\t1\nloaded\tshort\n\xff\n"), 0o600))
	p, _, lost, err := pythonSaid(dir)
	check.OK(t, err)
	check.Equal(t, "lost", false, lost)
	check.Equal(t, "profile", "map[b.py:map[1:true 2:false]]", fmt.Sprint(p))
	bad := `{"result":[{"url":"file:///p/a.js","functions":[{"ranges":[{"startOffset":0,"endOffset":9,"count":1}]}]}],` +
		`"source-map-cache":{"file:///p/a.js":{"lineLengths":[-5,14],"data":{"sources":["b.ts"],"mappings":"AAAA,FAAA;AAAAAAAAAAAAAA;!"}}}}`
	check.OK(t, os.WriteFile(filepath.Join(dir, "coverage-1.json"), []byte(bad), 0o600))
	check.OK(t, os.WriteFile(filepath.Join(dir, "coverage-2.json"), []byte("{"), 0o600))
	_, _, err = nodeSaid(dir, "/p", []string{"b.ts"}, func(string) ([]byte, error) { return []byte("x\n"), nil })
	check.OK(t, err)
}

func TestWhatV8CannotHaveWrittenIsNotRead(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), "/work"
	read := func(string) ([]byte, error) { return []byte("f()\n"), nil }
	deep := strings.Repeat(`{"startOffset":0,"endOffset":4,"count":1},`, 9)
	for name, text := range map[string]string{
		"negative": `{"result":[{"url":"file:///work/a.js","functions":[{"ranges":[{"startOffset":0,"endOffset":-5,"count":1}]}]}],` +
			`"source-map-cache":{"file:///work/a.js":{"lineLengths":[-5],"data":{"sources":["a.js"],"mappings":"AAAA"}}}}`,
		"short": `{"result":[{"url":"file:///work/a.js","functions":[{"ranges":[` + deep + `{"startOffset":9,"endOffset":2,"count":0}]}]}]}`,
	} {
		check.OK(t, os.WriteFile(filepath.Join(dir, "coverage-"+name+".json"), []byte(text), 0o600))
	}
	p, _, err := nodeSaid(dir, root, []string{"a.js"}, read)
	check.OK(t, err)
	check.Equal(t, "profile", "map[a.js:map[1:true]]", fmt.Sprint(p))

	endless := make([]v8Range, maxSteps>>20+1)
	for i := range endless {
		endless[i] = v8Range{0, 1 << 20, 1}
	}
	check.Equal(t, "more than a script has", true, ranIn(1<<20, endless) == nil)
}

func TestTheInnerBlockOfGoCounts(t *testing.T) {
	t.Parallel()
	l := Lines{}
	l.blocks([]byte("package a\nfunc f() {\n\tx()\n\tg(func() {\n\t\ty()\n\t})\n\tz()\n}\n"), map[block]bool{
		{at{2, 10}, at{7, 5}}: true, {at{4, 11}, at{6, 3}}: false, {at{5, 3}, at{5, 3}}: true,
	})
	check.Equal(t, "lines", "map[3:true 4:true 5:false 7:true]", fmt.Sprint(l))
	b := blocks{}
	for i := range maxBlocks + 10 {
		b.line(fmt.Sprintf("m/a.go:%d.1,%d.9 1 1", i, i), func(string) bool { return true })
	}
	check.Equal(t, "blocks", maxBlocks, len(b["m/a.go"]))
}
