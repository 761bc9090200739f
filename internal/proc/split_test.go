package proc

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	_ "ralph/internal/testing/seeded" // the same values each time

	"ralph/internal/testing/check"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"words":                      {"opencode  acp", []string{"opencode", "acp"}},
		"single quotes":              {`a 'b c' 'd$e' '$(f)'`, []string{"a", "b c", "d$e", "$(f)"}},
		"double quotes":              {`a "b c" "d\"e" "f\\g" "h\$i" "j\k"`, []string{"a", "b c", `d"e`, `f\g`, "h$i", `j\k`}},
		"backslashes":                {`a b\ c d\\e \$HOME`, []string{"a", "b c", `d\e`, "$HOME"}},
		"glued parts":                {`--x='a b'"c"d`, []string{"--x=a bcd"}},
		"empty words":                {`a "" ''`, []string{"a", "", ""}},
		"wildcards are literal":      {`a *.go b? [c] {d,e}`, []string{"a", "*.go", "b?", "[c]", "{d,e}"}},
		"a lone dollar is literal":   {`a $ "b$"`, []string{"a", "$", "b$"}},
		"quoted tilde":               {`'~/x' a~`, []string{"~/x", "a~"}},
		"lines joined":               {"a \\\n b", []string{"a", "b"}},
		"assignments are only words": {"env A=b cmd", []string{"env", "A=b", "cmd"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Split(tc.in)
			check.OK(t, err)
			check.Equal(t, "result", tc.want, got)
		})
	}
}

func TestSplitRefusesWhatAShellWouldExpand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":              "empty",
		"   ":           "empty",
		"a $HOME":       "$HOME is not expanded",
		`a "${X:-y}"`:   "${X:-y} is not expanded",
		"a $(b)":        "$(b) is not expanded",
		"a `b`":         "is not expanded",
		"a $((1+2))":    "is not expanded",
		"~/bin/agent":   "~ is not expanded",
		"a; b":          "sh -c",
		"a | b":         "sh -c",
		"a && b":        "sh -c",
		"a > b":         "sh -c",
		"a 'unfinished": "quote",
		`a "unfinished`: "quote",
		"a (b)":         "sh -c",
	} {
		if got, err := Split(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want an error with %q", in, got, err, want)
		}
	}
}

func TestEnvironmentOfAProcess(t *testing.T) {
	t.Parallel()
	got := withMarker([]string{"A=1", "B=2", "A=3", MarkerEnv + "=outer/1", "C=a\x00b", "D="}, "inner/2")
	want := []string{"B=2", "A=3", "D=", MarkerEnv + "=inner/2"}
	check.Equal(t, "result", want, got)
}

// Quoting any words and splitting them again gives the same words, line ends
// aside.
func TestSplitUndoesQuoting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[^\x00]*`), 1, 5).Draw(t, "words")
		var quoted []string
		for _, word := range words {
			if q, err := syntax.Quote(word, syntax.LangPOSIX); err == nil {
				quoted = append(quoted, q)
			} else {
				quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
			}
		}
		got, err := Split(strings.Join(quoted, " "))
		check.OK(t, err)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\r\n", "\n")
		}
		check.Equal(t, "result", words, got)
	})
}
