package term

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "result", tc.want, Wrap(tc.in, tc.width, tc.indent))
		})
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
		if Width(strings.TrimRight(line, "\n")) > 12 {
			t.Errorf("%q is too wide", line)
		}
	}
	for size := 1; size < len(text); size++ {
		var w Wrapper
		got := ""
		for from := 0; from < len(text); from += size {
			got += w.Add(text[from:min(from+size, len(text))], 12)
		}
		if got += w.End(12); got != want {
			t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

func TestLinesAreSetOffFromTheirOwnBeginning(t *testing.T) {
	t.Parallel()
	got := WrapLines("one two three\n  four five six\n\nend", 9)
	if want := "one two\n  three\n  four\n    five\n    six\n\nend"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
