package taskfile

import (
	"fmt"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

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
