package term

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
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
		check.Equal(t, name, tc.want, Line(tc.in))
	}
}

func TestBlockKeepsLinesAndTabs(t *testing.T) {
	t.Parallel()
	check.Equal(t, "result", "a\n\tb[2J\n", Block("a\r\n\tb\x1b[2J\n"))
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
	want := "ID    TITLE\n<日本>  short\nx     a title that is f…\n"
	check.Equal(t, "result", want, table.String())
}

func TestPaletteIsSilentWhenOff(t *testing.T) {
	t.Parallel()
	check.Equal(t, "result", "x", (Palette{}).Red("x"))
	check.Equal(t, "result", "\x1b[31mx\x1b[0m", (Palette{On: true}).Red("x"))
	check.Equal(t, "result", "", (Palette{On: true}).Red(""))
}

func TestEscapeSequencesAreRemovedWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1;", maxEscape)
	for name, tc := range map[string]struct {
		pieces []string
		want   string
	}{
		"text without any stays itself":    {[]string{"plain"}, "plain"},
		"a colour":                         {[]string{"a\x1b[1;31mred\x1b[0m"}, "ared"},
		"a colour cut apart":               {[]string{"a\x1b", "[", "3", "1mred\x1b[0", "m"}, "ared"},
		"a colour that never completes":    {[]string{"a\x1b[31"}, "a[31"},
		"what is too long for a colour":    {[]string{"\x1b[", long, "m"}, "[" + long + "m"},
		"a title":                          {[]string{"\x1b]0;x", "\ay"}, "y"},
		"a title that never completes":     {[]string{"\x1b]0;\nrest"}, "]0;\nrest"},
		"a link":                           {[]string{"\x1b]8;;http://e.example\x1b", "\\text\x1b]8;;\x1b\\"}, "text"},
		"a lone escape":                    {[]string{"a\x1bb"}, "ab"},
		"a sequence inside a sequence":     {[]string{"\x1b\x1b[31m[2Jx"}, "[2Jx"},
		"a character cut apart":            {[]string{"caf\xc3", "\xa9"}, "café"},
		"an emoji in four pieces":          {[]string{"\xf0", "\x9f", "\xa6", "\x9c!"}, "🦜!"},
		"a character that never completes": {[]string{"a\xe2\x82", "b", "\xe2"}, "a??b?"},
		"a line break cut apart":           {[]string{"a\r", "\nb"}, "a\nb"},
	} {
		var c Cleaner
		got := ""
		for _, piece := range tc.pieces {
			got += c.Add(piece)
		}
		check.Equal(t, name, tc.want, got+c.End())
		check.Equal(t, name+", whole", tc.want, Block(Strip(strings.Join(tc.pieces, ""))))
	}
}

func TestWrapBreaksLinesAtSpaces(t *testing.T) {
	t.Parallel()
	red := Palette{On: true}.Red
	for name, tc := range map[string]struct {
		in     string
		width  int
		indent string
		want   []string
	}{
		"what fits":             {"one two", 7, "  ", []string{"one two"}},
		"two lines":             {"one two three", 8, "", []string{"one two", "three"}},
		"an indent":             {"- one two three four", 10, "  ", []string{"- one two", "  three", "  four"}},
		"an indent of its own":  {"    one two", 8, "      ", []string{"    one", "      two"}},
		"a long word":           {"see /a/very/long/path now", 10, "", []string{"see", "/a/very/long/path", "now"}},
		"colours take no room":  {red("one") + " two", 7, "", []string{red("one") + " two"}},
		"wide characters":       {"日本 日本", 8, "", []string{"日本", "日本"}},
		"runs of spaces":        {"one   two three", 9, "", []string{"one   two", "three"}},
		"spaces at the edge":    {"one    two", 5, "", []string{"one", "two"}},
		"no width":              {"one two", 0, "", []string{"one two"}},
		"narrower than a word":  {"one two", 2, "", []string{"one", "two"}},
		"no room for an indent": {"one two", 3, "    ", []string{"one", "    two"}},
	} {
		check.Equal(t, name, tc.want, Wrap(tc.in, tc.width, tc.indent))
	}
}

func TestAWrapperPutsPiecesTogether(t *testing.T) {
	t.Parallel()
	const text = "The gram\tmar is in the spec;  tests come\nfirst, café and all.\n\nEnd"
	var whole Wrapper
	want := whole.Add(text, 12) + whole.End(12)
	if flat := strings.Join(strings.Fields(want), " "); flat != strings.Join(strings.Fields(text), " ") {
		t.Errorf("words are lost: %q", want)
	}
	for line := range strings.Lines(want) {
		check.That(t, Width(strings.TrimRight(line, "\n")) <= 12, "%q is too wide", line)
	}
	for size := 1; size < len(text); size++ {
		var w Wrapper
		got := ""
		for from := 0; from < len(text); from += size {
			got += w.Add(text[from:min(from+size, len(text))], 12)
		}
		got += w.End(12)
		check.That(t, got == want, "in pieces of %d: got %q, want %q", size, got, want)
	}
}

func TestLinesAreSetOffFromTheirOwnBeginning(t *testing.T) {
	t.Parallel()
	want := "one two\n  three\n  four\n    five\n    six\n\nend"
	check.Equal(t, "lines", want, WrapLines("one two three\n  four five six\n\nend", 9))
}

func TestHeadCutsTextAndKeepsColours(t *testing.T) {
	t.Parallel()
	red := Palette{On: true}.Red
	for name, tc := range map[string]struct {
		in   string
		n    int
		kept string
		left int
		lost int
	}{
		"what fits":                  {"日本", 6, "日本", 4, 0},
		"wide characters":            {"日本語", 2, "日本", -maxAccents, 1},
		"a colour ends":              {red("abc") + "d", 2, red("ab"), -maxAccents, 2},
		"a colour takes no room":     {red("abc"), 3, red("abc"), 0, 0},
		"an accent stays":            {"e\u0301e\u0301", 1, "e\u0301", -maxAccents, 2},
		"accents without end do not": {"e" + strings.Repeat("\u0301", 100), 1, "e" + strings.Repeat("\u0301", maxAccents), -maxAccents, 100 - maxAccents},
		"no room":                    {"abc", 0, "", -maxAccents, 3},
	} {
		kept, left, lost := Head(tc.in, tc.n)
		check.Equal(t, name, []any{tc.kept, tc.left, tc.lost}, []any{kept, left, lost})
	}
}
