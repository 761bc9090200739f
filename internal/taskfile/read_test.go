package taskfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// TestPlansOfOtherPrograms reads each file of testdata/plans without being told
// its format and compares all that came of it.
func TestPlansOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]Format{
		"checklist.md": Markdown, "prd.json": PRD, "prd-list.json": PRD, "issues.jsonl": Beads, "gh-issues.json": GitHub,
		"taskmaster.json": TaskMaster, "taskmaster-old.json": TaskMaster, "speckit.md": SpecKit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "plans", name)
			data, err := os.ReadFile(path)
			check.OK(t, err)
			plan, err := Read(data, Auto)
			check.OK(t, err)
			if plan.Format != format {
				t.Errorf("read as %s, want %s", plan.Format, format)
			}
			golden.Check(t, path+".want", told(plan))
			again, err := Read(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), format)
			check.OK(t, err)
			if diff := cmp.Diff(told(plan), told(again)); diff != "" {
				t.Errorf("with the line ends of Windows (-without +with):\n%s", diff)
			}
			marked, err := Read(append([]byte("\xef\xbb\xbf"), data...), Auto)
			if err != nil || told(marked) != told(plan) {
				t.Errorf("with a byte order mark: %v\n%s", err, told(marked))
			}
		})
	}
}

// told writes a plan down for reading.
func told(p Plan) string {
	var b strings.Builder
	for _, s := range p.Specs {
		fmt.Fprintf(&b, "%s (line %d, priority %d)", s.Ref, s.Line, s.Priority)
		if s.Status != "" {
			fmt.Fprintf(&b, " is %s", s.Status)
		}
		fmt.Fprintf(&b, ", from %s", s.Origin)
		for _, other := range s.Related {
			fmt.Fprintf(&b, ", related to %s", other)
		}
		for _, tag := range s.Tags {
			fmt.Fprintf(&b, ", tagged %s", tag)
		}
		if s.Parent != "" {
			fmt.Fprintf(&b, ", part of %s", s.Parent)
		}
		if len(s.After) > 0 {
			fmt.Fprintf(&b, ", after %s", strings.Join(s.After, " and "))
		}
		fmt.Fprintf(&b, "\n  %s\n", s.Title)
		for line := range strings.Lines(s.Description) {
			b.WriteString(strings.TrimRight("  | "+strings.TrimRight(line, "\n"), " ") + "\n")
		}
	}
	for _, u := range p.Unmapped {
		fmt.Fprintf(&b, "unmapped: %s, %d times, line %v\n", u.What, u.Count, u.Lines)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want Format
		or   []Format // ambiguous, if there are any
	}{
		"nothing at all":                          {"", JSONL, nil},
		"our lines":                               {`{"ref":"a","title":"T"}`, JSONL, nil},
		"our lines without a ref":                 {`{"title":"T","priority":1,"description":"x","status":"done"}`, JSONL, nil},
		"our lines with a wrong key":              {`{"titel":"T"}`, JSONL, nil},
		"half an object":                          {`{"title":`, JSONL, nil},
		"our objects as a list":                   {`[{"title":"T"}]`, YAML, nil},
		"our YAML":                                {"# plan\n- title: T\n  after: [a]\n", YAML, nil},
		"our YAML in braces":                      {"- {title: T}\n", YAML, nil},
		"our YAML with a checklist in a text":     {"- title: T\n  description: |\n    - [ ] a\n    - [ ] b\n", YAML, nil},
		"a YAML object":                           {"hello: world", YAML, nil},
		"prose":                                   {"Hello.\n\nThis is no plan.\n", YAML, nil},
		"a checklist":                             {"- [ ] a\n- [x] b\n", Markdown, nil},
		"a checklist below prose":                 {"[link](x)\n\n# Plan\n\n1. [ ] a\n", Markdown, nil},
		"an indented checklist":                   {"Plan\n  * [ ] a\n", Markdown, nil},
		"a checklist with a plain item with dots": {"- note: this\n- [ ] a\n", Markdown, nil},
		"stories":                                 {`{"branchName":"x","userStories":[]}`, PRD, nil},
		"a list of stories":                       {`[{"description":"x","passes":false}]`, PRD, nil},
		"beads":                                   {`{"id":"bd-1","title":"T","status":"open","priority":2,"issue_type":"task"}`, Beads, nil},
		"beads in short":                          {`{"id":"bd-1","title":"T","status":"open"}`, Beads, nil},
		"a list of beads":                         {`[{"id":"bd-1","title":"T","status":"open","issue_type":"task"}]`, Beads, nil},
		"issues":                                  {`[{"number":1,"title":"T"}]`, GitHub, nil},
		"issues, one a line":                      {"{\"number\":1,\"title\":\"T\"}\n{\"number\":2,\"title\":\"U\"}", GitHub, nil},
		"issues without numbers":                  {`[{"title":"T","body":"x"}]`, GitHub, nil},
		"issues of the REST interface":            {`[{"id":7,"number":1,"title":"T","body":"","created_at":"","state":"open"}]`, GitHub, nil},

		"an ID that could be anybody's":      {`{"id":"a","title":"T"}`, "", []Format{JSONL, Beads}},
		"a list with IDs":                    {`[{"id":"a","title":"T"}]`, "", []Format{Beads, PRD}},
		"keys of two formats":                {`[{"number":1,"passes":false}]`, "", []Format{PRD, GitHub}},
		"our keys among those of another":    {`{"ref":"a","id":"b","issue_type":"task"}`, "", []Format{JSONL, Beads}},
		"a checklist beside a list of tasks": {"- title: T\n- [ ] a\n", "", []Format{YAML, Markdown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Detect([]byte(tc.text))
			var ambiguous *AmbiguousError
			if errors.As(err, &ambiguous) {
				if diff := cmp.Diff(tc.or, ambiguous.Formats); diff != "" || !errors.Is(err, dag.ErrRefused) {
					t.Errorf("ambiguous (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil || got != tc.want || tc.or != nil {
				t.Errorf("got %q, %v, want %q or %v", got, err, tc.want, tc.or)
			}
		})
	}
}

func TestReadErrorsSayWhere(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format     Format
		text, want string
	}{
		"binary data":                       {Auto, "- [ ] a\n\x00\x01", "line 2: not text: there is a NUL byte"},
		"another encoding":                  {Auto, "- [ ] a\n- [ ] caf\xe9\n", "line 2: not text: this is not UTF-8"},
		"UTF-16":                            {Auto, "\xff\xfe[\x00", "line 1: UTF-16; save the file as UTF-8"},
		"YAML beyond its limit":             {YAML, strings.Repeat("#\n", bounded.Text/2+1), "refused: larger than 8 MiB; write it as JSON lines"},
		"a checklist beyond its limit":      {Markdown, strings.Repeat("x\n", bounded.Text/2+1), "refused: larger than 8 MiB"},
		"too many tasks in a checklist":     {Markdown, strings.Repeat("- [ ] a\n", maxTasks+1), "refused: line 250001: more than 250000 tasks; import them in several files"},
		"too many tasks of ours":            {JSONL, strings.Repeat("{\"title\":\"a\"}\n", maxTasks+1), "refused: line 250001: more than 250000 tasks; import them in several files"},
		"too many issues":                   {GitHub, strings.Repeat("{}\n", maxTasks+1), "refused: line 250001: more than 250000 tasks; import them in several files"},
		"a checklist that nests too deep":   {Markdown, nestedList(101), "line 101: nested more than 100 deep"},
		"code that does not end":            {Markdown, "- [ ] a\n\n```\n- [ ] b\n", "line 3: the code block that begins here does not end"},
		"a comment that does not end":       {Markdown, "<!--\n- [ ] b\n", "line 1: the comment that begins here does not end"},
		"issues called stories":             {PRD, `[{"number":1,"title":"T"}]`, "line 1: no passes: this is not a story of a prd.json"},
		"an object that is no prd.json":     {PRD, "\n{\"title\":\"T\"}", "line 2: no userStories: this is not a prd.json"},
		"stories that are no list":          {PRD, `{"userStories":{}}`, "line 1: userStories is an object, not a list"},
		"a story that is no object":         {PRD, "{\"userStories\":[\n{\"title\":\"a\"},\n7]}", "line 3: this is a number, not an object"},
		"a story with a wrong title":        {PRD, "{\"userStories\":[\n{\"title\":[]},{\"title\":[1]}]}", "line 2: title is a list, not text"},
		"a prd.json that does not end":      {PRD, "{\"userStories\":[\n", "line 1: not JSON: it does not end"},
		"a comma too many":                  {PRD, "{\"userStories\":[\n{\"title\":\"a\"},\n]}", "line 3: not JSON: invalid character ']'"},
		"our lines called beads":            {Beads, `{"ref":"a","title":"T"}`, "line 1: no id: this is not an issue of beads"},
		"beads that do not end":             {Beads, "{\"id\":\"a\"}\n\n{\"id\":", "line 3: not JSON: it does not end"},
		"beads with broken relations":       {Beads, `{"id":"a","title":"T","dependencies":[{"type":"blocks"}]}`, "line 1: a dependency without depends_on_id"},
		"beads with relations of text":      {Beads, `{"id":"a","title":"T","dependencies":["b"]}`, "line 1: this is text, not an object"},
		"stories called issues":             {GitHub, `{"userStories":[]}`, "line 1: neither number nor title: this is not an issue of gh issue list"},
		"an issue with a wrong number":      {GitHub, `[{"number":-3,"title":"T"}]`, "line 1: number is -3, not that of an issue"},
		"JSON that nests beyond the limits": {GitHub, `[{"number":1,"title":"T","labels":` + strings.Repeat("[", 20_000), "line 1: not JSON: invalid character '[' exceeded max depth"},
		"several faults in order":           {Beads, "{}\n{}\n[]\n", "line 1: no id: this is not an issue of beads (and 2 more, line 2, 3)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read([]byte(tc.text), tc.format)
			if !errors.Is(err, dag.ErrRefused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %q, want %q", err, tc.want)
			}
		})
	}
}

func TestJSONOfOtherProgramsHasALimitAndOursHasNone(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{PRD, Beads, GitHub} {
		if err := checkSize(bounded.Data+1, f); !errors.Is(err, dag.ErrRefused) || checkSize(bounded.Data, f) != nil {
			t.Errorf("%s: got %v, want a refusal beyond %d bytes only", f, err, bounded.Data)
		}
	}
	if err := checkSize(1<<30, JSONL); err != nil {
		t.Error(err)
	}
}

func nestedList(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- [ ] x\n")
	}
	return b.String()
}
