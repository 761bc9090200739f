package proof

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
)

func TestCriteria(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec string
		want []Criterion
	}{
		"none":         {"# Login\n\n- C1: elsewhere\n", nil},
		"ways to say":  {"## Success criteria\n- C1: one\n* **C2** two\n+ **C3:** three\n4. [C4] four\n- [ ] C5. five\n- C6 - six\n", []Criterion{{ID: "C1", Text: "one"}, {ID: "C2", Text: "two"}, {ID: "C3", Text: "three"}, {ID: "C4", Text: "four"}, {ID: "C5", Text: "five"}, {ID: "C6", Text: "six"}}},
		"no ID":        {"## Acceptance\n- C is a language\n- C1 is not an ID\n", []Criterion{{Text: "C is a language"}, {Text: "C1 is not an ID"}}},
		"the same ID":  {"## Acceptance\n- C1: one\n- C1: two\n", []Criterion{{ID: "C1", Text: "one"}, {Text: "two", Taken: "C1"}}},
		"below others": {"## Acceptance\n- C1: one\n  - c2 : two\n    - more\n- three\n", []Criterion{{ID: "C1", Text: "one"}, {ID: "C2", Text: "two - more"}, {Text: "three"}}},
		"more lines":   {"## Acceptance\n\nThis is an introduction.\n\n- C1: one\n  and more\nand lazily more\n\n  - below it\n\nNot a part of it.\n- C2: two\n", []Criterion{{ID: "C1", Text: "one and more and lazily more - below it"}, {ID: "C2", Text: "two"}}},
		"commands": {"## Acceptance\n- C1: `make a` passes\n- C2: all of these:\n  ```sh\n  make b\n  make c\n  ```\nC3: `make d`\n", []Criterion{
			{ID: "C1", Text: "`make a` passes", Commands: []string{"make a"}},
			{ID: "C2", Text: "all of these: ```sh make b make c ```", Commands: []string{"make b", "make c"}},
			{ID: "C3", Text: "`make d`", Commands: []string{"make d"}},
		}},
		"headings":       {"## Acceptance\n### Speed\n- C1: fast\n### Size\n- C2: small\n## Risks\n- many\n", []Criterion{{ID: "C1", Text: "fast"}, {ID: "C2", Text: "small"}}},
		"a list in code": {"## Acceptance\n```\n- C1: no\n```\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "criteria", tt.want, Criteria(tt.spec))
		})
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ spec, want, taken, was string }{
		"nothing to do":         {"# A\n- b\n", "# A\n- b\n", "", ""},
		"all":                   {"# Acceptance\n- one\n- [x] two\n1. three\n`make`\n", "# Acceptance\n- C1: one\n- [x] C2: two\n1. C3: three\nC4: `make`\n", "", ""},
		"the others":            {"# Acceptance\r\n- C4: one\r\n- two\r\n", "# Acceptance\r\n- C4: one\r\n- C5: two\r\n", "", ""},
		"none is used again":    {"# Acceptance\n- C1: one\n- two", "# Acceptance\n- C1: one\n- C8: two", "C7", ""},
		"one that exists twice": {"# Acceptance\n- C1: one\n- C1: two\n", "# Acceptance\n- C1: one\n- C2: two\n", "", ""},
		"what had one before":   {"# Acceptance\n- new\n- one\n", "# Acceptance\n- C3: new\n- C1: one\n", "", "# Acceptance\n- C1: one\n- C2: two\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, _ := Number(tt.spec, Criteria(tt.was), strings.Fields(tt.taken)...)
			check.Equal(t, "text", tt.want, text)
		})
	}
}

// Numbering changes nothing but the criteria that had no ID, and doing it twice is doing it once.
func TestNumberingProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := []string{"# Acceptance", "## Success criteria", "# Other", "- one", "- C1: two", "  - C2: below", "* C1: three", "3. four", "", "text", "```sh", "make all", "```", "`make`", "C9: `make x`", "  more", "\tmore"}
		spec := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "lines"), "\n")
		before := Criteria(spec)
		text, added := Number(spec, nil)
		after := Criteria(text)
		if len(before) != len(after) {
			t.Fatalf("%d criteria became %d:\n%s", len(before), len(after), text)
		}
		seen, fresh := map[string]bool{}, 0
		for i := range after {
			if after[i].ID == "" || seen[after[i].ID] {
				t.Fatalf("criterion %d has no ID of its own: %q in\n%s", i, after[i].ID, text)
			}
			seen[after[i].ID] = true
			if before[i].ID == "" {
				fresh++
			}
			if before[i].ID != "" && before[i].ID != after[i].ID || before[i].Text != after[i].Text {
				t.Fatalf("%+v became %+v", before[i], after[i])
			}
			if strings.Join(before[i].Commands, "\n") != strings.Join(after[i].Commands, "\n") {
				t.Fatalf("%q became %q", before[i].Commands, after[i].Commands)
			}
		}
		if fresh != len(added) {
			t.Fatalf("%d are new, and %v are said to be", fresh, added)
		}
		if again, more := Number(text, nil); again != text || len(more) > 0 {
			t.Fatalf("the second time it became\n%s", again)
		}
	})
}
