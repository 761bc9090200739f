package main

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// conditional is a plan with a script that fails, one that repairs that, one for the case that it did not, and a task that tells people of it.
const conditional = `{"ref":"t-00000001","title":"build","agent":"shell","output":"build","on_fail":"continue","description":"` + "```sh\\necho build >> log; exit 3\\n```" + `"}
{"ref":"t-00000002","title":"repair","agent":"shell","after":["t-00000001"],"when":{"output":"build","exit":3},"description":"` + "```sh\\necho repair >> log\\n```" + `"}
{"ref":"t-00000003","title":"ship","agent":"shell","after":["t-00000001"],"when":{"output":"build","status":"done"},"description":"` + "```sh\\necho ship >> log\\n```" + `"}
{"ref":"t-00000004","title":"tell","agent":"shell","after":["t-00000002","t-00000003"],"notify":"it is built"}
`

// TestConditionsAndNoticesOutliveAKill kills a run while it decides, between what a step came to and its end, and after people were told. What
// is decided is what the earlier step came to, each step runs once, and people are told at least once, and not for ever.
func TestConditionsAndNoticesOutliveAKill(t *testing.T) {
	notRaced(t)
	for point, told := range map[string]int{"in-when": 1, "in-settlement": 1, "after-settlement": 1, "after-notice": 2} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fakeagent.Script{}, "[[notify]]", `on = ["notify"]`, `command = "echo told >> told"`)
			p.repository()
			p.imports(conditional)
			p.dying(point, "run", "--in-place", "--allow-failing").wait(-1)
			p.awaitGone()
			p.want(1, "run", "--in-place", "--allow-failing") // build has failed
			for task, status := range map[string]string{"t-00000001": "failed", "t-00000002": "done", "t-00000003": "cancelled", "t-00000004": "done"} {
				p.wantStatus(task, status)
			}
			check.Equal(t, "told", told, strings.Count(p.read("told"), "told"))
			check.Equal(t, "repairs", 1, strings.Count(p.read("log"), "repair"))
			check.That(t, !strings.Contains(p.read("log"), "ship"), "what was left out has run")
			p.want(0, "doctor")
		})
	}
}
