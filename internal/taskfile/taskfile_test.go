package taskfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
)

func TestParse(t *testing.T) {
	t.Parallel()
	two := 2
	full := dag.Spec{
		Line: 1, Ref: "a", Detail: dag.Detail{Title: "T", Description: "two\nlines", Priority: -3, Kind: dag.Check, Agent: "shell", Model: "opus", Effort: dag.HighEffort, Gates: []string{"x, y"}, MaxRetries: &two}, Parent: "g", After: []string{"b", "c"},
		Feature: "login",
		Status:  dag.Failed, Retries: 1, Verification: "failed",
	}
	for name, tc := range map[string]struct {
		format Format
		text   string
		want   []dag.Spec
	}{
		"a JSON line with every key": {Auto, `{"ref":"a","title":"T","description":"two\nlines","priority":-3,"parent":"g","after":["b","c"],"feature":"login",` +
			`"kind":"check","agent":"shell","model":"opus","effort":"high","gates":["x, y"],"max_retries":2,"status":"failed","retries":1,"verification":"failed"}`, []dag.Spec{full}},
		"the same as YAML": {
			Auto, "- {ref: a, title: T, description: \"two\\nlines\", priority: -3, parent: g, after: [b, c], feature: login, kind: check," +
				" agent: shell, model: opus, effort: high, gates: ['x, y'], max_retries: 2, status: failed, retries: 1, verification: failed}", []dag.Spec{full},
		},
		"null is absent":             {Auto, `{"title":"T","parent":null,"after":null,"effort":null,"max_retries":null}`, []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T"}}}},
		"null is absent in YAML":     {Auto, "- {title: T, parent: null, effort: null}", []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T"}}}},
		"blank lines count":          {JSONL, "\n\n{\"title\":\"T\"}\n\n", []dag.Spec{{Line: 3, Detail: dag.Detail{Title: "T"}}}},
		"Windows line ends":          {JSONL, "{\"title\":\"T\"}\r\n{\"title\":\"U\"}\r\n", []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T"}}, {Line: 2, Detail: dag.Detail{Title: "U"}}}},
		"a byte order mark":          {Auto, "\xef\xbb\xbf{\"title\":\"T\"}", []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T"}}}},
		"a JSON array is YAML":       {Auto, `[{"title":"T"}]`, []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T"}}}},
		"YAML lines are those of it": {YAML, "# plan\n\n- title: T\n\n- title: U\n", []dag.Spec{{Line: 3, Detail: dag.Detail{Title: "T"}}, {Line: 5, Detail: dag.Detail{Title: "U"}}}},
		"nothing at all":             {Auto, "", nil},
		"what it may change":         {Auto, `{"title":"T","may_change":["a","b/**"]}`, []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T", MayChange: []string{"a", "b/**"}}}}},
		"all that it may change":     {Auto, `{"title":"T","allow_tampering":true}`, []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T", MayChange: []string{"**"}}}}},
		"nothing that it may change": {Auto, "- {title: T, allow_tampering: false}", []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T"}}}},
		"the newer key counts":       {Auto, "- {title: T, allow_tampering: true, may_change: [a]}", []dag.Spec{{Line: 1, Detail: dag.Detail{Title: "T", MayChange: []string{"a"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tc.text), tc.format)
			check.OK(t, err)
			if len(got) == 0 {
				got = nil
			}
			check.Equal(t, "result", tc.want, got)
		})
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"an unknown key":              {"{\"title\":\"a\"}\n{\"titel\":\"b\"}", `line 2: unknown key "titel"`},
		"a wrong type":                {`{"title":"a","priority":"high"}`, "line 1: priority cannot be a text"},
		"no object":                   {"{\"title\":\"a\"}\n17", "line 2: a task is an object, not a number"},
		"half an object":              {`{"title":`, "line 1: not JSON: the object does not end on this line"},
		"two objects on a line":       {`{"title":"a"}{"title":"b"}`, "line 1: one object a line, and nothing after it"},
		"several faults":              {"{\n{\n{\"title\":\"ok\"}\n{", "line 1: not JSON: the object does not end on this line (and 2 more, line 2, 4)"},
		"YAML that nests by brackets": {"- title: a\n- title: " + strings.Repeat("[", 200_000), "line 2: not a task: nested more than 500 deep"},
		"YAML that nests by dashes":   {strings.Repeat("- ", 100_000) + "a", "line 1: not a task: nested more than 500 deep"},
		"YAML that is no list":        {"title: a", "line 1: a plan is a list of tasks, one object each"},
		"YAML with a wrong key":       {"- title: a\n- titel: b", `line 2: not a task: unknown field "titel"`},
		"YAML with a wrong type":      {"- title: a\n  priority: [1]", "line 2: "},
		"YAML that does not end":      {"- title: \"a", "line 1: "},
		"YAML with items of text":     {"- a\n- b", "line 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tc.text), Auto)
			var plan dag.PlanError
			if !errors.As(err, &plan) || !errors.Is(err, dag.ErrRefused) {
				t.Fatalf("got %v, want a PlanError", err)
			}
			if !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want %q", err, tc.want)
			}
		})
	}
}

// FuzzParse states that any text is either refused as a plan or comes back the
// same after it was written down again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"ref":"a","title":"T","after":["b"]}`))
	f.Add([]byte("- title: T\n  after: [a]\n- ref: a\n  title: U"))
	f.Add([]byte("- &a {title: T}\n- *a"))
	f.Add([]byte("[{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		specs, err := Parse(data, Auto)
		if err != nil {
			var plan dag.PlanError
			if !errors.As(err, &plan) {
				t.Fatalf("not a PlanError: %v", err)
			}
			return
		}
		items := make([]Item, len(specs))
		for i, s := range specs {
			items[i] = Item{After: s.After, Task: dag.Task{
				ID: s.Ref, Detail: dag.Detail{Title: s.Title, Description: s.Description, Priority: s.Priority, Kind: s.Kind, Agent: s.Agent, Model: s.Model, Effort: s.Effort, Gates: s.Gates, MaxRetries: s.MaxRetries}, Parent: s.Parent,
				Feature: s.Feature,
			}}
		}
		var first, second bytes.Buffer
		check.OK(t, Write(&first, items, false))
		again, err := Parse(first.Bytes(), JSONL)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first.Bytes())
		}
		for i, s := range again {
			items[i].Title, items[i].After = s.Title, s.After
		}
		if err := Write(&second, items, false); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written twice: %v\n%s\n%s", err, first.Bytes(), second.Bytes())
		}
	})
}

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
			ids, err := g.Plan.Import(plan.Specs)
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
