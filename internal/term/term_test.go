package term

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	_ "ralph/internal/testing/seeded" // the same values each time

	"ralph/internal/testing/check"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"plain text stays":                  {"Write the parser", "Write the parser"},
		"line breaks become spaces":         {"a\nb\r\nc\td", "a b  c d"},
		"escape codes lose their teeth":     {"\x1b[31mred\x1b[0m", "[31mred[0m"},
		"text is not reordered":             {"abc\u202edef\u2066", "abcdef"},
		"emoji and accents stay":            {"naïve 🦜👩‍👩‍👧", "naïve 🦜👩‍👩‍👧"},
		"bells and backspaces go":           {"a\a\bb\x7f\u009b", "ab"},
		"bytes that are no text show as ?s": {"a\xffb", "a?b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Line(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBlockKeepsLinesAndTabs(t *testing.T) {
	t.Parallel()
	if got, want := Block("a\r\n\tb\x1b[2J\n"), "a\n\tb[2J\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNothingControlsTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		for _, r := range Line(s) {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("Line(%q) contains %U", s, r)
			}
		}
		if once := Line(s); Line(once) != strings.TrimSpace(once) {
			t.Fatalf("Line is not stable on %q", s)
		}
		if width := rapid.IntRange(1, 40).Draw(t, "width"); Width(Cut(Line(s), width)) > width {
			t.Fatalf("Cut(%q, %d) is wider", s, width)
		}
	})
}

func TestTableAlignsByWidthAndCutsTheLastColumn(t *testing.T) {
	t.Parallel()
	shout := func(s string) string { return "<" + s + ">" }
	table := &Table{Width: 24}
	table.Add(Cell{Text: "ID"}, Cell{Text: "TITLE"})
	table.Add(Cell{Text: "日本", Paint: shout}, Cell{Text: "short"})
	table.Add(Cell{Text: "x"}, Cell{Text: "a title that is far too long"})
	var b strings.Builder
	if _, err := table.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	want := "ID    TITLE\n<日本>  short\nx     a title that is f…\n"
	check.Equal(t, "result", want, b.String())
}

func TestPaletteIsSilentWhenOff(t *testing.T) {
	t.Parallel()
	if got := (Palette{}).Red("x"); got != "x" {
		t.Errorf("got %q", got)
	}
	if got := (Palette{On: true}).Red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
	if got := (Palette{On: true}).Red(""); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestStripRemovesWholeSequences(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"a colour":                      {"a\x1b[1;31mred\x1b[0m", "ared"},
		"a title":                       {"\x1b]0;evil\aok", "ok"},
		"a link":                        {"\x1b]8;;http://e.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a lone escape is one byte":     {"a\x1bb", "ab"},
		"one that is cut apart":         {"a\x1b[31", "a[31"},
		"one that never ends is shown":  {"\x1b]0;\nrest", "]0;\nrest"},
		"text without any stays itself": {"plain", "plain"},
	} {
		if got := Strip(tc.in); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
