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
	{Path: "beyond.txt"}, // what was read of the whole patch
}

func TestHunks(t *testing.T) {
	t.Parallel()
	want := []Hunk{
		{1, "a_test.go", "@@ -1,2 +1,2 @@ func TestA\n-want 2\n+want 1\n"},
		{2, "a_test.go", "@@ -9 +9 @@\n--- a comment\n+++ another\n"},
		{3, "old name.txt", "deleted file mode 100644\n@@ -1 +0,0 @@\n-diff --git a/x b/x\n"},
		{4, "run.sh", "old mode 100755\nnew mode 100644\n"},
		{5, "beyond.txt", ""},
	}
	check.Equal(t, "hunks", want, Hunks(changes))
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
		got := Hunks(list)
		check.That(t, len(got) <= maxHunks, "got %d hunks", len(got))
		var all strings.Builder
		for i, h := range got {
			check.Equal(t, "number", i+1, h.N)
			all.WriteString(h.File + h.Text)
		}
		for i := range files {
			for j := range each {
				line := fmt.Sprintf("-f%d h%d.\n", i, j)
				check.That(t, strings.Contains(all.String(), line), "%q is lost", line)
			}
		}
	})
}

func TestDoubtSaysWithWhichFilesAGateFails(t *testing.T) {
	t.Parallel()
	failed := []Result{{Command: "make", Exit: "exit status 2"}}
	for want, d := range map[string]Doubt{
		`gate "make" fails with a_test.go as before the work: exit status 2`:                              {Files: []string{"a_test.go"}, Failed: failed},
		`gate "make" fails without conftest.py from the work: exit status 2`:                              {New: []string{"conftest.py"}, Failed: failed},
		`gate "make" fails with a.py as before the work and without b.py from the work: exit status 2; x`: {Files: []string{"a.py"}, New: []string{"b.py"}, Failed: failed, Findings: []string{"x"}},
	} {
		check.Equal(t, "doubt", want, d.String())
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	d := &Doubt{Hunks: Hunks(changes)[:2], Findings: []string{"test file deleted: b_test.go"}, Failed: []Result{{Command: "go test"}}}
	task := []string{"Say hello once", "The greeting comes\n> once, not *twice*.\n\nTests too\n\n删除问候功能和它的测试。"}
	of := func(text string, from, to int) sigils.Answer {
		return sigils.Answer{Changes: []sigils.Range{{From: from, To: to}}, Text: text}
	}
	asked := func(answers ...sigils.Answer) sigils.Set { return sigils.Set{VerifyPass: true, Asked: answers} }
	const silent = "the verifier does not say of change 3 (test file deleted: b_test.go) that the task asks for it"
	missing := func(text string) string {
		return fmt.Sprintf("the verifier does not say of change 1 (a_test.go) that the task asks for it, but only in words that the task does not have: %q", text)
	}
	tests := map[string]struct {
		said    sigils.Set
		problem string
		final   bool
	}{
		"one sentence for all":                {asked(of("The greeting comes once, not twice.", 1, 3)), "", true},
		"a sentence each":                     {asked(of("say HELLO once", 1, 1), of("greeting comes once", 2, 3)), "", true},
		"a second answer that is better":      {asked(of("it had to", 1, 3), of("Say hello once", 1, 3)), "", true},
		"a short line that is whole":          {asked(of("tests too", 1, 3)), "", true},
		"a sentence without spaces":           {asked(of("删除问候功能和它的测试", 1, 3)), "", true},
		"a number that there is not":          {asked(of("Say hello once", 1, 9)), "", true},
		"a change without an answer":          {asked(of("Say hello once", 1, 2)), silent, false},
		"no answer":                           {asked(), "the verifier does not say of change 1 (a_test.go) that the task asks for it", false},
		"words that the task does not have":   {asked(of("Remove the old tests", 1, 3)), missing("Remove the old tests"), false},
		"words in another order":              {asked(of("once hello say", 1, 3)), missing("once hello say"), false},
		"half a word":                         {asked(of("ay hello once", 1, 3)), missing("ay hello once"), false},
		"a word or two, which are everywhere": {asked(of("the greeting", 1, 3)), missing("the greeting"), false},
		"signs only":                          {asked(of("...", 1, 3)), missing("..."), false},
		"weakened wins": {
			sigils.Set{VerifyPass: true, Asked: asked(of("Say hello once", 1, 3)).Asked, Weakened: []sigils.Answer{of("expects 1 now", 1, 2)}},
			"the verifier says that change 1 (a_test.go), change 2 (a_test.go) weakens a check: expects 1 now", true,
		},
		"weakened without a number wins, too": {
			sigils.Set{Asked: asked(of("Say hello once", 1, 3)).Asked, Weakened: []sigils.Answer{{}}}, "the verifier says that a change weakens a check", true,
		},
	}
	for name, tt := range tests {
		problem, final := d.clear(tt.said, task)
		check.Equal(t, name, tt.problem, problem)
		check.Equal(t, name+": final", tt.final, final)
	}
	problem, final := (*Doubt)(nil).clear(sigils.Set{}, nil)
	check.That(t, problem == "" && final, "no doubt needs no answer: %q", problem)
}

// TestHeld: a verifier clears what waits for a person in the words that are given for it, and only there.
func TestHeld(t *testing.T) {
	t.Parallel()
	d := &Doubt{Held: []Held{{"outside", []string{"Change the other folder"}}, {"dropped", []string{"Nobody calls it any more."}}, {"lost", nil}}}
	says := func(n int, text string) sigils.Answer {
		return sigils.Answer{Changes: []sigils.Range{{From: n, To: n}}, Text: text}
	}
	for name, tt := range map[string]struct {
		asked []sigils.Answer
		want  []string
	}{
		"nothing":     {nil, []string{"outside", "dropped", "lost"}},
		"all that is": {[]sigils.Answer{says(1, "Change the other folder"), says(2, "nobody calls it any more")}, []string{"lost"}},
		"by others' words": {
			[]sigils.Answer{says(1, "nobody calls it any more"), says(2, "Change the other folder"), says(3, "nobody calls it any more")},
			[]string{"outside", "dropped", "lost"},
		},
	} {
		check.Equal(t, name, tt.want, d.left(sigils.Set{Asked: tt.asked}))
	}
	problem, final := d.clear(sigils.Set{VerifyPass: true}, nil)
	check.That(t, problem == "" && final, "what is held rejects nothing: %q", problem)
	problem, _ = d.clear(sigils.Set{Weakened: []sigils.Answer{says(2, "main calls it")}}, nil)
	check.Equal(t, "wrong", "the verifier says that change 2 (dropped) is wrong: main calls it", problem)
	d.Findings = []string{"test file deleted: a_test.go"}
	check.Equal(t, "numbered after the changes", 4, d.Waiting()[2].N)
}

// TestClearNeedsAnAnswerForEveryChange holds any answers against any doubt.
func TestClearNeedsAnAnswerForEveryChange(t *testing.T) {
	t.Parallel()
	const sentence = "Say hello once"
	rapid.Check(t, func(t *rapid.T) {
		d := &Doubt{
			Hunks: Hunks(changes)[:rapid.IntRange(0, 5).Draw(t, "hunks")], Failed: []Result{{}},
			Findings: rapid.SliceOfN(rapid.Just("deleted"), 0, 3).Draw(t, "findings"),
		}
		answer := rapid.Custom(func(t *rapid.T) sigils.Answer {
			from := rapid.IntRange(1, 9).Draw(t, "from")
			text := rapid.SampledFrom([]string{sentence, "something else", ""}).Draw(t, "text")
			return sigils.Answer{Changes: []sigils.Range{{From: from, To: from + rapid.IntRange(0, 8).Draw(t, "more")}}, Text: text}
		})
		said := sigils.Set{Asked: rapid.SliceOfN(answer, 0, 5).Draw(t, "asked"), Weakened: rapid.SliceOfN(answer, 0, 1).Draw(t, "weakened")}
		all := true
		for n := 1; n <= len(d.Hunks)+len(d.Findings); n++ {
			covered := false
			for _, a := range said.Asked {
				covered = covered || a.Text == sentence && a.Changes[0].From <= n && n <= a.Changes[0].To
			}
			all = all && covered
		}
		problem, _ := d.clear(said, []string{sentence})
		check.Equal(t, "cleared", all && len(said.Weakened) == 0, problem == "")
	})
}
