package features

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
	"ralph/sigils"
)

// TestTheLastBlockOfTasksIsTheAnswer, whatever an agent writes around it, and however it marks the block.
func TestTheLastBlockOfTasksIsTheAnswer(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"Here it is:\n", "\n", "- a point\n", "> quoted\n", "```sh\nls -l\n```\n", "~~~\nno list\n~~~\n", "`{\"title\"}`\n", "\u00a0\n", "<task-done>t-1</task-done>\n"})
	rapid.Check(t, func(t *rapid.T) {
		prose := func(name string) string { return strings.Join(rapid.SliceOfN(words, 0, 4).Draw(t, name), "") }
		said, want := prose("before"), ""
		for range rapid.IntRange(0, 3).Draw(t, "blocks") {
			title := rapid.StringMatching("[a-z`~ ]{1,12}").Draw(t, "title")
			tasks := strings.Repeat(`{"title":"`+title+`"}`+"\n", rapid.IntRange(1, 3).Draw(t, "tasks"))
			fence := rapid.SampledFrom([]string{"```", "~~~", "````"}).Draw(t, "fence")
			said += fence + rapid.SampledFrom([]string{"", "json", "jsonl"}).Draw(t, "language") + "\n" + tasks + fence + "\n" + prose("after")
			want = tasks
		}
		if got := taskBlock(said); got != want {
			t.Fatalf("got %q, want %q of:\n%s", got, want, said)
		}
	})
}

// TestFilesThatATextNamesAreInIt: none leads out of the project, and none is named twice.
func TestFilesThatATextNamesAreInIt(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"`", "/", "..", "../", "./", ".go", "a/b.go", "`x.go`", "`../x.go`", "http://", "a/../b.c", " ", "(", "\n", "/etc/passwd", "`/etc/x.conf`"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "text"), "")
		paths := pathsIn(text)
		for i, path := range paths {
			if path == "" || strings.Contains(path, "..") || !strings.Contains(text, path) || slices.Contains(paths[:i], path) {
				t.Fatalf("%q in %q of %q", path, paths, text)
			}
		}
	})
}

// TestOnlyAWordOfItsOwnIsAFinding: a review that says nothing is not one that found nothing.
func TestOnlyAWordOfItsOwnIsAFinding(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		said    sigils.Set
		changed bool
		want    string
	}{
		"it passes":                      {sigils.Set{VerifyPass: true}, false, ""},
		"it passes what it changed":      {sigils.Set{VerifyPass: true}, true, "nothing, it says, but it changed the document"},
		"it says nothing":                {sigils.Set{}, false, "no verdict, which counts as a failed pass"},
		"it fails":                       {sigils.Set{VerifyFail: true, VerifyReason: " too long\n"}, false, "too long"},
		"it fails without a reason":      {sigils.Set{VerifyFail: true, VerifyReason: " \n"}, true, "something, without saying what"},
		"both: what it found stays true": {sigils.Set{VerifyPass: true, VerifyFail: true, VerifyReason: "too long"}, false, "too long"},
	} {
		check.Equal(t, name, tt.want, findingOf(tt.said, tt.changed))
	}
}
