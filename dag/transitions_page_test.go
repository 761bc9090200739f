package dag_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestStateMachinePageAgreesWithTheCode compares the table and the drawing of
// docs/state-machine.md with Transitions, both ways.
func TestStateMachinePageAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/state-machine.md")
	check.OK(t, err)
	var table, drawn []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) == 6 && slices.Contains(dag.Statuses(), dag.Status(strings.TrimSpace(cells[1]))) {
			table = append(table, arrow(cells[1], cells[2], cells[3]))
		}
		from, rest, isEdge := strings.Cut(line, " --> ")
		to, verbs, hasVerbs := strings.Cut(rest, ": ")
		if isEdge && hasVerbs {
			for _, by := range strings.Split(verbs, ", ") {
				drawn = append(drawn, arrow(from, to, by))
			}
		}
	}
	var code []string
	for _, tr := range dag.Transitions() {
		code = append(code, arrow(string(tr.From), string(tr.To), string(tr.By)))
	}
	slices.Sort(table)
	slices.Sort(drawn)
	slices.Sort(code)
	if diff := cmp.Diff(code, table); diff != "" {
		t.Errorf("the table (-code +page):\n%s", diff)
	}
	if diff := cmp.Diff(code, drawn); diff != "" {
		t.Errorf("the drawing (-code +page):\n%s", diff)
	}
}

func arrow(from, to, by string) string {
	return strings.TrimSpace(from) + " -> " + strings.TrimSpace(to) + " by " + strings.TrimSpace(by)
}
