package suite_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/verify/suite"
)

func readMap(files map[string]string) suite.Read {
	return func(path string) ([]byte, error) {
		if text, there := files[path]; there {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
}

// TestHollow: what the work adds is there and does nothing, what was there does what it did, and all of it compiles.
func TestHollow(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"a.go": `package a

import "strings"

type Point struct{ X int }

var _ = strings.ToUpper

const Limit = 1

func Old(s string) string { return strings.TrimSpace(s) + helper() }

func helper() string { return "old" }

func Wider(a int) int { return a }

func (p Point) Sum() int { return p.X }

func init() { println("base") }
`,
		"moved.go": "package a\n\nfunc Moves() int { return 7 }\n",
		"gone.go":  "package a\n\nimport \"os\"\n\nfunc Gone() string { return os.TempDir() }\n",
	}
	after := map[string]string{
		"a.go": `//go:build !never

package a

import (
	"errors"
	"fmt"
	"os"
	text "strings"
)

type Point struct{ X, Y int }

const Limit = 2

var ErrNew = errors.New("new")

func Old(in string) string { return text.TrimSpace(in) + added(1) }

func Wider(a, b int) int { return a + b }

func (p Point) Sum() int { return p.X + p.Y }

func (p *Point) Scale(by int) (x int, err error) { p.X *= by; return p.X, ErrNew }

func added(string int) string { return fmt.Sprint(string, os.Args) }

func Moves() int { return 8 }

func Map[K comparable, V any](m map[K]V, f func(V) V) map[K]V { return m }

func two() (int, error) { return 1, nil }

func init() { println("work") }
`,
		"new.go":      "package a\n\nimport \"fmt\"\n\ntype List[T any] struct{ all []T }\n\nfunc (l *List[T]) Add(x T) { l.all = append(l.all, x); fmt.Println(x) }\n\nfunc (l *List[T]) Len() int { return len(l.all) }\n",
		"a_test.go":   "package a\n",
		"cmd/main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(greet()) }\n\nfunc greet() string { return \"hi\" }\n",
	}
	files := []string{"a.go", "a_test.go", "moved.go", "gone.go", "new.go", "cmd/main.go", "notes.txt", "neither.go"}
	edits, err := suite.Hollow(files, readMap(before), readMap(after))
	check.OK(t, err)
	dir, all := t.TempDir(), ""
	for _, e := range edits {
		path := filepath.Join(dir, e.Path)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, e.Content, 0o600))
		all += string(e.Content)
	}
	for _, has := range []string{
		"//go:build !never", `return strings.TrimSpace(s) + helper()`, `func helper() string { return "old" }`, "func Wider(a, b int) (_ int) { return }", "struct{ X, Y int }", "Limit = 2",
		"func (p Point) Sum() int { return p.X }", "func Moves() int { return 7 }", "os.TempDir()", `println("base")`, "func main() { return }", "(_ int, _ error) { return }",
	} {
		check.Equal(t, has, 1, strings.Count(all, has))
	}
	for _, lacks := range []string{"a + b", "p.Y", "return 8", "append(", `println("work")`, "Limit = 1", "fmt.Sprint"} {
		check.Equal(t, lacks, 0, strings.Count(all, lacks))
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	check.OK(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module a\n\ngo 1.22\n"), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "./...")
	build.Dir = dir
	build.Env = slices.Concat(os.Environ(), []string{"GOFLAGS=", "GOWORK=off"})
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%s\n%s", err, out, all)
	}
}

func TestHollowIsNotGuessed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"cgo": "package a\n\nimport \"C\"\n", "not Go": "package {"} {
		_, err := suite.Hollow([]string{"a.go"}, readMap(nil), readMap(map[string]string{"a.go": text}))
		check.Equal(t, name, true, err != nil)
	}
	_, err := suite.Hollow([]string{"a.py", "a_test.go"}, readMap(nil), readMap(map[string]string{"a.py": "x"}))
	check.Equal(t, "another language", true, err != nil)
}
