package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"text stays":                     {"a\tb\n日本 é 👩‍💻", "a\tb\n日本 é 👩‍💻"},
		"all line ends become one":       {"a\r\nb\rc\u2028d\u0085e\vf", "a\nb\nc\nd\ne\nf"},
		"colours go":                     {"\x1b[1;31mred\x1b[0m", "red"},
		"titles of terminals go":         {"a\x1b]0;evil\ab", "ab"},
		"links of terminals go":          {"a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\c", "abc"},
		"titles never ended cost little": {strings.Repeat("\x1b]", 1<<20/raced.Scale), strings.Repeat("]", 1<<20/raced.Scale)},
		"an escape never ended goes":     {"a\x1b[31", "a"},
		"an escape does not eat a line":  {"a\x1b[3\nb", "a\nb"},
		"control characters go":          {"a\x00\x07\x7f\u009bb", "ab"},
		"overrides of direction go":      {"a\u202eb\u2066c\u200f", "abc"},
		"zero-width spaces go":           {"<task-\u200bdone>\ufeff", "<task-done>"},
		"invisible tags go":              {"a\U000e0041b", "ab"},
		"what is no text becomes a mark": {"a\xffb", "a\ufffdb"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "text", tt.want, clean(tt.text))
		})
	}
}

func TestBreakVerdicts(t *testing.T) {
	t.Parallel()
	got := breakVerdicts("verify-pass, Verify-Fail, verify-email.ts and verify-")
	want := "verify\u2011pass, Verify\u2011Fail, verify-email.ts and verify-"
	check.That(t, got == want, "got %q, want %q", got, want)
}

func TestCleanID(t *testing.T) {
	t.Parallel()
	got := cleanID("t-1f`\n# x<é" + strings.Repeat("a", 99))
	check.That(t, got == "t-1fx"+strings.Repeat("a", 59), "got %q", got)
}

func TestNamedSections(t *testing.T) {
	t.Parallel()
	const (
		storage = "## 3.1 Storage\nrows\n"
		parser  = "## The parser and its grammar\nrules\n"
		errs    = "### Errors\nnone\n```\n## Storage\n```\n"
		output  = "## Output\nlines\n"
		needs   = "## Needs\n- **R1**: one\n- **R2**: two\n"
		step    = "## Step 2: wire it\nsee R9"
		doc     = "intro\n# Title\n" + storage + parser + errs + output + needs + step
	)
	parserAt := strings.Index(doc, parser)
	tests := map[string]struct {
		task  string
		shown int
		want  string
	}{
		"nothing is named":                     {"Fix the bug", 0, ""},
		"all telling words name a section":     {"Write the Grammar for its parser.", 0, parser + errs},
		"one word of two does not":             {"Write the parser", 0, ""},
		"a number names a section":             {"See section 3.1.", 0, storage},
		"the title of all names nothing":       {"The title is storage", 0, storage},
		"a label names where it is defined":    {"Covers R2.", 0, needs},
		"a label is not where it is mentioned": {"Covers R9.", 0, ""},
		"a step goes by its number":            {"Follows steps 2 of the plan.", 0, step + "\n"},
		"another number is another step":       {"Follows step 4, twice 2.", 0, ""},
		"a heading in a fence is no section":   {"storage", 0, storage},
		"a subsection comes alone":             {"errors", 0, errs},
		"a link names a section":               {"see spec.md#output", 0, output},
		"two sections keep the document order": {"output, storage", 0, storage + output},
		"what is shown is not repeated":        {"output, storage", parserAt - 1, output},
		"what is shown in part is whole":       {"output, storage", parserAt - 2, storage + output},
		"subsections of what is shown come":    {"its grammar, the parser", parserAt + len(parser), errs},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "sections", tt.want, namedSections(doc, tt.task, tt.shown))
		})
	}
}

func TestCutsNameTheirSource(t *testing.T) {
	t.Parallel()
	long := "first line\nsecond line\nthird" + strings.Repeat(" and more", 30)
	tests := map[string]struct {
		q    quote
		room int
		want string
	}{
		"what fits is whole": {quote{text: "a\n\nb"}, 12, "> a\n>\n> b"},
		"the beginning is whole lines": {
			quote{text: long},
			90,
			"> first line\n> second line\n\n[cut: 22 of 298 characters shown; the rest is in x.md]",
		},
		"a line too long is cut between characters": {
			quote{text: strings.Repeat("é", 1200)},
			80,
			"> éééééééé\n\n[cut: 8 of 1,200 characters shown; the rest is in x.md]",
		},
		"the end is whole lines": {
			quote{text: strings.Repeat("and more ", 30) + "\nsecond line\nlast line", end: true},
			98,
			"[cut: the last 21 of 292 characters shown; the rest is in x.md]\n\n> second line\n> last line",
		},
		"an end too long is cut between characters": {
			quote{text: strings.Repeat("é", 1200), end: true},
			88,
			"[cut: the last 7 of 1,200 characters shown; the rest is in x.md]\n\n> ééééééé",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.q.From = "x.md"
			tt.q.fit(tt.room)
			check.Equal(t, "quotation", tt.want, tt.q.String())
		})
	}
}

func TestCutsFitAndComeFromTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Trim(strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"\n", "é", "long words ", "x"})).Draw(t, "parts"), ""), "\n")
		q := quote{text: text, From: "x.md", end: rapid.Bool().Draw(t, "end")}
		room := rapid.IntRange(minShare, 2*minShare).Draw(t, "room")
		q.text = strings.Trim(strings.Repeat(q.text+"\n", rapid.IntRange(1, 60).Draw(t, "times")), "\n")
		q.fit(room)
		got := q.String()
		if len(got) > room || !utf8.ValidString(got) {
			t.Fatalf("got %d bytes of %d: %q", len(got), room, got)
		}
		if q.size() <= room {
			return
		}
		if !strings.Contains(got, "[cut: ") || !strings.Contains(got, "x.md]") {
			t.Fatalf("no notice in %q", got)
		}
		first := strings.HasPrefix(q.text, firstLines(q.text, room))
		last := strings.HasSuffix(q.text, lastLines(q.text, room))
		if !first || !last || len(got) < room/2-len(q.notice(0, 0)) {
			t.Fatalf("not an end of the text, or too little of it: %q", got)
		}
	})
}

func TestPartsAreCutFairly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"x", "a longer line", "é"})
		part := rapid.Map(rapid.SliceOfN(line, 1, 90), func(lines []string) string { return strings.Join(lines, "\n") })
		parts := rapid.SliceOfN(part, 1, 9).Draw(t, "parts")
		q := quote{text: strings.Join(parts, "\n"), parts: parts, From: "x.md"}
		room := rapid.IntRange(minShare, 3*minShare).Draw(t, "room")
		q.fit(room)
		got := q.String()
		if len(got) > room || q.size() <= room && got != quoted(q.text) {
			t.Fatalf("got %d bytes of %d: %q", len(got), room, got)
		}
		fair := (room - len(q.notice(len(q.text), len(q.text)))) / len(parts)
		for _, p := range parts {
			if shown := quoted(p); len(shown) < fair && !strings.Contains(got, shown) {
				t.Fatalf("%q is cut, though its fair share is %d bytes: %q", p, fair, got)
			}
		}
	})
}

func TestTheWorstCaseFitsTheSmallestBudget(t *testing.T) {
	raced.Long(t, "it only calculates")
	t.Parallel()
	huge := strings.Repeat("𝔴𝔬𝔯𝔡 ", 10_000/raced.Scale)
	doc := Document{Text: huge, From: huge}
	names := make([]string, 50)
	for i := range names {
		names[i] = huge
	}
	in := Input{
		Task: Task{ID: strings.Repeat("t", 500), Title: huge, Description: huge}, Parent: &Task{huge, huge, huge, huge, names},
		Prerequisites: []Prerequisite{{huge, huge, huge}}, Spec: doc, Plan: doc, Retry: &Retry{-1 << 62, -1 << 62, huge, true}, Guidance: huge,
		Git: &Git{huge, huge, names}, Interrupted: true, Previous: doc, Journal: doc, Knowledge: doc, TaskKnowledge: doc, Instructions: names, Models: names,
		Skills: []Skill{{huge, huge, huge}}, Budget: 1,
		Outputs: []Output{{huge, huge, huge, huge}, {huge, huge, huge, huge}}, Printed: []Printed{{huge, huge}}, Answers: []Answered{{huge, huge}},
		Messages: []Message{{huge, huge}}, Conflict: Merged{Files: names, Landed: []Landed{{huge, huge, huge}}, From: huge},
	}
	in.Task.Output = huge
	if got := Tokens(Build(in)); got > MinBudget {
		t.Errorf("got %d tokens, want at most %d", got, MinBudget)
	}
	check := VerifyInput{
		Task: in.Task, Spec: doc, Plan: doc, Gates: []Gate{{huge, true, huge, huge, huge, true}}, Budget: 1, Resolved: names, Refs: names, Unexecuted: names, Effort: huge,
		Diff: Difference{Files: []Changed{{huge, huge, huge, 1, 2, huge, huge, true}, {"a.go", "", "", 1, 2, "", huge, true}}, Base: huge, Work: huge},
	}
	for n := range 120 {
		check.Doubt.Changes = append(check.Doubt.Changes, Change{n, huge[:4000], huge[:4000], false})
		check.Doubt.Failed = append(check.Doubt.Failed, Gate{huge[:4000], false, huge[:4000], "", huge, false})
	}
	if got := Tokens(Verify(check)); got > MinBudget {
		t.Errorf("got %d tokens, want at most %d", got, MinBudget)
	}
}

func TestASmallerBudgetIsTakenForTheSmallest(t *testing.T) {
	t.Parallel()
	in := Input{Task: Task{ID: "t-1f0c9a3e"}, Guidance: strings.Repeat("a line of text\n", 2000), Budget: MinBudget}
	want := Build(in)
	for _, budget := range []int{-1, 1, MinBudget - 1} {
		in.Budget = budget
		check.Equal(t, "prompt", want, Build(in))
	}
}

func TestWhatOneLeavesGoesToOthers(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("a line of text\n", 20_000))
	task := Task{ID: "t-1f0c9a3e"}
	tests := map[string]struct {
		in   Input
		want int // percent of the budget
	}{
		"a description has all":       {Input{Task: Task{ID: task.ID, Description: long}}, 99},
		"a specification its share":   {Input{Task: task, Spec: Document{Text: long, From: "spec.md"}}, firstShare - 5},
		"a plan the same":             {Input{Task: task, Plan: Document{Text: long, From: "plan.md"}}, firstShare - 5},
		"a description what is left":  {Input{Task: Task{ID: task.ID, Description: long}, Spec: Document{Text: long, From: "spec.md"}}, 99},
		"a journal what nobody needs": {Input{Task: task, Journal: Document{Text: long, From: "journal"}}, 99},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := 100 * Tokens(Build(tt.in)) / DefaultBudget
			check.That(t, got >= tt.want, "got %d %% of the budget, want %d", got, tt.want)
		})
	}
}
