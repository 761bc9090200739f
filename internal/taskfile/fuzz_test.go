package taskfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// FuzzRead states that any text, read as any format, is refused in one line, or
// is a plan that a graph takes or refuses as a whole, and that says of each task
// where it stands.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/plans/*[a-z]")
	check.OK(f, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		check.OK(f, err)
		for i := range Formats() {
			f.Add(data, uint8(i))
		}
		f.Add(data, uint8(len(Formats())))
	}
	f.Add([]byte("- [ ] a\n\t- [x] b\n  ```\n\n---\n"), uint8(2))
	f.Add([]byte(`{"id":"a","dependencies":[{"depends_on_id":"b","type":"parent-child"}]}{"id":"b","dependencies":[{"depends_on_id":"a","type":"parent-child"}]}`), uint8(4))
	f.Add([]byte(`[{"number":1,"title":"T","body":"depends on #1, #2"},{"number":2,"title":"U","body":"blocked by #1"}]`), uint8(5))
	d, err := db.Open(f.Context(), filepath.Join(f.TempDir(), "graph.db"), db.Options{})
	check.OK(f, err)
	f.Cleanup(func() { _ = d.Close() })
	store := dag.New(d, dag.Options{})
	undo := errors.New("undo")
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		format := Auto
		if i := int(which) % (len(Formats()) + 1); i < len(Formats()) {
			format = Formats()[i]
		}
		plan, err := Read(data, format)
		if err != nil {
			if !errors.Is(err, dag.ErrRefused) || strings.Contains(err.Error(), "\n") || plan.Specs != nil {
				t.Fatalf("refused with %d tasks: %q", len(plan.Specs), err)
			}
			return
		}
		lines := strings.Count(string(data), "\n") + 1
		for _, s := range plan.Specs {
			if s.Line < 1 || s.Line > lines {
				t.Fatalf("a task on line %d of %d", s.Line, lines)
			}
		}
		err = store.Update(t.Context(), func(g *dag.Graph) error {
			ids, err := g.Import(plan.Specs)
			if err == nil && len(ids) == len(plan.Specs) {
				return undo
			}
			return err
		})
		var faults dag.PlanError
		if !errors.Is(err, undo) && !errors.As(err, &faults) {
			t.Fatalf("neither imported nor refused: %v", err)
		}
	})
}
