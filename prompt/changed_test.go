package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/prompt"
)

func patchOf(file string, lines ...string) prompt.Changed {
	return prompt.Changed{
		Path: file, Added: len(lines),
		Patch: fmt.Sprintf("diff --git a/%s b/%s\nindex 814f4a4..99b356d 100644\n--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@ func x\n context\n", file, file, file, file, len(lines), len(lines)) +
			strings.Join(lines, "\n") + "\n more context\n",
	}
}

// TestNothingHidesALineOfCode: neither one large file of data, nor many small ones of any kind, nor a long specification.
func TestNothingHidesALineOfCode(t *testing.T) {
	t.Parallel()
	large := make([]string, 9000)
	for i := range large {
		large[i] = fmt.Sprintf(`+  {"id": %d, "name": "an entry of the table"},`, i)
	}
	small := func(format string) (files []prompt.Changed) {
		for i := range 400 {
			files = append(files, patchOf(fmt.Sprintf(format, i), "+one line", "+and another one, which is longer than the first", "+three"))
		}
		return files
	}
	code := patchOf("z/pay.go", "-\treturn check(amount)", "+\treturn true // 4711")
	for name, files := range map[string][]prompt.Changed{
		"one large file":           {patchOf("a.json", large...)},
		"400 files of data":        small("data/%d.json"),
		"400 files of text":        small("notes/%d.md"),
		"400 files of code":        small("gen/%d.go"),
		"400 files of any name":    small("n/%d"),
		"one large file of code":   {patchOf("a.go", large...)},
		"all of them":              append(append(small("a/%d.json"), small("b/%d.py")...), patchOf("a.json", large...)),
		"a large change elsewhere": {patchOf("a_test.go", large...), patchOf("b.go", large...)},
	} {
		for _, tt := range []struct {
			name  string
			in    prompt.VerifyInput
			small bool
		}{
			{"alone", prompt.VerifyInput{}, false},
			{"with documents", prompt.VerifyInput{Spec: prompt.Document{Text: numbered("Requirement", 20_000)}, Plan: prompt.Document{Text: numbered("Step", 20_000)}}, false},
			{"with gates", prompt.VerifyInput{Gates: []prompt.Gate{{Name: "make", Output: numbered("line", 9000)}}, Task: prompt.Task{Description: numbered("Do", 9000)}}, false},
		} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				tt.in.Diff = prompt.Difference{Base: "aaaaaaaaaaaaaaaaaaaaaaaa", Work: "bbbbbbbbbbbbbbbbbbbbbbbb", Files: append(append([]prompt.Changed{}, files...), code)}
				got := prompt.Verify(tt.in)
				check.That(t, strings.Contains(got, "return true // 4711"), "the line is not in the prompt")
				check.That(t, strings.Contains(got, "> code: z/pay.go: +2 -0"), "the file is not in the list")
				check.That(t, prompt.Tokens(got) <= prompt.DefaultBudget, "the prompt has %d tokens", prompt.Tokens(got))
				check.That(t, strings.Contains(got, "; all of it: `git diff aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb`]") || !strings.Contains(got, "> [cut"), "the prompt does not name where all of it is")
			})
		}
	}
}

func TestWhatIsCutNamesTheCommandThatShowsIt(t *testing.T) {
	t.Parallel()
	lines := make([]string, 9000)
	for i := range lines {
		lines[i] = fmt.Sprintf("+line %d of many", i)
	}
	moved := patchOf("it's [new] & large.go", lines...)
	moved.Old = ":old.go"
	short := patchOf("a.json", "+one")
	short.Cut = true
	in := prompt.VerifyInput{Diff: prompt.Difference{Base: "1f0c9a3e", Work: "2e1d8b4f", Files: []prompt.Changed{moved, short}}}
	got := prompt.Verify(in)
	for _, want := range []string{
		"\n> [cut: git diff 1f0c9a3e 2e1d8b4f -- ./:old.go 'it'\\''s [new] & large.go']\n", "\n> [cut: git diff 1f0c9a3e 2e1d8b4f -- a.json]",
		"From `git diff --stat 1f0c9a3e 2e1d8b4f`:", "[cut: 1 of 2 files are shown whole; all of it: `git diff 1f0c9a3e 2e1d8b4f`]",
	} {
		check.That(t, strings.Contains(got, want), "%q is missing", want)
	}
	check.That(t, !strings.Contains(got, "> context") && strings.Contains(got, "> it's [new] & large.go:\n> @@ +1\n> +line 0 of many"), "unchanged lines are shown before changed ones")
}

func TestCodeComesBeforeText(t *testing.T) {
	t.Parallel()
	var in prompt.VerifyInput
	for _, file := range []string{
		"README.md", "go.sum", "package-lock.json", "a.json", "logo.svg", "src/__snapshots__/a.snap", "testdata/x.go", "api.pb.go", "app.min.js", // in this order
		"main.go", "lib/a.PY", "package.json", "tsconfig.base.json", ".eslintrc.json", "Makefile", "sub/Dockerfile", ".github/workflows/ci.yml", "jest.config.js", "bin/run.sh", "UNKNOWN",
	} {
		in.Diff.Files = append(in.Diff.Files, patchOf(file, "+x"))
	}
	var got []string
	for line := range strings.SplitSeq(prompt.Verify(in), "\n") {
		if file, ok := strings.CutSuffix(line, ": +1 -0"); ok {
			got = append(got, strings.TrimPrefix(file, "> "))
		}
	}
	want := "code: main.go|code: lib/a.PY|code: package.json|code: tsconfig.base.json|code: .eslintrc.json|code: Makefile|code: sub/Dockerfile|code: .github/workflows/ci.yml|" +
		"code: jest.config.js|code: bin/run.sh|text: README.md|text: UNKNOWN|data: go.sum|data: package-lock.json|data: a.json|data: logo.svg|data: src/__snapshots__/a.snap|" +
		"data: testdata/x.go|data: api.pb.go|data: app.min.js"
	check.Equal(t, "the list", want, strings.Join(got, "|"))
}
