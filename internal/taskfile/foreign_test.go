package taskfile

import (
	"fmt"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestGitHubDependencies(t *testing.T) {
	t.Parallel()
	const home = "https://github.com/octo/app/issues/9"
	for name, tc := range map[string]struct{ body, want string }{
		"in a sentence":             {"This depends on #12.", "#12"},
		"in capitals, with a colon": {"BLOCKED BY: #12", "#12"},
		"in bold":                   {"**Depends on:** #12", "#12"},
		"several":                   {"Depends on #1, #2 and #3; blocked by #4 & #5", "#1 #2 #3 #4 #5"},
		"twice the same":            {"depends on #1\nblocked by #1", "#1"},
		"a heading above a list":    {"## Blocked by\n\n- [ ] #1 the table\n* #2\n\n#3 is not in it", "#1 #2"},
		"a list of other things":    {"- depends on #1\n- #2 is next", "#1"},
		"an address":                {"depends on https://github.com/octo/app/issues/3#comment", "#3"},
		"a link":                    {"depends on [#3](https://github.com/octo/app/issues/3)", "#3"},
		"our own repository":        {"depends on octo/app#3", "#3"},
		"another repository":        {"depends on octo/lib#3, https://github.com/octo/lib/issues/4", "octo/lib#3 https://github.com/octo/lib/issues/4"},
		"no longer":                 {"no longer blocked by #1, not blocked by #2, never depends on #3", ""},
		"crossed out":               {"~~depends on #1~~", ""},
		"a comment":                 {"<!-- depends on #1 -->\n<!-- depends on #2", ""},
		"code":                      {"`depends on #1`\n```\ndepends on #2\n```\ndepends on #3", "#3"},
		"a quotation":               {"> depends on #1", ""},
		"other words":               {"see #1, fixes #2, undepends on #3, depends on the weather, depends on # 4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(dependencies(tc.body, home), " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBeads(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"a list, as bd prints it": {`[{"id":"a","title":"A","status":"open"},{"id":"b","title":"B","status":"closed"}]`, "a A\nb B done"},
		"the oldest first": {
			`{"id":"a","title":"A","created_at":"2026-01-02T00:00:00+02:00"}` + "\n" + `{"id":"b","title":"B","created_at":"2026-01-01T23:00:00Z"}` + "\n" +
				`{"id":"c","title":"C","created_at":"2026-01-01T00:00:00Z"}`, "c C\na A\nb B",
		},
		"a part by its name": {`{"id":"a.1","title":"B"}` + "\n" + `{"id":"a","title":"A"}`, "a.1 B in a\na A"},
		"an epic that waits for its own parts": {
			`{"id":"a","title":"A","issue_type":"epic","dependencies":[{"depends_on_id":"a.1","type":"blocks"}]}` + "\n" + `{"id":"a.1","title":"B"}`,
			"a A\na.1 B in a\n! waits for its own subtask, as every group does",
		},
		"a parent that is not there": {
			`{"id":"a","title":"A","dependencies":[{"depends_on_id":"x","type":"parent-child"}]}`,
			"a A\n! part of x, which is not in the file",
		},
		"two parents": {
			`{"id":"a","title":"A","dependencies":[{"depends_on_id":"b","type":"parent-child"},{"depends_on_id":"c","type":"parent-child"}]}` +
				`{"id":"b","title":"B"}{"id":"c","title":"C"}`, "a A in b\nb B\nc C\n! a second parent",
		},
		"a relation of another issue": {
			`{"id":"a","title":"A","dependencies":[{"issue_id":"b","depends_on_id":"a","type":"blocks"}]}{"id":"b","title":"B"}`,
			"a A\nb B\n! a dependency of b, which is another issue",
		},
		"an unknown status": {`{"id":"a","title":"A","status":"hooked"}`, "a A\n! status hooked: it is pending"},
		"fields that say nothing": {
			`{"id":"a","title":"A","labels":[],"assignee":"","pinned":false,"compaction_level":0,"closed_at":null,"x":{ }}`, "a A",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := Read([]byte(tc.text), Beads)
			check.OK(t, err)
			var got []string
			for _, s := range plan.Specs {
				words := []string{s.Ref, s.Title}
				if s.Parent != "" {
					words = append(words, "in", s.Parent)
				}
				if s.Status != "" {
					words = append(words, string(s.Status))
				}
				got = append(got, strings.Join(append(words, s.After...), " "))
			}
			for _, u := range plan.Unmapped {
				got = append(got, "! "+u.What)
			}
			check.Equal(t, "result", tc.want, strings.Join(got, "\n"))
		})
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`1`: 1, `"2"`: 2, `-3`: -3, `"high"`: 1, `"Medium"`: 2, `"LOW"`: 3, `"critical"`: 0, `"P0"`: 0, `"p3"`: 3, `null`: 0,
	} {
		plan, err := Read([]byte(`[{"title":"T","passes":false,"priority":`+text+`}]`), PRD)
		if err != nil || plan.Specs[0].Priority != want || len(plan.Unmapped) > 0 {
			t.Errorf("priority %s: got %d, %v, %v, want %d", text, plan.Specs[0].Priority, plan.Unmapped, err, want)
		}
	}
	plan, err := Read([]byte(`[{"title":"T","passes":false,"priority":"soonish"}]`), PRD)
	if err != nil || len(plan.Unmapped) != 1 || plan.Unmapped[0].What != `priority "soonish"` {
		t.Errorf("got %v, %v, want it to be listed", plan.Unmapped, err)
	}
}

// TestWhatIsLostIsToldInShort feeds a plan in which everything is unknown.
func TestWhatIsLostIsToldInShort(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "{\"number\":%d,\"title\":\"T\",\"k%d\":1,\"%s\":1}\n", i+1, i, strings.Repeat("long", 100))
	}
	plan, err := Read([]byte(b.String()), GitHub)
	check.OK(t, err)
	if n := len(plan.Unmapped); n > maxLost+1 {
		t.Errorf("got %d kinds, want at most %d", n, maxLost+1)
	}
	total := 0
	for _, u := range plan.Unmapped {
		total += u.Count
		if len(u.Lines) > maxLines || len([]rune(u.What)) > 200 {
			t.Errorf("too long: %+v", u)
		}
	}
	if total != 2000 {
		t.Errorf("got %d things in all, want 2000", total)
	}
}
