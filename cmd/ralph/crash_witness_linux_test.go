package main

import (
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestCrashMatrixOfAWitness kills a run while a witness is written, and at every step until its check has run with the work. Nothing that was
// stored is paid for again, no check runs on work that ralph did not see fail without it, and wrong work does not get past it.
func TestCrashMatrixOfAWitness(t *testing.T) {
	notRaced(t)
	for point, tt := range map[string]struct {
		action string
		wrote  int  // how often the witness was asked
		ran    int  // how often its check ran until the first time with the work
		killed bool // with the work: no session is there to repair it
	}{
		"in-witness":    {action: "released", wrote: 2, ran: 2},
		"after-witness": {action: "released", wrote: 1, ran: 2},
		"after-check":   {action: "released", wrote: 1, ran: 2},
		"before-check":  {action: "resumed", wrote: 1, ran: 2, killed: true},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p, cost := witnessed(t), 0.25*float64(tt.wrote)
			p.dying(point, "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			check.Equal(t, "what recovery did", tt.action, p.recovered())
			if tt.killed { // no session is there to repair it
				p.want(2, "run", "--jobs", "2").inStderr("waits for review", "two_test.sh: it has hello")
				p.want(0, "task", "accept", "t-00000001")
				p.want(0, "merge")
				p.holds("t-00000001.txt", "bye")
			} else {
				p.want(0, "run", "--jobs", "2")
				p.holds("t-00000001.txt", "hello")
				check.Equal(t, "sent back", 1, p.entered("mark")["repaired t-00000001"])
				tt.ran++ // with the repaired work
			}
			p.wantStatus("t-00000001", "done")
			check.Equal(t, "witnesses asked", tt.wrote, p.entered("mark")["wrote t-00000001"])
			check.Equal(t, "runs of the check", tt.ran, strings.Count(p.read("ledger/ran"), "\n"))
			check.Equal(t, "the first of them, without the work", "none", strings.SplitN(p.read("ledger/ran"), "\n", 2)[0])
			var shown struct {
				CostUSD float64 `json:"cost_usd"`
			}
			p.json(&shown, "task", "show", "t-00000001")
			check.That(t, shown.CostUSD == cost || point == "in-witness" && shown.CostUSD >= 0.25, "got a cost of %v, want %v, but for the last second", shown.CostUSD, cost)
			check.Equal(t, "hidden files that are left", "", strings.TrimSpace(p.shell(`find "$XDG_STATE_HOME" -name 'witness.*'`)))
			check.That(t, !p.has("two_test.sh"), "the check is in the project")
			p.wantClean()
		})
	}
}

// witnessed is a place whose worker does wrong work first. The check notes what it found of the work.
func witnessed(t *testing.T) *place {
	t.Helper()
	cost := 0.25
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "# Ralph: witness"}, Steps: []step{
			{Do: "mark", Text: "wrote {{task}}"},
			{Do: "usage", N: 1, Cost: &cost},
			{Do: "say", Text: "<witness file=\"two_test.sh\" run=\"sh two_test.sh\">\n" +
				"cat {{task}}.txt >> \"$RAN\" 2>/dev/null || printf none >> \"$RAN\"; echo >> \"$RAN\"\n" +
				"grep -qs hello {{task}}.txt || { echo not ok - it has hello; exit 1; }\n</witness>\n"},
		}},
		{When: fakeagent.When{Contains: "a check by another agent fails"}, Steps: []step{
			{Do: "mark", Text: "repaired {{task}}"}, {Do: "file", Path: "{{task}}.txt", Text: "hello"}, saysDone(),
		}},
		{Steps: []step{{Do: "file", Path: "{{task}}.txt", Text: "bye"}, saysDone()}},
	}}, "[verify]", `commands = ["true"]`, `witness = "verifier"`, "reruns = 0")
	p.env = append(p.env, "RAN="+filepath.Join(p.ledger, "ran"), "RALPH_SANDBOX_MODE=off")
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
	p.plan("first")
	return p
}
