package taskfile

import (
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestAPlanIsWrittenAsAChecklist(t *testing.T) {
	t.Parallel()
	items := []Item{
		{Task: dag.Task{ID: "t-1", Detail: dag.Detail{Title: "Server", Description: "Two parts.\n\n    code\n"}, Status: dag.Pending}},
		{Task: dag.Task{ID: "t-2", Detail: dag.Detail{Title: "Store\tpasswords"}, Status: dag.Done, Parent: "t-1"}},
		{Task: dag.Task{ID: "t-3", Detail: dag.Detail{Title: "Check"}, Status: dag.Blocked, Parent: "t-1"}, After: []string{"t-2", "t-9"}},
		{Task: dag.Task{ID: "t-4", Detail: dag.Detail{Title: "Page"}, Status: dag.Failed, Parent: "t-8"}},
	}
	const want = "- [ ] Server\n  Two parts.\n\n      code\n  - [x] Store passwords\n  - [-] Check\n    After: Store passwords; t-9\n- [ ] Page\n"
	var b strings.Builder
	check.OK(t, WriteMarkdown(&b, items))
	check.Equal(t, "checklist", want, b.String())

	plan, err := Read([]byte(b.String()), Auto)
	check.OK(t, err)
	check.Equal(t, "format", Markdown, plan.Format)
	var got []string
	for _, s := range plan.Specs {
		got = append(got, s.Title+" "+string(s.Status))
	}
	check.Equal(t, "read again", "Server |Store passwords done|Check blocked|Page ", strings.Join(got, "|"))
}
