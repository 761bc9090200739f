package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ralph/internal/testing/check"

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
		"titles never ended cost little": {strings.Repeat("\x1b]", 1<<20), strings.Repeat("]", 1<<20)},
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

func TestNamedFirst(t *testing.T) {
	t.Parallel()
	const doc = "intro\n# Title\n## 3.1 Storage\nrows\n## The parser and its grammar\nrules\n### Errors\nnone\n```\n## Storage\n```\n## Output\nlines\n## Needs\n- **R1**: one\n- **R2**: two\n## Step 2: wire it\nsee R9"
	tests := map[string]struct{ task, first string }{
		"nothing is named":                     {"Fix the bug", "intro"},
		"all telling words name a section":     {"Write the Grammar for its parser.", "## The parser and its grammar\nrules\n### Errors\nnone\n```\n## Storage\n```\nintro"},
		"one word of two does not":             {"Write the parser", "intro"},
		"a number names a section":             {"See section 3.1.", "## 3.1 Storage\nrows\nintro"},
		"the title of all names nothing":       {"The title is storage", "## 3.1 Storage\nrows\nintro"},
		"a label names where it is defined":    {"Covers R2.", "## Needs\n- **R1**: one\n- **R2**: two\nintro"},
		"a label is not where it is mentioned": {"Covers R9.", "intro"},
		"a step goes by its number":            {"Follows steps 2 of the plan.", "## Step 2: wire it\nsee R9\nintro"},
		"another number is another step":       {"Follows step 4, twice 2.", "intro"},
		"a heading in a fence is no section":   {"storage", "## 3.1 Storage\nrows\nintro"},
		"a subsection comes alone":             {"errors", "### Errors\nnone\n```"},
		"a link names a section":               {"see spec.md#output", "## Output\nlines\nintro"},
		"two sections keep the document order": {"output, storage", "## 3.1 Storage\nrows\n## Output\nlines\nintro"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := namedFirst(doc, tt.task)
			check.That(t, strings.HasPrefix(got, tt.first), "got %q, want %q first", got, tt.first)
			check.That(t, len(got) == len(doc), "got %d bytes of %d", len(got), len(doc))
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
		"sections that the task names come first": {
			quote{text: "# A\n" + strings.Repeat("and more ", 30) + "\n# Fences\ntext", wanted: "code fences"},
			116,
			"> # Fences\n> text\n\n[cut: 13 of 288 characters shown, sections that the task names first; the rest is in x.md]",
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

func TestTheWorstCaseFitsTheSmallestBudget(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("𝔴𝔬𝔯𝔡 ", 40_000)
	doc := Document{Text: huge, From: huge}
	names := make([]string, 50)
	for i := range names {
		names[i] = huge
	}
	in := Input{
		Task: Task{ID: strings.Repeat("t", 500), Title: huge, Description: huge}, Parent: &Task{huge, huge, huge},
		Prerequisites: []Prerequisite{{huge, huge, huge}}, Spec: doc, Plan: doc, Retry: &Retry{-1 << 62, -1 << 62, huge}, Guidance: huge,
		Git: &Git{huge, huge, names}, Interrupted: true, Previous: doc, Journal: doc, Knowledge: doc, Instructions: names, Models: names,
		Skills: []Skill{{huge, huge, huge}}, Budget: 1,
	}
	if got := Tokens(Build(in)); got > MinBudget {
		t.Errorf("got %d tokens, want at most %d", got, MinBudget)
	}
	check := VerifyInput{Task: in.Task, Spec: doc, Plan: doc, Diff: doc, Gates: []Gate{{huge, true, huge}}, Budget: 1}
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
	long := strings.TrimSpace(strings.Repeat("a line of text\n", 2000))
	got := Build(Input{Task: Task{ID: "t-1f0c9a3e"}, Spec: Document{Text: long, From: "spec.md"}, Budget: MinBudget})
	n := Tokens(got)
	check.That(t, n >= MinBudget-100, "got %d tokens of %d: the only quotation did not get all there is", n, MinBudget)
}
