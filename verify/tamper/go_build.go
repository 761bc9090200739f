package tamper

import (
	"go/build"
	"io"
	"runtime"
	"strings"
)

// goBuilds reports whether the go command builds a file here without any tags. It takes a
// file that it cannot read for one that is built.
func goBuilds(file, text string) bool {
	ctx := build.Context{
		GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Compiler: "gc", CgoEnabled: true, ReleaseTags: build.Default.ReleaseTags,
		OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}
	dir, name := "", file
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		dir, name = file[:i], file[i+1:]
	}
	match, err := ctx.MatchFile(dir, name)
	return match || err != nil
}
