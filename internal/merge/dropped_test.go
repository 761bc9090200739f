package merge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

const (
	begun  = "begin\ncall(a)\nend\n"
	landed = "begin\ncall(a, limit)\nfunc landed() int {\n\treturn 42\n}\nend\n"
	worked = "begin\ncall(b)\nend\n"
	both   = "begin\ncall(b, limit)\nfunc landed() int {\n\treturn 42\n}\nend\n"
)

// TestDropped: what landed is a call with one more argument, and a function; the work has another argument.
func TestDropped(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("code", begun, "apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "old", strings.Repeat("same\n", 20)+"name\n", "bin", "\x00", "gone", "to stay\n")
	base := r.commit()
	onto := r.with(base, "code", landed, "apart", "1\n2\nthree of nine\n4\n5\n6\n7\n8\n9\n", "bin", "\x00landed", "new", "a new file\n",
		"old", strings.Repeat("same\n", 20)+"name with more\n", "gone", "to stay, with a reason\n")
	work := r.on(base, func() {
		r.write("code", worked, "apart", "1\n2\n3\n4\n5\n6\n7\neight\n9\n", "bin", "\x00worked")
		r.git("mv", "old", "renamed")
		r.write("renamed", strings.Repeat("same\n", 20)+"other name\n")
		r.git("rm", "-q", "gone")
	})
	// What both have, and of a binary file what landed.
	honest := []string{
		"code", both, "apart", "1\n2\nthree of nine\n4\n5\n6\n7\neight\n9\n", "bin", "\x00landed",
		"renamed", strings.Repeat("same\n", 20) + "other name with more\n", "gone", "to stay, with a reason\n",
	}
	resolve := func(pairs ...string) string {
		t.Helper()
		return r.on(onto, func() {
			r.git("rm", "-q", "old")
			r.write(honest...)
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i+1] == "" {
					check.OK(t, os.Remove(filepath.Join(r.dir, pairs[i])))
				} else {
					r.write(pairs[i], pairs[i+1])
				}
			}
		})
	}
	function := []string{"func landed() int {", "\treturn 42"}
	for _, c := range []struct {
		what  string
		pairs []string
		want  []Drop
	}{
		{"both", nil, nil},
		{"all but what landed", []string{"code", worked}, []Drop{{"code", append([]string{"call(a, limit)"}, function...), true}}},
		{"the call only", []string{"code", "begin\ncall(b, limit)\nend\n"}, []Drop{{"code", function, true}}},
		{"the function only", []string{"code", "begin\ncall(b)\nfunc landed() int {\n\treturn 42\n}\nend\n"}, []Drop{{"code", []string{"call(a, limit)"}, true}}},
		{"in another order, with other white space", []string{"code", "func  landed()  int {\nreturn 42\n}\n\nbegin\ncall( b, limit )\nend\n"}, nil},
		{"in another file", []string{"code", "begin\ncall(b, limit)\nend\n", "moved", "func landed() int {\nreturn 42\n}\n"}, nil},
		{"in a file of another name", []string{"code", "", "moved", both}, nil},
		{"not the file", []string{"code", ""}, []Drop{{"code", append([]string{"call(a, limit)"}, function...), true}}},
		{"what was not in conflict", []string{"apart", "1\n2\n3\n4\n5\n6\n7\neight\n9\n"}, []Drop{{"apart", []string{"three of nine"}, false}}},
		{"a new file", []string{"new", ""}, []Drop{{"new", []string{"a new file"}, false}}},
		{"a binary file", []string{"bin", "\x00worked"}, []Drop{{"bin", nil, true}}},
		{"a binary file by another name", []string{"bin", "", "bin2", "\x00landed"}, nil},
		{"of a renamed file", []string{"renamed", strings.Repeat("same\n", 20) + "other name\n"}, []Drop{{"old", []string{"name with more"}, true}}},
		{"what the work deleted", []string{"gone", ""}, []Drop{{"gone", []string{"to stay, with a reason"}, true}}},
	} {
		got, err := Dropped(t.Context(), r.Repo, work, onto, resolve(c.pairs...))
		check.OK(t, err)
		check.Equal(t, c.what, c.want, got)
	}
	_, err := Dropped(t.Context(), r.Repo, strings.Repeat("1", 40), onto, onto)
	check.Err(t, "without the work", "is gone", err)
}

// TestALargeFileIsComparedAsAWhole, unless it is as git merged it.
func TestALargeFileIsComparedAsAWhole(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	large := strings.Repeat("a line of a large file\n", 100_000)
	base := r.with(r.head(), "code", begun, "large", large)
	onto := r.with(base, "code", landed, "large", large+"landed\n")
	work := r.with(base, "code", worked, "large", "worked\n"+large)
	for text, want := range map[string][]Drop{"worked\n" + large + "landed\n": nil, "worked\n" + large: {{"large", nil, false}}} {
		got, err := Dropped(t.Context(), r.Repo, work, onto, r.with(onto, "code", both, "large", text))
		check.OK(t, err)
		check.Equal(t, "dropped", want, got)
	}
}

// TestWhatLandedFollowsTheWork: a name that the work gave up may be gone from what landed, too.
func TestWhatLandedFollowsTheWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.with(r.head(), "code", "use(pile)\nother\n")
	onto := r.with(base, "code", "use(pile)\nwrap(pile, \"packets\")\nother\n")
	work := r.with(base, "code", "use(heap)\nother\n")
	got, err := Dropped(t.Context(), r.Repo, work, onto, r.with(onto, "code", "use(heap)\nwrap(heap, \"packets\")\nother\n"))
	check.OK(t, err)
	check.Equal(t, "renamed", []Drop(nil), got)
	got, err = Dropped(t.Context(), r.Repo, work, onto, r.with(onto, "code", "use(heap)\nother\n"))
	check.OK(t, err)
	check.Equal(t, "dropped", []Drop{{"code", []string{`wrap(pile, "packets")`}, true}}, got)
}

// text draws lines of a few words, so that many are alike.
func text(t *rapid.T, what string) []string {
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "call(", ")", "}", "\t", "x,"}), 0, 4).Draw(t, "words"), " ")
	})
	return rapid.SliceOfN(line, 0, 4).Draw(t, what)
}

// TestAMergeWithoutConflictsDropsNothing, even if all of it is compared.
func TestAMergeWithoutConflictsDropsNothing(t *testing.T) {
	raced.Long(t, "one merge after the other is made here")
	t.Parallel()
	r := newRepo(t)
	none := func(string, string) bool { return false }
	rapid.Check(t, func(t *rapid.T) {
		var sides [3]string // base, what landed, the work
		for range rapid.IntRange(1, 6).Draw(t, "blocks") {
			block := text(t, "block")
			turn := rapid.IntRange(0, 2).Draw(t, "who changes it")
			for i := range sides {
				lines := block
				if i == turn && i > 0 {
					lines = text(t, "instead")
				}
				sides[i] += strings.Join(append(slices.Clone(lines), "-- between --", ""), "\n")
			}
		}
		if rapid.Bool().Draw(t, "both do the same") {
			same := strings.Join(text(t, "at the end"), "\n")
			sides[1], sides[2] = sides[1]+same, sides[2]+same
		}
		var in strings.Builder
		for i, side := range sides {
			fmt.Fprintf(&in, "commit refs/heads/side-%d\nmark :%d\ncommitter n <e> 0 +0000\ndata 0\n", i, i+1)
			if i > 0 {
				in.WriteString("from :1\n")
			}
			name := "file"
			if i == 2 && rapid.Bool().Draw(t, "renamed") {
				name = "renamed"
				in.WriteString("D file\n")
			}
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(side), side)
		}
		r.input(in.String(), "fast-import", "--quiet", "--force")
		base, onto, work := r.git("rev-parse", "side-0"), r.git("rev-parse", "side-1"), r.git("rev-parse", "side-2")
		merged, err := r.Merge(background, base, onto, work)
		check.OK(t, err)
		if len(merged.Files) > 0 {
			t.Skip("in conflict")
		}
		var of [3][]change
		for i, pair := range [][2]string{{base, onto}, {base, work}, {onto, merged.Tree}} {
			of[i], err = changes(background, r.Repo, pair[0], pair[1])
			check.OK(t, err)
		}
		check.Equal(t, "dropped", []Drop(nil), dropped(of[0], of[1], of[2], none))
	})
}

// TestEveryLineThatLandedIsMissed: whichever is taken out, if it says something that is said nowhere else.
func TestEveryLineThatLandedIsMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file := func(hunks ...hunk) []change { return []change{{old: "file", path: "file", hunks: hunks}} }
		came, own := hunk{minus: text(t, "was"), plus: text(t, "is")}, hunk{minus: text(t, "was, too"), plus: text(t, "work")}
		line := "unheard " + strings.Join(text(t, "of"), " ")
		came.plus = slices.Insert(came.plus, rapid.IntRange(0, len(came.plus)).Draw(t, "at"), line)
		gone := hunk{minus: []string{line}}
		marked := func(string, string) bool { return true }
		without := dropped(file(came), file(own), file(own, gone), marked)
		check.Equal(t, "without it", []Drop{{"file", []string{line}, true}}, without)
		moved := append(file(own, gone), change{old: "other", path: "other", hunks: []hunk{{plus: []string{"\t" + strings.ReplaceAll(line, " ", "  ")}}}})
		check.Equal(t, "moved", []Drop(nil), dropped(file(came), file(own), moved, marked))
	})
}
