package main

import (
	"os"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// newReviewed is a place with a feature of one task, and a reviewer who finds something in it.
func newReviewed(t *testing.T, args []string) *place {
	t.Helper()
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "Ralph: review of a feature"}, Steps: []step{
			{Do: "mark", Text: "reviewed"},
			{Do: "say", Text: "<finding file=\"t-00000001.txt\" line=\"1\">Mend it.</finding>\n"},
			saysDone(),
		}},
		{Steps: []step{{Do: "file", Path: "{{task}}.txt", Text: "work\n"}, saysDone()}},
	}}, "[[verify.reviewer]]", `focus = "security"`)
	p.env = append(p.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir()) // the ledger is not in a slot
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
	p.imports(`{"ref":"t-00000001","title":"first","feature":"login"}` + "\n")
	if args != nil {
		p.want(4, append(args, "--once")...)
	}
	return p
}

// TestAKilledReviewIsNotPaidForTwice kills a run between the reviewer's answer and what is stored of it. The next run
// makes tasks of the same findings, once, and asks nobody again.
func TestAKilledReviewIsNotPaidForTwice(t *testing.T) {
	notRaced(t)
	slots := []string{"run", "--target", "main"}
	for place, args := range map[string][]string{"in this folder": {"run", "--in-place"}, "in slots": slots, "in a slot that is gone": slots} {
		for _, point := range []string{"after-done", "in-settlement", "after-settlement"} {
			t.Run(place+", "+point, func(t *testing.T) {
				t.Parallel()
				p := newReviewed(t, args)
				p.dying(point, args...).wait(-1)
				p.awaitGone()
				check.Equal(t, "reviews", 1, p.entered("mark")["reviewed"])
				if place == "in a slot that is gone" {
					var slots []struct{ Path string }
					p.json(&slots, "slots", "list")
					check.That(t, len(slots) > 0, "no slots")
					for _, s := range slots {
						check.OK(t, os.RemoveAll(s.Path))
					}
				}
				p.want(4, append(args, "--once")...) // the review, or, where that is stored, what it found
				check.Equal(t, "reviews after the next run", 1, p.entered("mark")["reviewed"])
				tasks := p.want(0, "task", "list", "--all").stdout
				check.Equal(t, "tasks of findings", 1, strings.Count(tasks, "t-00000001.txt:1: Mend it."))
				p.wantSound()
			})
		}
	}
}

// TestAFeatureIsReviewedAlsoIfItsLastTaskWasSettledByRecovery, because its run died when the work had landed.
func TestAFeatureIsReviewedAlsoIfItsLastTaskWasSettledByRecovery(t *testing.T) {
	notRaced(t)
	for who, first := range map[string][]string{"the next run": nil, "ralph recover": {"recover"}} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			p := newReviewed(t, nil)
			p.dying("after-move", "run", "--target", "main").wait(-1)
			p.awaitGone()
			if first != nil {
				p.want(0, first...)
			}
			p.want(4, "run", "--target", "main", "--once")
			check.Equal(t, "reviews", 1, p.entered("mark")["reviewed"])
		})
	}
}
