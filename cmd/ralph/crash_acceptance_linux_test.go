package main

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestAnAcceptanceOutlivesItsRun: a run is killed anywhere on the way from the last task of a feature to the acceptance that
// fails. The next one goes on from there: each acceptance comes once, its tasks are made once, and there is no third round.
func TestAnAcceptanceOutlivesItsRun(t *testing.T) {
	notRaced(t)
	verifies := true
	script := fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Verify: &verifies}, Steps: []step{{Do: "say", Text: "<finding title=\"A way out\">There is none.</finding>\n<verify-fail>one</verify-fail>\n"}}},
		{Steps: []step{{Do: "file", Path: "{{task}}.txt", Text: "work"}, saysDone()}},
	}}
	for name, args := range map[string][]string{"in place": {"run", "--in-place"}, "in slots": {"run", "--jobs", "2"}} {
		// The task, an acceptance, a missing one, an acceptance, a missing one, the last acceptance.
		for _, point := range []string{"after-claim:2", "in-prompt:2", "in-settlement:1", "in-settlement:2", "in-settlement:6", "after-settlement:1", "after-settlement:4"} {
			t.Run(name+", "+point, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, script, "[verify]", "feature = true")
				p.want(0, "feature", "create", "door", "--draft")
				p.write(".ralph/features/door/spec.md", "There is a way out.\n")
				p.repository()
				p.imports(`{"ref":"t-00000001","title":"Build","feature":"door"}` + "\n")
				p.dying(point, args...).wait(-1)
				p.awaitGone()
				p.want(1, args...)
				out := p.want(0, "task", "list", "--all").stdout
				for title, times := range map[string]int{"Build": 1, "Accept door": 3, "A way out": 2} {
					check.Equal(t, title, times, strings.Count(out, title))
				}
				p.want(1, args...).inStderr("door: missing after two rounds: A way out") // and nothing more comes of it
				check.Equal(t, "tasks later", out, p.want(0, "task", "list", "--all").stdout)
			})
		}
	}
}
