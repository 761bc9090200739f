package tamper

import (
	"go/build"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
)

var (
	goFunc   = lazyregexp.New(`(?m)^func\s+(?:\([^)\n]*\)\s*)?(\w+)\s*(?:\[[^\]\n]*\]\s*)?\(`)
	goHandle = lazyregexp.New(`(\w+)\s+\*?testing\.(?:T|F|TB)\b`)
	goSkip   = lazyregexp.New(`(\w+|\bT\(\))\.(Skip|Skipf|SkipNow)\(`)
	goReturn = lazyregexp.New(`^[^{]*\{\s*return\b`)
	goLeave  = lazyregexp.New(`(?m)(?:^\t|\A[^{]*\{\s*)os\.Exit\(0\)`)
	// A word, with the call of an assertion before it, or with what a test does with its own handle.
	goWord = lazyregexp.New(`(\b(?:assert|require)\.\w+\()?\b(\w+)\b` +
		`(\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Log|Logf|Helper|Parallel|Cleanup|TempDir|Setenv)\(|\s+\*testing\.T\b)?`)
	goTest = lazyregexp.New(`^(?:Test|Fuzz|Example)(?:[^a-z]|$)`)
)

func (s *suite) parseGo(text, code string) {
	handles := map[string]bool{"T()": true}
	for _, m := range goHandle().FindAllStringSubmatch(code, -1) {
		handles[m[1]] = true
	}
	excluded := !goBuilds(s.file, text)
	found := goFunc().FindAllStringSubmatchIndex(code, -1)
	for i, m := range found {
		end := len(code)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if brace := strings.Index(code[m[0]:end], "\n}"); brace >= 0 {
			end = m[0] + brace
		}
		body, name := code[m[1]:end], code[m[2]:m[3]]
		if name == "TestMain" && !strings.Contains(body, ".Run(") {
			s.silencers = append(s.silencers, "a TestMain that runs no tests")
		} else if (name == "TestMain" || name == "init") && goLeave().MatchString(body) {
			s.silencers = append(s.silencers, "os.Exit(0) in "+name)
		}
		t := test{name: name, body: body, helper: name == "TestMain" || !goTest().MatchString(name)}
		for _, m := range goSkip().FindAllStringSubmatch(body, -1) {
			if handles[m[1]] {
				t.skips = append(t.skips, "t."+m[2])
			}
		}
		if !t.helper && goReturn().MatchString(body) {
			t.skips = append(t.skips, "it returns at once")
		}
		if excluded && !t.helper {
			t.skips = append(t.skips, "left out of the build")
		}
		if method := strings.Contains(code[m[0]:m[2]], "("); !method && strings.HasPrefix(name, "Test") && goAlone(body, handles) {
			t.twin = text[m[3]:end]
		}
		if !t.helper || len(t.skips) > 0 || strings.Contains(body, "testing.") { // a helper that is given a test may skip it
			s.tests = append(s.tests, t)
		}
	}
}

// goAlone reports whether what a test does cannot depend on its name: it gives its
// handle to nobody, who could look a case or a file up by that name, but to assertions. One
// that does nothing says nothing.
func goAlone(body string, handles map[string]bool) bool {
	_, code, _ := strings.Cut(body, "{")
	given := func(m []string) bool { return handles[m[2]] && m[1] == "" && m[3] == "" }
	return strings.TrimSpace(code) != "" && !slices.ContainsFunc(goWord().FindAllStringSubmatch(body, -1), given)
}

// goBuilds reports whether the go command builds a file here without any tags. It takes a
// file that it cannot read for one that is built.
func goBuilds(file, text string) bool {
	ctx := build.Context{
		GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Compiler: "gc", CgoEnabled: true, ReleaseTags: build.Default.ReleaseTags,
		OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}
	match, err := ctx.MatchFile(path.Split(file))
	return match || err != nil
}
