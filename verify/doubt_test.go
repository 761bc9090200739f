package verify

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/git"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/sigils"
)

var changes = []git.Change{
	{Path: "a_test.go", Patch: `diff --git a/a_test.go b/a_test.go
index 1..2 100644
--- a/a_test.go
+++ b/a_test.go
@@ -1,2 +1,2 @@ func TestA
-want 2
+want 1
@@ -9 +9 @@
--- a comment
+++ another
`},
	{Path: "old name.txt", Patch: "diff --git a/old name.txt b/old name.txt\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-diff --git a/x b/x\n"},
	{Path: "run.sh", Patch: "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"},
	{Path: "beyond.txt"},
	{Path: "long.txt", Cut: true, Patch: "diff --git a/long.txt b/long.txt\n@@ -1 +1 @@\n-a\n+b\n"},
}

func TestHunks(t *testing.T) {
	t.Parallel()
	want := []Doubt{
		{File: "a_test.go", Patch: "@@ -1,2 +1,2 @@ func TestA\n-want 2\n+want 1\n"},
		{File: "a_test.go", Patch: "@@ -9 +9 @@\n--- a comment\n+++ another\n"},
		{File: "old name.txt", Patch: "deleted file mode 100644\n@@ -1 +0,0 @@\n-diff --git a/x b/x\n"},
		{File: "run.sh", Patch: "old mode 100755\nnew mode 100644\n"},
		{File: "beyond.txt"},
		{File: "long.txt", Patch: "@@ -1 +1 @@\n-a\n+b\n"},
		{File: "long.txt", Patch: "[cut: this patch is longer than what was read of it]\n"},
	}
	check.Equal(t, "hunks", want, hunks(changes))
}

// TestManyHunks: nothing is lost where there are too many to be asked about one by one.
func TestManyHunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		files, each := rapid.IntRange(0, 120).Draw(t, "files"), rapid.IntRange(1, 5).Draw(t, "hunks of each")
		var list []git.Change
		for i := range files {
			c := git.Change{Path: fmt.Sprint("f", i)}
			for j := range each {
				c.Patch += fmt.Sprintf("@@ -%d +%d @@\n-f%d h%d.\n", j, j, i, j)
			}
			list = append(list, c)
		}
		got := hunks(list)
		check.That(t, len(got) <= maxHunks, "got %d hunks", len(got))
		var all strings.Builder
		for _, h := range got {
			all.WriteString(h.File + h.Patch)
		}
		for i := range files {
			for j := range each {
				line := fmt.Sprintf("-f%d h%d.\n", i, j)
				check.That(t, strings.Contains(all.String(), line), "%q is lost", line)
			}
		}
	})
}

func TestADoubtNamesTheFilesWithWhichAGateFails(t *testing.T) {
	t.Parallel()
	failed := Result{Command: "make", Exit: "exit status 2"}
	a, b := git.Change{Path: "a.py", Kind: git.Modified, Patch: "@@ 1\n@@ 2\n"}, git.Change{Path: "b.py", Kind: git.Added}
	for want, list := range map[string][]git.Change{
		`gate "make" fails with a.py as before the work: exit status 2`:                                {a},
		`gate "make" fails without b.py from the work: exit status 2`:                                  {b},
		`gate "make" fails with a.py as before the work and without b.py from the work: exit status 2`: {a, b},
	} {
		check.Equal(t, "doubt", want, Whys(Changed(list, failed, nil)))
	}
}

// TestAVerifierClearsDoubts: changed checks by words of the task, what landed and is missing by the agent's reason, and what could not be
// checked by its own words. What has neither is for a person.
func TestAVerifierClearsDoubts(t *testing.T) {
	t.Parallel()
	task := []string{"Say hello once", "The greeting comes\n> once, not *twice*.\n\nTests too\n\n删除问候功能和它的测试。"}
	doubts := []Doubt{
		{Why: "gate fails", File: "a_test.go", Patch: "@@", Words: task},
		{Why: "test file deleted: b_test.go", Words: task},
		{Why: "dropped", Words: []string{"Nobody calls it any more."}},
		{Why: "whether it passes is not known", Open: true},
		{Why: "lost"},
	}
	of := func(text string, from, to int) sigils.Answer {
		return sigils.Answer{Changes: []sigils.Range{{From: from, To: to}}, Text: text}
	}
	answers := func(list ...sigils.Answer) []sigils.Answer { return list }
	all := func(text string) []sigils.Answer {
		return answers(of(text, 1, 2), of("nobody calls it any more", 3, 3), of("I ran it.", 4, 4))
	}
	const unsaid = "the verifier does not clear change 1 (a_test.go)"
	wrong := func(text string) string {
		return fmt.Sprintf("%s, but only in words that are not there: %q", unsaid, text)
	}
	for name, tt := range map[string]struct {
		asked   []sigils.Answer
		left    string // besides what no verifier clears
		problem string
	}{
		"one sentence for several":            {all("The greeting comes once, not twice."), "", ""},
		"a sentence each":                     {append(all("say HELLO once"), of("greeting comes once", 2, 2)), "", ""},
		"a second answer that is better":      {append(all("it had to"), of("Say hello once", 1, 2)), "", ""},
		"a short line that is whole":          {all("tests too"), "", ""},
		"a sentence without spaces":           {all("删除问候功能和它的测试"), "", ""},
		"a number that does not exist":        {append(all("Say hello once"), of("x", 9, 9)), "", ""},
		"nothing":                             {nil, "gate fails; test file deleted: b_test.go; dropped; whether it passes is not known; ", unsaid},
		"a change without an answer":          {append(all("Say hello once")[1:], of("Say hello once", 1, 1)), "test file deleted: b_test.go; ", "the verifier does not clear change 2 (test file deleted: b_test.go)"},
		"words that the task does not have":   {all("Remove the old tests"), "gate fails; test file deleted: b_test.go; ", wrong("Remove the old tests")},
		"words in another order":              {all("once hello say"), "gate fails; test file deleted: b_test.go; ", wrong("once hello say")},
		"half a word":                         {all("ay hello once"), "gate fails; test file deleted: b_test.go; ", wrong("ay hello once")},
		"a word or two, which are everywhere": {all("the greeting"), "gate fails; test file deleted: b_test.go; ", wrong("the greeting")},
		"signs only":                          {all("..."), "gate fails; test file deleted: b_test.go; ", wrong("...")},
		"the reason is not the task's":        {append(all("Say hello once"), of("nobody calls it any more", 5, 5))[:2], "whether it passes is not known; ", "the verifier does not clear change 4 (whether it passes is not known)"},
		"no word about what was not checked":  {append(all("Say hello once")[:2], of(" ", 4, 4)), "whether it passes is not known; ", `the verifier does not clear change 4 (whether it passes is not known), but only in words that are not there: " "`},
	} {
		left, problem := left(doubts, sigils.Set{Asked: tt.asked})
		check.Equal(t, name, tt.left+"lost", Whys(left))
		check.Equal(t, name+": problem", tt.problem, problem)
	}
	left, problem := left(nil, sigils.Set{})
	check.That(t, len(left) == 0 && problem == "", "no doubt needs no answer: %q", problem)
	for want, w := range map[string]sigils.Answer{
		"the verifier says that change 1 (a_test.go), change 2 (test file deleted: b_test.go) is wrong: expects 1 now": of("expects 1 now", 1, 2),
		"the verifier says that a change is wrong": {},
	} {
		check.Equal(t, "wrong", want, weakened(doubts, sigils.Set{Asked: all("Say hello once"), Weakened: answers(w)}))
	}
}

// TestEveryDoubtNeedsAnAnswer holds any answers against any doubts.
func TestEveryDoubtNeedsAnAnswer(t *testing.T) {
	t.Parallel()
	const sentence = "Say hello once"
	rapid.Check(t, func(t *rapid.T) {
		doubts := rapid.SliceOfN(rapid.SampledFrom([]Doubt{{Words: []string{sentence}}, {Open: true}, {}}), 0, 8).Draw(t, "doubts")
		answer := rapid.Custom(func(t *rapid.T) sigils.Answer {
			from := rapid.IntRange(1, 9).Draw(t, "from")
			text := rapid.SampledFrom([]string{sentence, "something else", ""}).Draw(t, "text")
			return sigils.Answer{Changes: []sigils.Range{{From: from, To: from + rapid.IntRange(0, 8).Draw(t, "more")}}, Text: text}
		})
		said := sigils.Set{Asked: rapid.SliceOfN(answer, 0, 5).Draw(t, "asked")}
		want := 0
		for n, d := range doubts {
			covered := false
			for _, a := range said.Asked {
				covered = covered || (a.Text == sentence && len(d.Words) > 0 || a.Text != "" && d.Open) && a.Changes[0].From <= n+1 && n+1 <= a.Changes[0].To
			}
			if !covered {
				want++
			}
		}
		left, _ := left(doubts, said)
		check.Equal(t, "left", want, len(left))
	})
}
