package hooks

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	"ralph/internal/toolcall"
)

const page = "../../docs/hooks.md"

// samples are payloads as hooks get them, of each point at which the run waits and of one that is only observed.
func samples() map[Point]Payload {
	yes := true
	of := func(p Payload) Payload {
		p.Run, p.Task, p.Title, p.Attempt, p.Dir, p.Agent, p.Model = "r-7d1f", "t-1f0c", "Write the parser", "a-93c2", "/home/me/shop", "claude", "sonnet"
		return p
	}
	known := Payload{Run: "r-7d1f", Task: "t-1f0c", Title: "Write the parser", Knowledge: []Known{{File: "use-the-staging-server.md", Title: "Use the staging server", Tags: []string{"deploy"}}}}
	merge := of(Payload{Merge: &Merge{Target: "refs/heads/main", Onto: "9fceb02d0ae5", Commit: "1b6f4e8a27c3"}})
	merge.Agent, merge.Model = "", ""
	return map[Point]Payload{
		RunBefore:         {Run: "r-7d1f", Agent: "claude"},
		TaskBefore:        of(Payload{}),
		PromptBefore:      of(Payload{Prompt: "# Ralph\n\nYou are operating in a ralph loop: ..."}),
		ToolBefore:        of(Payload{Tool: &Tool{Call: toolcall.Call{Kind: "execute", Command: "git push origin main", Text: "Push the branch"}}}),
		ToolAfter:         of(Payload{Tool: &Tool{Call: toolcall.Call{Kind: "edit", Paths: []string{"parser.go"}, Text: "Edit parser.go", Status: "completed"}}}),
		TurnAfter:         of(Payload{Turn: &Turn{Stop: "end_turn", Text: "The parser is written, and its tests pass."}}),
		VerifyBefore:      of(Payload{Work: &Work{Gates: []string{"go test ./..."}}}),
		VerifyAfter:       of(Payload{Work: &Work{Gates: []string{"go test ./..."}, Accepted: &yes}}),
		MergeBefore:       merge,
		KnowledgeSelected: known,
		AnswerBefore:      {Task: "t-1f0c", Answer: &Answers{Request: "q-5e0a91c4", Question: "Which database?", Text: "SQLite", Who: "me"}},
		TaskFailed: {Run: "r-7d1f", Task: "t-1f0c", Title: "Write the parser", Attempt: "a-93c2", Event: &event.Event{
			V: 1, At: at, Run: "r-7d1f", Type: event.AttemptEnded, Iteration: 3, Task: "t-1f0c", Attempt: "a-93c2", Title: "Write the parser",
			Agent: "claude", Model: "sonnet", Outcome: "failed", Status: event.TaskFailed, Reason: "the agent said that it cannot be done",
		}},
	}
}

// TestThePageIsCurrent compares the table and the examples of docs/hooks.md with the code; with -update it rewrites them.
func TestThePageIsCurrent(t *testing.T) {
	data, err := os.ReadFile(page)
	check.OK(t, err)
	want := string(data)
	for mark, text := range map[string]string{"points": table(), "payloads": examples(t)} {
		at := regexp.MustCompile("(?s)<!-- " + mark + " -->\n(.*?)<!-- /" + mark + " -->").FindStringSubmatchIndex(want)
		if at == nil {
			t.Fatalf("%s has no part <!-- %s -->", page, mark)
		}
		want = want[:at[2]] + text + want[at[3]:]
	}
	if golden.Updating() {
		check.OK(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	check.Equal(t, "run: go test ./internal/hooks -update", want, string(data))
}

func table() string {
	var b strings.Builder
	b.WriteString("| point | a hook may |\n|---|---|\n")
	for _, s := range points() {
		may := strings.TrimPrefix(s.does(), "may ")
		if len(s.may) == 0 {
			may = "observe"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.point, may)
	}
	return b.String()
}

// examples are the payloads as a hook reads them, with more white space.
func examples(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	all := samples()
	for _, s := range points() {
		p, ok := all[s.point]
		if !ok {
			check.That(t, len(s.may) == 0, "there is no example for %s", s.point)
			continue
		}
		p.V, p.Point, p.At, p.Project = Version, s.point, at, "/home/me/shop"
		text, err := json.MarshalIndent(p, "", "  ")
		check.OK(t, err)
		fmt.Fprintf(&b, "`%s`:\n\n```json\n%s\n```\n\n", s.point, text)
	}
	return b.String()
}
