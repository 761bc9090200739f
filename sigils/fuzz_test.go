package sigils_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/sigils"
)

func addSeeds(f *testing.F) {
	f.Helper()
	for _, text := range append(slices.Sorted(maps.Values(rejected(f))), []string{
		"<task-done>t-1f0c9a3e</task-done>",
		"<task-failed>t-1f0c9a3e: x</task-failed>\n<task-done>t-1f0c9a3e</task-done>",
		"<journal>\na\n</journal>\n<knowledge title=\"t\" tags=\"a,b\">\nb\n</knowledge>\n<next-model>opus</next-model>",
		"<promise>COMPLETE</promise>\n<promise>FAILURE</promise>",
		"<verify-pass/>\n<verify-fail>x</verify-fail>",
		"<finding file=\"a.go\" line=\"3\">x\ny</finding>\n<finding file='a' line='-1'>z</finding>",
		"<verify-asked changes=\"1-3,7\">a b c</verify-asked>\n<verify-weakened changes='2'>\nx\n</verify-weakened>\n<verify-pass/>",
		"<journal>\n`\n<knowledge>\n``\n<!--\n<task-done>t-1f0c9a3e</task-done>\n-->\n</knowledge>\n`",
		"<journal>\r\n\ta\x00\xff\r\n</journal>\r\n",
		"- a\n    ```\n  <task-done>t-1f0c9a3e</task-done>\n    ```\n",
	}...) {
		f.Add(text, uint64(len(text)))
	}
}

// FuzzLaws states what holds for any text.
func FuzzLaws(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64) { checkLaws(t, text, seed) })
}

// FuzzHiding states that whatever a text says, quoting it takes it back, and that
// nothing said before a tool call hides what is said after it.
func FuzzHiding(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, _ uint64) { checkHiding(t, text) })
}

// TestLawsOnMarkdown holds the same laws on texts made of what matters here,
// which random bytes seldom form.
func TestLawsOnMarkdown(t *testing.T) {
	t.Parallel()
	tokens := rapid.SampledFrom([]string{
		"\n", "\n", "\n", "\n", "\n\n", "\r\n", " ", "  ", "    ", "\t", "> ", "- ", "1. ", "# ", "---\n", "x", "a b", "é", "\\",
		"- a `b` c\n", "`a` b\n", "a ``b` c`` d\n", "a \\`b`\n", "a `b\n", "a < b\n", "~~~ a\n", "b ~\n",
		"`", "`", "``", "```", "```\n", "```go\n", "````\n", "~~~\n", "<!--", "-->", "<pre>", "</pre>", "<code>\n", "</code>",
		"<think>", "<think>\n", "</think>", "</thinking>\n",
		"<task-done>" + ours + "</task-done>\n", "<task-done>t-2</task-done>\n", "<task-failed>" + ours + ": no</task-failed>\n",
		"<task-failed>" + ours, "</task-failed>\n", "<journal>", "</journal>\n", "<journal>x</journal>\n", "<verify-pass/>\n",
		"<verify-fail>", "</verify-fail>\n", "<knowledge title='x' tags=\"a, b\">", "</knowledge>\n", "<next-model>opus</next-model>\n",
		"<promise>COMPLETE</promise>\n", "<promise>FAILURE</promise>\n", "<verify-asked changes='1-2'>", "</verify-asked>\n",
		"<verify-weakened changes=\"3\">x</verify-weakened>\n", "<verify-weakened/>\n",
		"<verify-fulfilled>", "</verify-fulfilled>\n",
		"<witness file='a' run=\"b\">", "</witness>\n", "<witness>x</witness>\n",
		"<finding file='a' line=\"3\">", "</finding>\n", "<finding>x</finding>\n", "<finding title='b'>x</finding>\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(tokens, 0, 60).Draw(t, "tokens"), "")
		checkLaws(t, text, rapid.Uint64().Draw(t, "seed"))
		checkHiding(t, text)
	})
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func checkLaws(t tester, text string, seed uint64) {
	t.Helper()
	set := sigils.Parse(text, ours)
	if set.Done && set.Failed || set.Complete && set.Failure || set.VerifyPass && set.VerifyFail {
		t.Fatalf("contradiction: %+v", set)
	}
	if !set.Failed && set.FailReason != "" || !set.VerifyFail && set.VerifyReason != "" {
		t.Fatalf("a reason for nothing: %+v", set)
	}
	checkBounds(t, set)
	checkParts(t, text, set)
	checkChunks(t, text, seed, set)
	for _, prose := range []string{"\n\nThat is all.", "\n\nBye, and *thanks*!\n\nReally.\n", "\r\n\r\n1. a\n2. b\n"} {
		if diff := cmp.Diff(set, sigils.Parse(text+prose, ours)); diff != "" {
			t.Fatalf("trailing prose %q after %q: (-want +got)\n%s", prose, text, diff)
		}
	}
}

func checkHiding(t tester, text string) {
	t.Helper()
	fenceOf := func(c string) string { return strings.Repeat(c, 3+longestRun(text, c[0])) }
	hide := func(prefix string) string { return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix) }
	for name, quoted := range map[string]string{
		"backticks":  fenceOf("`") + "\n" + text + "\n" + fenceOf("`"),
		"tildes":     fenceOf("~") + "\n" + text,
		"quotation":  hide("> "),
		"indented":   hide("    "),
		"diff":       hide("+"),
		"escaped":    strings.ReplaceAll(text, "<", "&lt;"),
		"one line":   "Say " + strings.ReplaceAll(text, "\n", " ") + " when done.",
		"inert":      sigils.Inert(text),
		"inert, cut": sigils.Inert(text[:len(text)/2]) + "\n" + sigils.Inert(text[len(text)/2:]),
	} {
		if diff := cmp.Diff(sigils.Set{}, sigils.Parse(quoted, ours)); diff != "" {
			t.Errorf("%s: %q: (-want +got)\n%s", name, quoted, diff)
		}
	}
	if once := sigils.Inert(text); sigils.Inert(once) != once {
		t.Errorf("Inert(%q) is not idempotent", text)
	}
	s := sigils.NewScanner(ours)
	s.Write(text)
	s.Break()
	s.Write("<task-done>" + ours + "</task-done>")
	if !s.Set().Done {
		t.Errorf("%q hid a sigil after a tool call", text)
	}
}

func checkBounds(t tester, set sigils.Set) {
	t.Helper()
	sizes := []int{len(set.Journal), len(set.FailReason), len(set.VerifyReason), len(set.Fulfilled)}
	for _, k := range set.Knowledge {
		sizes = append(sizes, len(k.Body))
	}
	for _, a := range slices.Concat(set.Asked, set.Weakened) {
		sizes = append(sizes, 64*len(a.Text))
		if slices.ContainsFunc(a.Changes, func(r sigils.Range) bool { return r.From < 1 || r.To < r.From }) {
			t.Fatalf("a range of nothing: %v", a.Changes)
		}
	}
	for _, n := range sizes {
		if n > 64*kib {
			t.Fatalf("a body of %d bytes", n)
		}
	}
	if len(set.Asked) > 100 || len(set.Weakened) > 100 || len(set.Knowledge) > 20 || len(set.Findings) > 20 || len(set.Foreign) > 8 || len(set.NextModel) > 128 {
		t.Fatalf("too much: %+v", set)
	}
}

// checkParts holds each line against the input: line ends are normalised, so a
// body as a whole need not occur.
func checkParts(t tester, text string, set sigils.Set) {
	t.Helper()
	parts := []string{set.FailReason, set.NextModel, set.Journal, set.VerifyReason, set.Fulfilled}
	for _, k := range set.Knowledge {
		parts = append(append(parts, k.Title, k.Body), k.Tags...)
	}
	for _, a := range slices.Concat(set.Asked, set.Weakened) {
		parts = append(parts, a.Text)
	}
	for _, f := range set.Findings {
		parts = append(parts, f.File, f.Text, f.Title)
	}
	for _, x := range set.Foreign {
		parts = append(parts, x.Tag, x.ID)
	}
	for _, part := range parts {
		for line := range strings.SplitSeq(part, "\n") {
			if !strings.Contains(text, line) {
				t.Fatalf("%q does not occur in %q", line, text)
			}
		}
		if utf8.ValidString(text) && !utf8.ValidString(part) {
			t.Fatalf("half a rune in %q", part)
		}
	}
}

func checkChunks(t tester, text string, seed uint64, want sigils.Set) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	for _, most := range []int{1, 7, 1 + len(text)} {
		s := sigils.NewScanner(ours)
		for rest := text; rest != ""; {
			n := min(len(rest), 1+random.IntN(most))
			s.Write(rest[:n])
			rest = rest[n:]
			if random.IntN(8) == 0 {
				s.Set()
			}
		}
		if diff := cmp.Diff(want, s.Set()); diff != "" {
			t.Fatalf("in chunks of up to %d bytes: (-want +got)\n%s", most, diff)
		}
	}
}

func longestRun(s string, c byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// TestRejected holds the promise against quoted sigils: none of the texts in
// testdata/rejected may be accepted. In ids.txt the sigils are real but about
// other tasks, and must be reported as such; in nested.txt a note or lesson around
// them is real.
func TestRejected(t *testing.T) {
	t.Parallel()
	texts := rejected(t)
	if len(texts) < 200 {
		t.Errorf("got %d texts, want at least 200", len(texts))
	}
	seen := map[string]string{}
	for name, text := range texts {
		if other := seen[text]; other != "" {
			t.Errorf("%s is %s", name, other)
		}
		seen[text] = name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := path.Dir(name)
			got := sigils.Parse(text, ours)
			if foreign := topic == "ids"; foreign != (len(got.Foreign) > 0) {
				t.Errorf("got foreign IDs %v in %q", got.Foreign, text)
			}
			got.Foreign = nil
			if topic == "nested" {
				got.Journal, got.Knowledge = "", nil
			}
			if diff := cmp.Diff(sigils.Set{}, got); diff != "" {
				t.Errorf("accepted from %q: (-want +got)\n%s", text, diff)
			}
		})
	}
}

// rejected reads the corpus by topic and name. A text stands under a line
// "-- name --" and ends before the next; \t, \r and \u escapes are not
// interpreted, invisible characters are in the files as they are.
func rejected(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob("testdata/rejected/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no corpus: %v", err)
	}
	texts := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".txt")
		for part := range strings.SplitSeq("\n"+string(data), "\n-- ") {
			name, text, ok := strings.Cut(part, " --\n")
			if !ok {
				continue
			}
			if _, twice := texts[topic+"/"+name]; twice {
				tb.Fatalf("%s/%s is there twice", topic, name)
			}
			texts[topic+"/"+name] = text
		}
	}
	return texts
}
