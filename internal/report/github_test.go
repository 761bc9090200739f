package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// obeyed is what GitHub's runner takes for commands: name, properties, what is said.
// It undoes the escaping as the runner does.
func obeyed(text string) []string {
	var list []string
	stopped := ""
	unescape := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		head, data, isCommand := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		if !strings.HasPrefix(line, "::") || !isCommand {
			if i := strings.Index(line, "##["); i >= 0 && stopped == "" {
				list = append(list, "OLD STYLE "+line[i:])
			}
			continue
		}
		name, properties, _ := strings.Cut(head, " ")
		switch {
		case stopped != "" && name == stopped:
			stopped = ""
		case stopped != "":
		case name == "stop-commands":
			stopped = data
		default:
			for _, p := range strings.Split(properties, ",") {
				name += " [" + unescape.Replace(p) + "]"
			}
			list = append(list, name+" "+unescape.Replace(data))
		}
	}
	return list
}

func TestTextOfOthersIsNoCommandToGitHub(t *testing.T) {
	t.Parallel()
	evil := "100%0A::add-mask::x, file=a:b\r\n::set-env name=PATH::/evil\n##[add-path]/evil \x1b[31mred\u202e"
	out := event.Result{
		Outcome: event.OutcomeComplete, Run: "r-1", Counts: event.Counts{Failed: 1, Total: 1},
		Tasks: []event.Resolved{{ID: "t-1", Title: evil, Status: "failed", Outcome: "failed", Reason: evil}},
	}
	var g Workflow
	var said strings.Builder
	said.WriteString(g.Stop())
	begin, end := g.Fold("\n" + evil)
	said.WriteString(begin + "::error::an agent says this in a group\n" + end)
	fmt.Fprintf(&said, "::error::an agent says this\n::%s::\n::error::and this\n", strings.Repeat("A", len(g.token)))
	said.WriteString(g.End(Bare(out, dag.Scope{}, time.Unix(0, 0))))
	const lines = "100%0A::add-mask::x, file=a:b\n::set-env name=PATH::/evil\n##[add-path]/evil red"
	want := []string{"group [] " + lines, "endgroup [] ", "error [title=ralph: failed: 100%0A::add-mask::x, file=a:b ::set-env name=PATH::/evil ##[add-path]/evil red] " +
		lines + "\nnext: ralph task log t-1 -m \"TEXT\"  # give the next attempt guidance\n" +
		"next: ralph task reset t-1 && ralph run --continue r-1  # let it run again"}
	check.Equal(t, said.String(), want, obeyed(said.String()))
}

func TestGitHubShowsTenAnnotationsAndWeUseThem(t *testing.T) {
	t.Parallel()
	for failed, want := range map[int]int{1: 1, 9: 9, 10: 10, 11: 10, 500: 10} {
		out := event.Result{Outcome: event.OutcomeComplete, Run: "r-1", Counts: event.Counts{Failed: failed, Total: failed}}
		for i := range failed {
			out.Tasks = append(out.Tasks, event.Resolved{ID: fmt.Sprintf("t-%d", i), Title: strings.Repeat("x", 1000), Status: "failed", Reason: strings.Repeat("y", 8<<10)})
		}
		list := annotations(Bare(out, dag.Scope{}, time.Unix(0, 0)))
		check.That(t, len(list) == want, "%d failed tasks: got %d annotations, want %d", failed, len(list), want)
		check.That(t, failed != 500 || list[9].title == "ralph: 491 more failed tasks", "got %v, want the rest counted", list)
		n := len(escapeData(list[0].text))
		check.That(t, n <= 4<<10, "an annotation has %d bytes", n)
	}
	list := annotations(Bare(event.Result{Outcome: event.OutcomeComplete}, dag.Scope{}, time.Unix(0, 0)))
	check.That(t, len(list) == 0, "got %v for a success", list)
}
