package words

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
)

func TestNamesAndNumbersStayInOnePiece(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Fix the Lexer.":              "fix the lexer",
		"C++, C# and a+b++":           "c++ c# and a b++",
		"see 3.2.1. Then 4.":          "see 3.2.1 then 4",
		"v1.2 of 0001.sql and a.b":    "v1.2 of 0001 sql and a b",
		"3.a":                         "3 a",
		"error_handling/user-auth":    "error handling user auth",
		"Übung हिन्दी ½":              "übung हिन्दी ½",
		"a\xffb\ufffdc":               "a b c",
		"!!":                          "",
		"x" + strings.Repeat("y", 80): "x" + strings.Repeat("y", 80),
		"1.2+":                        "1.2",
	} {
		check.Equal(t, text, strings.Fields(want), append([]string{}, Names(text)...))
	}
}

// TestWordsOfAnIndexAreParts: what names hold together is apart in an index, as FTS5 has it, and nothing else differs.
func TestWordsOfAnIndexAreParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aZü1३½.+#-_ \n\ufffd")), 0, 60, -1).Draw(t, "text")
		check.Equal(t, "words", slices.Collect(All(text)), slices.Collect(All(strings.Join(Names(text), " "))))
	})
	check.Equal(t, "keys and pictures", []string{"a"}, slices.Collect(All("a "+strings.Repeat("b", maxWord+1))))
}

func TestATextHoldsWordsInTheirOrder(t *testing.T) {
	t.Parallel()
	text := TextOf(Names("Mend error-handling"), []string{"", "x"})
	for key, want := range map[string]bool{"error": true, "error handling": true, "handling x": false, "handling error": false, "err": false, "": false} {
		check.Equal(t, key, want, text.Holds(key))
	}
}

func TestScores(t *testing.T) {
	t.Parallel()
	texts := [][]Part{
		{{"zebra", 2}, {"one two three", 1}},
		{{"one", 2}, {"zebra two three", 1}},
		{{"none", 2}, {"zebras two three", 1}},
	}
	got := Scores(texts, []Term{{Word: "zebra", Docs: 2, Rows: 40}})
	check.That(t, got[0] > got[1] && got[1] > got[2] && got[2] == 0, "%v", got)
	check.That(t, Term{Docs: 1, Rows: 40}.Weight() > Term{Docs: 10, Rows: 40}.Weight(), "the rarer word counts less")
}
