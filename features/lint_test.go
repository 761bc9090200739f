package features

import (
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/proof"
)

const good = "In `go.mod`. \n\nAcceptance:\n- it works"

// spec is a task that nothing is wrong with, but for what the test changes.
func spec(ref string, change func(*dag.Spec)) dag.Spec {
	s := dag.Spec{Line: 1, Ref: ref, Detail: dag.Detail{Title: "Do " + ref + " well", Description: good, Gates: []string{"true"}}}
	if change != nil {
		change(&s)
	}
	return s
}

// row is tasks that wait for one another.
func row(n int, description func(i int) string) []dag.Spec {
	var list []dag.Spec
	for i := range n {
		list = append(list, spec("step"+string(rune('a'+i)), func(s *dag.Spec) {
			s.Description = description(i) + "\n\nAcceptance: it works"
			if i > 0 {
				s.After = []string{"step" + string(rune('a'+i-1))}
			}
		}))
	}
	return list
}

func TestLint(t *testing.T) {
	t.Parallel()
	one := func(change func(*dag.Spec)) []dag.Spec { return []dag.Spec{spec("thing", change)} }
	text := func(text string) []dag.Spec { return one(func(s *dag.Spec) { s.Description = text; s.Gates = nil }) }
	tests := map[string]struct {
		specs []dag.Spec
		gates []string
		spec  string
		want  []string // level rule, and a part of the text
	}{
		"nothing is wrong":                     {specs: one(nil)},
		"no acceptance criteria":               {specs: text("Write all of the parser in one go."), gates: []string{"make"}, want: []string{"error criteria thing has neither acceptance criteria"}},
		"a gate is a criterion":                {specs: one(func(s *dag.Spec) { s.Description = "Write all of the parser in one go." })},
		"done when is a criterion":             {specs: text("Write the parser. Done when it parses."), gates: []string{"make"}},
		"a group needs neither":                {specs: []dag.Spec{{Ref: "group", Detail: dag.Detail{Title: "The group"}}, spec("part", func(s *dag.Spec) { s.Parent = "group" })}},
		"no description":                       {specs: text("  "), gates: []string{"make"}, want: []string{"error vague thing has no description"}},
		"a word is no description":             {specs: text("Parser."), gates: []string{"make"}, want: []string{"error vague the description has 7 characters"}},
		"a vague title":                        {specs: one(func(s *dag.Spec) { s.Title = "Fix various stuff" }), want: []string{`error vague "various" in the title`}},
		"a title of one word":                  {specs: one(func(s *dag.Spec) { s.Title = "Parser" }), want: []string{"warning vague does not say what is to be done"}},
		"vague words":                          {specs: text("Handle errors, timeouts etc. \n\nAcceptance: it works"), gates: []string{"make"}, want: []string{`warning vague "etc" leaves open`}},
		"words that only look vague":           {specs: text("Fetch the stuffed bear, sketch it.\n\nAcceptance: it works"), gates: []string{"make"}},
		"a long description":                   {specs: text(strings.Repeat("many words ", 700) + "\n\nAcceptance: it works"), gates: []string{"make"}, want: []string{"warning oversized it may be more than one task"}},
		"a huge description":                   {specs: text(strings.Repeat("many words ", 4000) + "\n\nAcceptance: it works"), gates: []string{"make"}, want: []string{"error oversized split the task"}},
		"many points":                          {specs: text("Acceptance:\n" + strings.Repeat("- one more thing\n", 16)), gates: []string{"make"}, want: []string{"warning oversized thing has 16 points"}},
		"many files":                           {specs: text("Create a/a.go a/b.go a/c.go a/d.go a/e.go a/f.go a/g.go a/h.go a/i.go a/j.go a/k.go a/l.go a/m.go\n\nAcceptance: ok"), gates: []string{"make"}, want: []string{"warning oversized thing names 13 files"}},
		"a file that does not exist":           {specs: text("Change `dag/nope.go` and go.mod, see os.File and `fmt.Println`, http://x.org/a.html.\n\nAcceptance: it works"), gates: []string{"make"}, want: []string{"warning file thing names dag/nope.go"}},
		"a file that the task makes":           {specs: text("Create `dag/nope.go`.\n\nAcceptance: it works"), gates: []string{"make"}},
		"a file that another task makes":       {specs: []dag.Spec{spec("first", func(s *dag.Spec) { s.Description += "\nAdd dag/nope.go." }), spec("then", func(s *dag.Spec) { s.Description += "\nUse dag/nope.go." })}},
		"no gate anywhere":                     {specs: text(good), want: []string{"warning gate no task has a gate and the project has none"}},
		"some without a gate":                  {specs: []dag.Spec{spec("first", nil), spec("then", func(s *dag.Spec) { s.Gates = nil })}, want: []string{"warning gate without a gate, in a project without any: then"}},
		"the project's gates do":               {specs: text(good), gates: []string{"make"}},
		"a chain without reason":               {specs: row(5, func(i int) string { return "Change something, number " + string(rune('a'+i)) }), want: []string{"warning chain 5 of 5 tasks wait for one another in a single line"}},
		"a chain about one file":               {specs: row(5, func(int) string { return "Change `go.mod` once more." })},
		"a chain in which each names the last": {specs: row(5, func(i int) string { return "Builds on step" + string(rune('a'+i-1)) + " and goes on." })},
		"a short chain":                        {specs: row(4, func(int) string { return "Change something else again." })},
		"two chains side by side": {specs: append(row(5, func(int) string { return "Change something else again." }), func() []dag.Spec {
			other := row(5, func(int) string { return "Change something else again." })
			for i := range other {
				other[i].Title += " too"
				other[i].Ref = "x" + other[i].Ref
				if i > 0 {
					other[i].After = []string{other[i-1].Ref}
				}
			}
			return other
		}()...)},
		"the same title twice":              {specs: []dag.Spec{spec("thing", nil), spec("other", func(s *dag.Spec) { s.Title = "do THING well" })}, want: []string{"warning duplicate other has the title of thing"}},
		"criteria that no task proves":      {specs: one(func(s *dag.Spec) { s.Proves = []string{"C1"} }), spec: "# Acceptance\n- C1: one\n- C2: two\n- three\n", want: []string{"warning unproven no task proves C2: two"}},
		"a criterion that is none":          {specs: one(func(s *dag.Spec) { s.Proves = []string{"C1", "C3"} }), spec: "# Acceptance\n- C1: one\n", want: []string{"error proves thing proves C3, which is no criterion"}},
		"a task that stays proves it":       {specs: one(nil), spec: "# Acceptance\n- C7: one\n"},
		"a status":                          {specs: one(func(s *dag.Spec) { s.Status = dag.Done }), want: []string{"error status thing is done already"}},
		"all may change":                    {specs: one(func(s *dag.Spec) { s.MayChange = []string{"**"} }), want: []string{"error may_change thing may change .ralph.toml, which only a person may allow"}},
		"all may change, written otherwise": {specs: one(func(s *dag.Spec) { s.MayChange = []string{"./"} }), want: []string{"error may_change thing may change .ralph.toml"}},
		"the settings may change":           {specs: one(func(s *dag.Spec) { s.MayChange = []string{"./.ralph.toml"} }), want: []string{"error may_change thing may change .ralph.toml"}},
		"tests may change":                  {specs: one(func(s *dag.Spec) { s.MayChange = []string{"tests/**", "*_test.go"} })},
		"a protected path":                  {specs: one(func(s *dag.Spec) { s.Paths = []string{"ci/build.yml"} }), want: []string{`error may_change thing touches ci/build.yml, which is protected: if it is to change that file, it needs "may_change":["ci/build.yml"]`}},
		"a protected path that may change":  {specs: one(func(s *dag.Spec) { s.Paths, s.MayChange = []string{"ci/build.yml"}, []string{"ci/*"} })},
		"a protected file is named":         {specs: text("Create `ci/build.yml`.\n\nAcceptance: it works"), gates: []string{"make"}, want: []string{"warning may_change thing names ci/build.yml"}},
		"a cycle ends":                      {specs: []dag.Spec{spec("thing", func(s *dag.Spec) { s.After = []string{"other"} }), spec("other", func(s *dag.Spec) { s.After = []string{"thing"} })}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Lint(tt.specs, Ground{Gates: tt.gates, Criteria: proof.Criteria(tt.spec), Proven: []string{"C7"}, Protect: []string{"ci/**"}, Exists: func(path string) bool { return path == "go.mod" }})
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				words := strings.SplitN(want, " ", 3)
				if f := got[i]; string(f.Level) != words[0] || f.Rule != words[1] || !strings.Contains(f.Text, words[2]) {
					t.Errorf("got %s %s, want %s", f.Level, f, want)
				}
			}
			if Faulty(got) != strings.Contains(strings.Join(tt.want, "\n"), "error ") {
				t.Errorf("faulty: got %v for %v", Faulty(got), got)
			}
		})
	}
}

func TestAHugePlanIsLintedInNoTime(t *testing.T) {
	t.Parallel()
	specs := make([]dag.Spec, 3_000)
	for i := range specs {
		ref := "t" + strings.Repeat("x", i%7) + string(rune('a'+i%26))
		specs[i] = spec(ref, nil)
		specs[i].Ref = ref + string(rune(0x4e00+i))
		if i > 0 {
			specs[i].After = []string{specs[i-1].Ref}
		}
	}
	if got := Lint(specs, Ground{}); len(got) == 0 {
		t.Error("a chain of 3,000 tasks is nothing to be told")
	}
}

func TestTaskBlock(t *testing.T) {
	t.Parallel()
	const line = `{"title":"A"}` + "\n"
	tests := map[string]struct{ said, want string }{
		"prose":                       {"I would do it in three steps.\n", ""},
		"a block":                     {"Here:\n```jsonl\n" + line + "```\nDone.\n", line},
		"the last block that fits":    {"```json\n{\"title\":\"old\"}\n```\nBetter:\n~~~\n" + line + "~~~\n```sh\nls -l\n```\n", line},
		"words after the end":         {"```jsonl\n" + line + "``` (one task)\nThat is all.\n", line},
		"a list in YAML":              {"```yaml\n- title: A\n```\n", "- title: A\n"},
		"a block that is never ended": {"```\n" + line, line},
		"bare lines":                  {"Here they are:\n" + line + line + "Done.\n", line + line},
		"a block of code":             {"```go\nfunc main() {}\n```\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := taskBlock(tt.said); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
