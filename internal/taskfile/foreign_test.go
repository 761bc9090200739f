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

// outline tells a plan in short: one task a line, indented below its parent.
func outline(p Plan) string {
	depth := map[string]int{}
	var b strings.Builder
	for _, s := range p.Specs {
		depth[s.Ref] = 0
		if s.Parent != "" {
			depth[s.Ref] = depth[s.Parent] + 1
		}
		b.WriteString(strings.Repeat(".", depth[s.Ref]) + s.Title)
		if s.Status != "" {
			b.WriteString(" " + string(s.Status))
		}
		if s.Description != "" {
			fmt.Fprintf(&b, " %q", s.Description)
		}
		b.WriteString("\n")
	}
	for _, u := range p.Unmapped {
		fmt.Fprintf(&b, "! %s %v\n", u.What, u.Lines)
	}
	return strings.TrimRight(b.String(), "\n")
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"each kind of list":                    {"- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [ ] e", "a\nb done\nc done\nd\ne"},
		"two spaces nest":                      {"- [ ] a\n  - [ ] b\n    - [ ] c\n- [ ] d", "a\n.b\n..c\nd"},
		"four spaces nest":                     {"- [ ] a\n    - [ ] b\n        - [ ] c\n    - [ ] d", "a\n.b\n..c\n.d"},
		"tabs nest":                            {"- [ ] a\n\t- [ ] b\n\t\t- [ ] c\n- [ ] d", "a\n.b\n..c\nd"},
		"tabs and spaces mixed":                {"- [ ] a\n    - [ ] b\n\t- [ ] c", "a\n.b\n.c"},
		"one space does not nest":              {"- [ ] a\n - [ ] b\n- [ ] c", "a\nb\nc"},
		"two spaces below a number nest":       {"1. [ ] a\n  - [ ] b\n10. [ ] c\n    - [ ] d", "a\n.b\nc\n.d"},
		"a level in between":                   {"- [ ] a\n    - [ ] b\n  - [ ] c", "a\n.b\n.c"},
		"a whole list that is indented":        {"    - [ ] a\n    - [ ] b", "a\nb"},
		"blank lines do not end a list":        {"- [ ] a\n\n  - [ ] b\n\n- [ ] c", "a\n.b\nc"},
		"an empty box, a box without space":    {"- [] a\n- [ ]b", "a\nb"},
		"a link is no box":                     {"- [ ] a\n- [x](http://x) b\n- [x]: y", "a\n! text outside of tasks [2 3]"},
		"other boxes hold":                     {"- [-] a\n- [/] b", "a blocked\nb blocked\n! the box [-]: it is blocked until somebody unblocks it [1]\n! the box [/]: it is blocked until somebody unblocks it [2]"},
		"text below an item":                   {"- [ ] a\n  one\n\n  two\n- [ ] b", `a "one\n\ntwo"` + "\nb"},
		"text right below that is not indent":  {"- [ ] a\none\n- [ ] b", `a "one"` + "\nb"},
		"text after a blank line at the edge":  {"- [ ] a\n\none\n\n  - [ ] b", "a\nb\n! text outside of tasks [3]"},
		"text of a parent below its subtasks":  {"- [ ] a\n  - [ ] b\n\n  of a\n\n    of a, too", `a "of a\n\n  of a, too"` + "\n.b"},
		"plain items belong to the task":       {"- [ ] a\n  - one\n    - two\n  - [ ] b", `a "- one\n  - two"` + "\n.b"},
		"tasks below plain items":              {"- plain\n  - [ ] a\n- [ ] b\n  - plain\n    - [ ] c", "a\nb \"- plain\"\n.c\n! text outside of tasks [1]"},
		"code below an item":                   {"- [ ] a\n  ```sh\n  - [ ] no\n    deep\n  ```\n- [ ] b", "a \"```sh\\n- [ ] no\\n  deep\\n```\"\nb"},
		"code right below that is not indent":  {"- [ ] a\n```\n- [ ] no\n```\n- [ ] b", "a \"```\\n- [ ] no\\n```\"\nb"},
		"code that ends with its item":         {"- [ ] a\n  ```\n  x\n- [ ] b", "a \"```\\nx\"\nb"},
		"a longer fence":                       {"~~~~\n~~~\n- [ ] no\n~~~~ \n- [ ] a", "a\n! text outside of tasks [1 2 3 4]"},
		"a fence with a word does not close":   {"```\n```go\n- [ ] no\n```\n- [ ] a", "a\n! text outside of tasks [1 2 3 4]"},
		"a comment":                            {"<!-- - [ ] no -->\n<!--\n- [ ] no\n-->\n- [ ] a", "a\n! text outside of tasks [1 2 3 4]"},
		"a quotation":                          {"> - [ ] no\n\n- [ ] a", "a\n! text outside of tasks [1]"},
		"headings are groups":                  {"## A\nof A\n\n- [ ] a\n### B ##\n- [x] b\n\n## C\n- [ ] c", "A \"of A\"\n.a\n.B\n..b done\nC\n.c"},
		"a heading above everything is none":   {"# T\ntext\n## A\n- [ ] a\n## B\n- [ ] b", "A\n.a\nB\n.b\n! the title T [1]\n! the text below the title [1]"},
		"headings without tasks are no groups": {"# T\n- [ ] a\n# U\ntext\n# V\n- [ ] b", "T\n.a\nV\n.b\n! text outside of tasks [4]"},
		"underlined headings":                  {"A\n==\n- [ ] a\n\nB\n---\n- [ ] b\n\n---\n\n- [ ] c", "a\nB\n.b\n.c\n! the title A [1]"},
		"code above a line is no heading":      {"```\nx\n```\n---\n- [ ] a", "a\n! text outside of tasks [1 2 3]"},
		"a line that separates":                {"- [ ] a\n\n---\n\n* * *\n\n- [ ] b", "a\nb"},
		"front matter":                         {"---\nx: y\n---\n- [ ] a", "a\n! front matter [1]"},
		"a first line that separates":          {"---\n\n- [ ] a\n\n---", "a"},
		"done before its subtasks":             {"- [x] a\n  - [ ] b", "a\n.b\n! done before its subtasks: it is open until they are done [1]"},
		"open after its subtasks":              {"- [ ] a\n  - [x] b", "a\n.b done\n! open although its subtasks are done: it counts as done [1]"},
		"a heading of what is done":            {"# A\n- [x] a\n# B\n- [ ] b", "A\n.a done\nB\n.b"},
		"no task":                              {"# A\n\n- plain", "! text outside of tasks [3]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := Read([]byte(tc.text), Markdown)
			check.OK(t, err)
			check.Equal(t, "result", tc.want, outline(plan))
		})
	}
}

func TestTaskMasterErrorsSayWhere(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"no list":        {`{"tasks":3}`, "line 1: tasks is a number, not a list"},
		"no id":          {"{\"tasks\":[\n{\"title\":\"A\"}]}", "line 2: no id"},
		"not an object":  {"{\"tasks\":[\n7]}", "line 2: this is a number, not an object"},
		"odd subtasks":   {`{"tasks":[{"id":1,"title":"A","subtasks":"b"}]}`, "line 1: subtasks is text, not a list"},
		"a tag of none":  {"{\"a\":{\"tasks\":[]},\n\"b\":7}", "line 2: this is a number, not an object"},
		"does not end":   {`{"tasks":[`, "not JSON"},
		"too deep":       {`{"tasks":[` + strings.Repeat(`{"id":1,"title":"A","subtasks":[`, 200) + strings.Repeat("]}", 201), "nested more than 100 deep"},
		"a list of tags": {`[]`, "this is a list, not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read([]byte(tc.text), TaskMaster)
			check.That(t, err != nil && strings.Contains(err.Error(), tc.want), "got %v, want %s", err, tc.want)
		})
	}
}

// TestIssuesAreKnownByTheirOrigin: only one with its repository can be found again on a forge.
func TestIssuesAreKnownByTheirOrigin(t *testing.T) {
	t.Parallel()
	plan, err := Read([]byte(`[{"number":5,"title":"a","body":"","url":"https://github.com/acme/app/issues/5"},{"number":6,"title":"b","body":""}]`), GitHub)
	check.OK(t, err)
	for i, want := range []string{"acme/app 5", " 0"} {
		repository, number := IssueOf(plan.Specs[i].Origin)
		check.Equal(t, plan.Specs[i].Origin, want, fmt.Sprint(repository, " ", number))
	}
	for _, other := range []string{"", "beads:bd-1", "github:#5", "github:a/b#0x5", "pull request 8, comment 1", "markdown:acme/app#5"} {
		_, number := IssueOf(other)
		check.Equal(t, other, 0, number)
	}
}
