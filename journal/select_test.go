package journal_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/journal"
)

// past remembers what two runs did before the one at hand, and eight iterations of
// that one.
func past(t *testing.T) func(journal.Query, journal.Options) journal.Selection {
	t.Helper()
	file := openMemory(t)
	remember(t, file,
		journal.Entry{Run: "r-1", Task: "t-1", Title: "Parse tokens", Notes: "The lexer must run before the parser."},
		journal.Entry{Run: "r-1", Task: "t-2", Title: "Draw trees", Notes: "Boxes are drawn with unicode."},
		journal.Entry{Run: "r-2", Task: "t-3", Title: "Release", Notes: "The changelog needs a date.", Outcome: "failed"},
		journal.Entry{Run: "r-2", Task: "t-4", Title: "The lexer", Outcome: "released"}, // it says nothing
	)
	for i := range 8 {
		remember(t, file, journal.Entry{Run: "r-3", Iteration: i + 1, Task: "t-5", Title: fmt.Sprintf("step %d", i+1), Notes: fmt.Sprintf("lesson%d learned", i+1)})
	}
	return func(q journal.Query, opts journal.Options) journal.Selection {
		t.Helper()
		return choose(t, file, q, opts)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	sel := past(t)
	last := []string{"step 8", "step 7", "step 6", "step 5", "step 4"}
	for name, tt := range map[string]struct {
		query           journal.Query
		opts            journal.Options
		recent, matches []string
	}{
		"the last of this run, newest first, and what speaks of the same":        {journal.Query{Run: "r-3", Title: "Fix the lexer"}, usual, last, []string{"Parse tokens"}},
		"a word of the description counts":                                       {journal.Query{Run: "r-3", Title: "Fix", Description: "see the changelog"}, usual, last, []string{"Release"}},
		"an older iteration of this run can match, a recent one is not repeated": {journal.Query{Run: "r-3", Title: "lesson1 lesson8"}, usual, last, []string{"step 1"}},
		"before a run there is no recent one":                                    {journal.Query{Title: "lexer"}, usual, nil, []string{"Parse tokens"}},
		"numbers are options":                                                    {journal.Query{Run: "r-3", Title: "lexer unicode boxes"}, journal.Options{Recent: 1, Matches: 1, Tokens: 3000}, last[:1], []string{"Draw trees"}},
		"more than there can be is all":                                          {journal.Query{Run: "r-3", Title: "lexer"}, journal.Options{Recent: 1, Matches: math.MaxInt, Tokens: 3000}, last[:1], []string{"Parse tokens"}},
		"zero is none":                                                           {journal.Query{Run: "r-3", Title: "lexer"}, journal.Options{Tokens: 3000}, nil, nil},
		"no recent ones: this run may match":                                     {journal.Query{Run: "r-3", Title: "lesson8"}, journal.Options{Matches: 5, Tokens: 3000}, nil, []string{"step 8"}},
		"nothing speaks of it":                                                   {journal.Query{Run: "r-3", Title: "quux"}, usual, last, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := sel(tt.query, tt.opts)
			check.Equal(t, "result", [][]string{tt.recent, tt.matches}, [][]string{titles(got.Recent), titles(got.Matches)})
		})
	}
}

func TestCommonWordsDoNotHideRareOnes(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	for i := range 1500 {
		notes := "the usual thing happened"
		if i == 3 {
			notes += " with a zebra"
		}
		remember(t, d, journal.Entry{Run: "r-1", Task: "t-1", Title: fmt.Sprint("row", i), Notes: notes})
	}
	rare := choose(t, d, journal.Query{Title: "the usual zebra thing"}, usual)
	check.Equal(t, "rows with the zebra", []string{"row3"}, titles(rare.Matches))
	common := choose(t, d, journal.Query{Title: "the usual thing"}, usual)
	check.Equal(t, "rows for words that are in every row", []string(nil), titles(common.Matches))
}

func TestAWordInTooManyRowsFindsTheNewest(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	var entries []journal.Entry
	for i := range 8000 {
		notes := "x"
		if i%10 == 0 {
			notes = "login"
		}
		entries = append(entries, journal.Entry{Run: "r-1", Task: "t-1", Title: fmt.Sprint("row", i), Notes: notes})
	}
	remember(t, d, entries...)
	got := choose(t, d, journal.Query{Title: "login"}, journal.Options{Matches: 2, Tokens: 3000})
	check.Equal(t, "result", []string{"row7990", "row7980"}, titles(got.Matches))
}

func TestBM25Decides(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second journal.Entry // the second is newer
		want          string
	}{
		"a word in the title counts twice":              {journal.Entry{Title: "zebra", Notes: "one two three"}, journal.Entry{Title: "one", Notes: "zebra two three"}, "zebra"},
		"two words are better than one":                 {journal.Entry{Title: "both", Notes: "zebra lion"}, journal.Entry{Title: "one", Notes: "zebra cub"}, "both"},
		"a word of few rows is better than one of many": {journal.Entry{Title: "rare", Notes: "zebra cub"}, journal.Entry{Title: "usual", Notes: "lion cub"}, "rare"},
		"short is better than long":                     {journal.Entry{Title: "short", Notes: "a zebra"}, journal.Entry{Title: "long", Notes: "a zebra " + strings.Repeat("and so on ", 50)}, "short"},
		"else the newer":                                {journal.Entry{Title: "old", Notes: "zebra"}, journal.Entry{Title: "new", Notes: "zebra"}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openMemory(t)
			for i := range 40 {
				notes := "nothing"
				if i < 10 {
					notes = "a lion"
				}
				remember(t, d, journal.Entry{Run: "r-1", Task: "t-1", Title: "other", Notes: notes})
			}
			tt.first.Run, tt.second.Run = "r-1", "r-1"
			remember(t, d, tt.first, tt.second)
			got := choose(t, d, journal.Query{Title: "zebra lion"}, journal.Options{Matches: 1, Tokens: 3000})
			check.Equal(t, "result", []string{tt.want}, titles(got.Matches))
		})
	}
}
