package taskfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
)

func parsed(t interface{ Fatalf(string, ...any) }, text string) File {
	f, err := ParseFile([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return f
}

// edit changes a plan as a person does: one more task, one less, or a field of one.
func edit(t *rapid.T, side string, f File) File {
	f.lines = slices.Clone(f.lines)
	changed := func(i int, key string, value any) {
		r := &f.lines[i]
		r.set(key, value)
		r.set(keyRev, r.rev()+1)
	}
	for n := range rapid.IntRange(0, 6).Draw(t, "edits") {
		var live []int
		for i, r := range f.lines {
			if !r.dead() {
				live = append(live, i)
			}
		}
		what := rapid.IntRange(0, 9).Draw(t, "what")
		if len(live) == 0 || what < 3 {
			ref := fmt.Sprintf("t-%s%07x", side, len(f.lines)*8+n)
			f.lines = append(f.lines, parsed(t, fmt.Sprintf(`{"ref":%q,"title":"T %s","rev":1}`, ref, ref)).lines...)
			continue
		}
		i := rapid.SampledFrom(live).Draw(t, "task")
		other := f.lines[rapid.SampledFrom(live).Draw(t, "other")].ref
		switch what {
		case 3:
			changed(i, keyDeleted, "2026-01-01T00:00:00Z")
		case 4:
			changed(i, "title", rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "title"))
		case 5:
			changed(i, "status", rapid.SampledFrom([]string{"done", "pending", "failed"}).Draw(t, "status"))
		case 6:
			changed(i, "gates", rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3).Draw(t, "gates"))
		case 7:
			changed(i, "x-"+side, rapid.IntRange(0, 3).Draw(t, "new key"))
		default:
			before := f.lines[i]
			if what == 8 {
				changed(i, "parent", other)
			} else if list := f.lines[i].list("after"); !slices.Contains(list, other) {
				changed(i, "after", append(list, other))
			}
			if dag.FindCycle(f.Specs()) != nil {
				f.lines[i] = before // ralph refuses it
			}
		}
	}
	return f
}

// TestTwoClonesEndWithOnePlan has two people edit their clones and merge, each on their own side, again and again: both have
// the same bytes, without a cycle, and what only one of them changed is there.
func TestTwoClonesEndWithOnePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := edit(t, "0", File{})
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			a, b := edit(t, "a", base), edit(t, "b", base)
			merged, dropped, err := Merge(base, a, b)
			if err != nil {
				t.Fatal(err)
			}
			other, same, err := Merge(base, b, a)
			if err != nil || string(merged.Bytes()) != string(other.Bytes()) || !slices.Equal(dropped, same) {
				t.Fatalf("%v: one side has\n%s%v\nand the other\n%s%v", err, merged.Bytes(), dropped, other.Bytes(), same)
			}
			if cycle := dag.FindCycle(merged.Specs()); cycle != nil {
				t.Fatalf("%v in\n%s", cycle, merged.Bytes())
			}
			again := parsed(t, string(merged.Bytes()))
			if string(again.Bytes()) != string(merged.Bytes()) {
				t.Fatalf("read again it is\n%s", again.Bytes())
			}
			if twice, _, err := Merge(a, a, merged); err != nil || string(twice.Bytes()) != string(merged.Bytes()) {
				t.Fatalf("%v: merged into one of the sides it is\n%s", err, twice.Bytes())
			}
			kept := len(dropped) == 0
			for ref, r := range merged.byRef() {
				o, was := base.byRef()[ref]
				x, y := a.byRef()[ref], b.byRef()[ref]
				if kept && was && x.equal(o) && !r.equal(y) || kept && was && y.equal(o) && !r.equal(x) {
					t.Fatalf("the change of one side is lost: %s", r.bytes())
				}
			}
			base = merged
		}
	})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	const one, two = `{"ref":"t-1","title":"One","rev":1}` + "\n", `{"ref":"t-2","title":"Two","rev":1}` + "\n"
	for name, tc := range map[string]struct{ base, a, b, want string }{
		"a field each": {
			one, `{"ref":"t-1","title":"1","rev":2}`, `{"ref":"t-1","title":"One","priority":3,"rev":2}`,
			`{"ref":"t-1","title":"1","priority":3,"rev":2}`,
		},
		"the same field: the later counter": {one, `{"ref":"t-1","title":"A","rev":3}`, `{"ref":"t-1","title":"B","rev":2}`, `{"ref":"t-1","title":"A","rev":3}`},
		"the same field: the greater bytes": {one, `{"ref":"t-1","title":"A","rev":2}`, `{"ref":"t-1","title":"B","rev":2}`, `{"ref":"t-1","title":"B","rev":2}`},
		"lists are sets": {
			`{"ref":"t-1","title":"One","gates":["a","b","c"]}`, `{"ref":"t-1","title":"One","gates":["a","c","d"]}`, `{"ref":"t-1","title":"One","gates":["a","b","e"]}`,
			`{"ref":"t-1","title":"One","gates":["a","e","d"]}`,
		},
		"done wins": {
			`{"ref":"t-1","title":"One","status":"pending","rev":1}`, `{"ref":"t-1","title":"One","status":"done","verification":"passed","rev":2}`,
			`{"ref":"t-1","title":"One","status":"failed","retries":3,"rev":5}`, `{"ref":"t-1","title":"One","status":"done","verification":"passed","rev":5}`,
		},
		"a later reset wins": {
			`{"ref":"t-1","title":"One","status":"failed","retries":3,"rev":1}`, `{"ref":"t-1","title":"One","status":"done","rev":2}`,
			`{"ref":"t-1","title":"One","status":"pending","rev":3}`, `{"ref":"t-1","title":"One","status":"pending","rev":3}`,
		},
		"an earlier reset does not": {
			`{"ref":"t-1","title":"One","status":"failed","rev":1}`, `{"ref":"t-1","title":"One","status":"done","rev":3}`,
			`{"ref":"t-1","title":"One","status":"pending","rev":2}`, `{"ref":"t-1","title":"One","status":"done","rev":3}`,
		},
		"both add":            {one, one + two, one + `{"ref":"t-3","title":"Three"}`, one + two + `{"ref":"t-3","title":"Three"}`},
		"deleted":             {one + two, one, one + two, one},
		"an emptied file":     {one + two, "", `{"ref":"t-1","title":"1","rev":2}` + "\n" + two, `{"ref":"t-1","title":"1","rev":2}` + "\n" + two},
		"deleted and changed": {one, `{"ref":"t-1","deleted_at":"2026-11-01T00:00:00Z","rev":2}`, `{"ref":"t-1","title":"1","rev":2}`, `{"ref":"t-1","title":"1","rev":2}`},
		"deleted later":       {one, `{"ref":"t-1","deleted_at":"2026-11-01T00:00:00Z","rev":3}`, `{"ref":"t-1","title":"1","rev":2}`, `{"ref":"t-1","rev":3,"deleted_at":"2026-11-01T00:00:00Z"}`},
		"waits for a deleted one": {
			one + two, `{"ref":"t-1","rev":2,"deleted_at":"2026-11-01T00:00:00Z"}` + "\n" + two, one + `{"ref":"t-2","title":"Two","parent":"t-1","after":["t-1"],"rev":2}`,
			`{"ref":"t-1","rev":2,"deleted_at":"2026-11-01T00:00:00Z"}` + "\n" + `{"ref":"t-2","title":"Two","parent":null,"after":[],"rev":2}` +
				"\n! t-2 is no part of t-1, which was deleted\n! t-2 does not wait for t-1, which was deleted",
		},
		"a cycle that only the merge makes": {
			one + two, `{"ref":"t-1","title":"One","after":["t-2"],"rev":2}` + "\n" + two, one + `{"ref":"t-2","title":"Two","after":["t-1"],"rev":3}`,
			`{"ref":"t-1","title":"One","after":["t-2"],"rev":2}` + "\n" + `{"ref":"t-2","title":"Two","after":[],"rev":3}` + "\n! t-2 does not wait for t-1",
		},
		"a cycle of groups": {
			one + two, `{"ref":"t-1","title":"One","parent":"t-2","rev":3}` + "\n" + two, one + `{"ref":"t-2","title":"Two","parent":"t-1","rev":2}`,
			`{"ref":"t-1","title":"One","parent":null,"rev":3}` + "\n" + `{"ref":"t-2","title":"Two","parent":"t-1","rev":2}` + "\n! t-1 is not made a part of t-2",
		},
		"keys of newer versions": {
			one, `{"ref":"t-1","title":"One","rev":2,"mood":{"b":1, "a":2}}`, `{"ref":"t-1","title":"1","rev":2}`,
			`{"ref":"t-1","title":"1","rev":2,"mood":{"a":2,"b":1}}`,
		},
		"one ID for two tasks": {"", one, `{"ref":"t-1","title":"Uno"}`, `refused: both sides added t-1, as "One" and as "Uno": give one of them another ref`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged, dropped, err := Merge(parsed(t, tc.base), parsed(t, tc.a), parsed(t, tc.b))
			got := strings.TrimSpace(string(merged.Bytes()))
			for _, d := range dropped {
				got += "\n! " + d
			}
			if err != nil {
				got = err.Error()
			}
			check.Equal(t, "merged", strings.TrimSpace(tc.want), got)
		})
	}
}

func TestPlanFilesThatAreWrongNameTheLine(t *testing.T) {
	t.Parallel()
	const good = `{"ref":"t-1","title":"One"}` + "\n"
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":       {good + "oops\n", "line 2: not JSON"},
		"no object":     {good + "\n[1]\n", "line 3: a task is an object, not a list"},
		"no ref":        {`{"title":"One"}`, "line 1: no ref"},
		"twice":         {good + good, `line 2: ref "t-1" is taken by line 1`},
		"a wrong key":   {`{"ref":"t-1","after":"t-2"}`, "line 1: after cannot be a text"},
		"rev":           {`{"ref":"t-1","rev":-1}`, "line 1: rev is -1"},
		"another case":  {`{"ref":"t-00000001","Title":"x"}`, `line 1: the key "Title" is written "title"`},
		"rev too large": {`{"ref":"t-00000001","title":"x","rev":9223372036854775807}`, "line 1: rev is 9223372036854775807; it counts changes, from 0 to"},
		"no time":       {`{"ref":"t-00000001","title":"x","deleted_at":"yesterday"}`, `line 1: deleted_at is "yesterday"; it is a time`},
		"a conflict":    {"<<<<<<< ours\n" + good + "=======\n" + good + ">>>>>>> theirs\n", "line 1: git left a conflict here"},
		"UTF-16":        {"\xff\xfe", "UTF-16"},
		"NUL":           {good + "\x00", "line 2: not text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseFile([]byte(tc.text))
			check.That(t, err != nil && strings.Contains(err.Error(), tc.want), "got %v, want %s", err, tc.want)
		})
	}
}

// BenchmarkMerge merges a thousand tasks of which each side changed every third.
func BenchmarkMerge(b *testing.B) {
	texts := [3]strings.Builder{}
	for i := range 1000 {
		for side := range texts {
			rev, title := 1, "T"
			if side > 0 && i%3 == side {
				rev, title = 2, fmt.Sprint("changed by ", side)
			}
			fmt.Fprintf(&texts[side], `{"ref":"t-%08x","title":"%s %d","description":%q,"after":["t-%08x"],"gates":["go test ./..."],"status":"done","rev":%d}`+"\n",
				i+1, title, i, strings.Repeat("word ", 100), i, rev)
		}
	}
	for b.Loop() {
		f := [3]File{}
		for i := range f {
			f[i] = parsed(b, texts[i].String())
		}
		merged, _, err := Merge(f[0], f[1], f[2])
		check.OK(b, err)
		_ = merged.Bytes()
	}
}

func TestUpdateKeepsWhatOnlyTheFileKnows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	before := parsed(t, `{"ref":"t-00000003","title":"Three","mood":"good"}
{"ref":"t-00000001","title":"One","priority":0,"rev":4,"mood":"bad"}
{"ref":"t-00000002","title":"Two","rev":1}
{"ref":"t-00000007","title":"Old","rev":2,"deleted_at":"2026-01-01T00:00:00Z"}
{"ref":"t-00000008","title":"New","rev":2,"deleted_at":"2026-04-01T00:00:00Z"}
{"ref":"t-00000009","title":"Back","rev":2,"deleted_at":"2026-04-01T00:00:00Z"}
`)
	task := func(id, title string) Item {
		return Item{Task: dag.Task{ID: id, Detail: dag.Detail{Title: title, Kind: dag.Work}, Status: dag.Pending, UpdatedAt: now}}
	}
	items := []Item{task("t-00000001", "Uno"), task("t-00000003", "Three"), task("t-00000004", "Four"), task("t-00000009", "Back")}
	const rest = `"description":"","priority":0,"parent":null,"after":[],"feature":null,"kind":"work","agent":null,"model":null,"gates":[],"max_retries":null,"status":"pending"`
	want := `{"ref":"t-00000003","title":"Three","mood":"good"}
{"ref":"t-00000001","title":"Uno",` + rest + `,"rev":5,"updated_at":"2026-05-01T12:00:00Z","mood":"bad"}
{"ref":"t-00000002","title":"Two","rev":2,"deleted_at":"2026-05-01T12:00:00Z"}
{"ref":"t-00000008","title":"New","rev":2,"deleted_at":"2026-04-01T00:00:00Z"}
{"ref":"t-00000009","title":"Back",` + rest + `,"rev":3,"updated_at":"2026-05-01T12:00:00Z"}
{"ref":"t-00000004","title":"Four",` + rest + `}
`
	after := before.Update(items, now)
	check.Equal(t, "file", want, string(after.Bytes()))
	check.Equal(t, "once more", want, string(after.Update(items, now).Bytes()))
	specs, err := Parse([]byte(`{"ref":"a","title":"A","rev":3,"updated_at":"x"}`+"\n"+`{"ref":"b","deleted_at":"2026-11-01T00:00:00Z"}`), JSONL)
	check.OK(t, err)
	check.Equal(t, "tasks that are imported", 1, len(specs))
}
