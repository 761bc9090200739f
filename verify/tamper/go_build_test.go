package tamper

import (
	"bytes"
	"go/build"
	"io"
	"runtime"
	"testing"
)

// TestGoBuildsAsTheGoCommandDoes compares with the package that it is made after.
func TestGoBuildsAsTheGoCommandDoes(t *testing.T) {
	t.Parallel()
	names := []string{
		"a_test.go", "a_linux_test.go", "a_windows_test.go", "a_amd64_test.go", "a_linux_arm64_test.go", "a_linux_amd64_test.go",
		"linux_test.go", "a_unix_test.go", "a_b_windows_c_test.go", "_a_test.go", ".a_test.go", "windows.go", "a_plan9.go", "a_js_wasm_test.go",
	}
	texts := []string{
		"package a\n", "//go:build ignore\n\npackage a\n", "//go:build linux || windows\n\npackage a\n", "// Copyright\n\n//go:build !linux\n\npackage a\n",
		"//go:build unix && go1.18\n\npackage a\n", "//go:build go1.999\n\npackage a\n", "//go:build e2e\n\npackage a\n", "package a\n\n//go:build ignore\n",
		"//go:build cgo && gc\n\npackage a\n", "\n\n//go:build amd64 || arm64\npackage a\n",
	}
	for _, name := range names {
		for _, text := range texts {
			ctx := build.Context{
				GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Compiler: "gc", CgoEnabled: true, ReleaseTags: build.Default.ReleaseTags,
				OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte(text))), nil },
			}
			want, err := ctx.MatchFile("", name)
			if err != nil {
				t.Fatal(err)
			}
			if got := goBuilds(name, text); got != want {
				t.Errorf("%s with %q: got %v, want %v", name, text, got, want)
			}
		}
	}
}
