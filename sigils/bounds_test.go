package sigils_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/raced"
	"ralph/sigils"
)

const kib = 1 << 10

func TestBodiesAreCutAt64KiBBetweenRunes(t *testing.T) {
	t.Parallel()
	long := "x" + strings.Repeat("é", 50*kib)
	lines := strings.Repeat(strings.Repeat("é", 70)+"\n", 1000)
	tests := map[string]struct {
		text string
		body func(sigils.Set) string
	}{
		"a note on one line":       {"<journal>" + long + "</journal>", func(s sigils.Set) string { return s.Journal }},
		"a note of many lines":     {"<journal>\n" + lines + "</journal>", func(s sigils.Set) string { return s.Journal }},
		"a long line in a note":    {"<journal>\n" + long + "\n</journal>", func(s sigils.Set) string { return s.Journal }},
		"a note closed by a long":  {"<journal>\n" + long + "</journal>", func(s sigils.Set) string { return s.Journal }},
		"a note behind blanks":     {"<journal>" + strings.Repeat(" ", 9*kib) + long + "</journal>", func(s sigils.Set) string { return s.Journal + strings.Repeat(" ", 5*kib) }},
		"a note behind odd blanks": {"<journal>" + strings.Repeat(" ", 9*kib+1) + long + "</journal>", func(s sigils.Set) string { return s.Journal + strings.Repeat(" ", 5*kib) }},
		"many notes":               {strings.Repeat("<journal>"+strings.Repeat("é", 500)+"</journal>\n", 100), func(s sigils.Set) string { return s.Journal }},
		"a verdict":                {"<verify-fail>" + long + "</verify-fail>", func(s sigils.Set) string { return s.VerifyReason }},
		"a failure":                {"<task-failed id='" + ours + "'>" + long + "</task-failed>", func(s sigils.Set) string { return s.FailReason }},
		"knowledge": {"<knowledge>" + long + "</knowledge>", func(s sigils.Set) string {
			if len(s.Knowledge) != 1 {
				return ""
			}
			return s.Knowledge[0].Body
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := tt.body(sigils.Parse(tt.text+"\n", ours))
			if len(body) > 64*kib || len(body) < 63*kib || !utf8.ValidString(body) {
				t.Errorf("got a body of %d bytes, valid %v, want close to 65536", len(body), utf8.ValidString(body))
			}
		})
	}
}

func TestSetLeavesALongLineAlone(t *testing.T) {
	t.Parallel()
	for odd := range 2 {
		text := "<journal>" + strings.Repeat(" ", 9*kib+odd) + strings.Repeat("é", 50*kib) + "</journal>"
		s := sigils.NewScanner(ours)
		for rest := text; rest != ""; rest = rest[min(len(rest), 999):] {
			s.Write(rest[:min(len(rest), 999)])
			s.Set()
		}
		if got, want := s.Set().Journal, sigils.Parse(text, ours).Journal; got != want || want == "" {
			t.Errorf("got %d bytes, want %d", len(got), len(want))
		}
	}
}

func TestTwentyKnowledgeEntriesAreKept(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 25 {
		fmt.Fprintf(&text, "<knowledge title=\"k%d\">x</knowledge>\n", i)
	}
	got := sigils.Parse(text.String(), ours)
	if len(got.Knowledge) != 20 || got.Knowledge[19].Title != "k19" || got.Dropped != 5 {
		t.Errorf("got %d entries, dropped %d, want the first 20 and 5", len(got.Knowledge), got.Dropped)
	}
}

func TestAHundredAnswersOfAKindAreKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", kib)
	got := sigils.Parse(strings.Repeat("<verify-asked changes='1'>"+long+"</verify-asked>\n<verify-weakened changes='2'>"+long+"</verify-weakened>\n", 150), ours)
	if len(got.Asked) != 100 || len(got.Weakened) != 100 {
		t.Fatalf("got %d and %d, want 100 each", len(got.Asked), len(got.Weakened))
	}
	if text := got.Asked[99].Text; len(text) != kib || !utf8.ValidString(text) {
		t.Errorf("got %d bytes, want 1024 of whole runes", len(text))
	}
}

func TestTwentyFindingsAreKept(t *testing.T) {
	t.Parallel()
	got := sigils.Parse(strings.Repeat("<finding file='a.go' line='1'>"+strings.Repeat("é", 4*kib)+"</finding>\n", 10_000), ours)
	if len(got.Findings) != 20 {
		t.Fatalf("got %d, want 20", len(got.Findings))
	}
	if text := got.Findings[19].Text; len(text) != 4*kib || !utf8.ValidString(text) {
		t.Errorf("got %d bytes, want 4096 of whole runes", len(text))
	}
}

func TestEightForeignSigilsAreKept(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "<task-done>t-%08d</task-done>\n", i/2)
	}
	if got := len(sigils.Parse(text.String(), ours).Foreign); got != 8 {
		t.Errorf("got %d, want 8", got)
	}
}

// It measures the heap, so it does not run beside other tests.
func TestHostileTextIsNotAccumulated(t *testing.T) {
	raced.Long(t, "memory is measured here")
	piece := strings.Repeat("a", kib)
	tests := map[string]struct {
		piece string
		size  int    // MiB
		limit uint64 // of live bytes
	}{
		"an endless line":          {piece, 20, 200 * kib},
		"an endless opening tag":   {"<knowledge title=\"" + piece, 20, 200 * kib},
		"endless backticks":        {strings.Repeat("`", kib), 20, 200 * kib},
		"an endless body":          {strings.Repeat("b\n", 512), 4, 200 * kib},
		"an endless fence":         {"```go\n" + piece + "\n", 4, 200 * kib},
		"openings of all sorts":    {"<journal>\n<knowledge>\n` `` <!--\n<verify-fail>\n<task-failed>\n", 4, 3000 * kib},
		"runs of all lengths":      {allRuns(64), 4, 200 * kib},
		"open notes":               {"<journal>\n" + piece + "\n", 4, 3000 * kib},
		"answers in open notes":    {"<journal>\n<verify-asked changes='1'>" + piece + "</verify-asked>\n", 4, 3000 * kib},
		"findings in open notes":   {"<journal>\n<finding file='a' line='1'>" + piece + "</finding>\n", 4, 3000 * kib},
		"foreign sigils":           {"<task-done>t-2</task-done>\n<task-failed>t-3: x</task-failed>\n", 4, 200 * kib},
		"lessons in open notes":    {"<journal>\n<knowledge>" + piece + "</knowledge>\n", 4, 3000 * kib},
		"notes in open code spans": {"a `\n<journal>" + piece + "</journal>\nb `` c\n", 4, 3000 * kib},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := sigils.NewScanner(ours)
			s.Write("<journal>\n")
			before := liveBytes()
			for range tt.size * kib * kib / raced.Scale / len(tt.piece) {
				s.Write(tt.piece)
			}
			after := liveBytes()
			if after > before+tt.limit {
				t.Errorf("got %d KiB more after %d MiB, want at most %d", (after-before)/kib, tt.size, tt.limit/kib)
			}
			t.Logf("%d KiB kept", (max(after, before)-before)/kib)
			s.Break()
			s.Write("<task-done>" + ours + "</task-done>")
			if !s.Set().Done {
				t.Error("the sigil after the next tool call was lost")
			}
		})
	}
}

func allRuns(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("`", i) + "\n")
	}
	return b.String()
}

func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSkippedLinesAreAsIfTheyWereLookedAt puts lines of all sorts around a sigil.
// Text in one piece is skipped where nothing can happen; text that arrives byte by
// byte never is.
func TestSkippedLinesAreAsIfTheyWereLookedAt(t *testing.T) {
	t.Parallel()
	lines := []string{
		"", "a", "é", "a\r", "\r", "\t", "  a", "    a", "# a", "> a", "---", "1. a", "* a", "-", "- ", "-  a", "- - a", "- a", "- `a`", "- ```",
		"`a`", "``a``", "a `b`", "a `b", "a b` c", "a \\`b`", "a `b\\`", "a `\\`` b`", "a ``b` c``", "a ` `` `", "a `` ` ``", "a " + ascending(20) + " `",
		"```", "```go", "b ```", "~~~", "~ a", "a ~~~", "a <!-- b", "a --> b", "<!--", "-->", "<pre>", "</pre>", "a < b", "<journal>", "</journal>",
	}
	ends := []string{"", "a", "- a", "a `b", "a b` c", "a \\`b`", "a `` ` ``", "```", "b ```", "~~~", "-->", "</pre>", "</journal>"}
	for _, one := range lines {
		for _, two := range lines {
			for _, three := range ends {
				text := one + "\n" + two + "\n<task-done>" + ours + "</task-done>\n" + three + "\n  <next-model>m</next-model>\n<verify-pass/>\n</journal>\n"
				s := sigils.NewScanner(ours)
				for i := range len(text) {
					s.Write(text[i : i+1])
				}
				if diff := cmp.Diff(s.Set(), sigils.Parse(text, ours)); diff != "" {
					t.Fatalf("%q: (-byte by byte +in one piece)\n%s", text, diff)
				}
			}
		}
	}
}

// ascending are runs of backticks, each longer than the one before.
func ascending(n int) string {
	var runs []string
	for i := range n {
		runs = append(runs, strings.Repeat("`", i+1))
	}
	return strings.Join(runs, " ")
}
