package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/render/transcript"
	"ralph/internal/testing/check"
)

// pretendRun records a run of one attempt, so that what tells of runs has
// something to tell.
func (b *bench) pretendRun() {
	b.t.Helper()
	d, err := db.Open(b.t.Context(), filepath.Join(b.dir, ".ralph", "progress.db"), db.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	defer d.Close()
	now := b.now
	store := dag.New(d, dag.Options{Now: func() time.Time { return now }})
	in, cached, out, cost := int64(12000), int64(9000), int64(800), 0.12
	var run dag.Run
	steps := []func(g *dag.Graph) error{
		func(g *dag.Graph) (err error) {
			run, err = g.StartRun(dag.Scope{Feature: "login"}, dag.Process{PID: 1})
			return err
		},
		func(g *dag.Graph) error {
			c, _, err := g.Claim(dag.ClaimOptions{Run: run, Scope: run.Scope, KeepGoing: true, Lease: time.Hour, Iteration: 1})
			if err != nil {
				return err
			}
			err = g.NoteAttempt(c.Attempt, dag.Note{
				Agent: "claude", Model: "sonnet", ModelEffective: "claude-sonnet-4-5", Sandbox: "full", StopReason: "end_turn",
				Usage: &event.Usage{TokensIn: in, TokensCached: cached, TokensOut: out, CostUSD: &cost}, Files: []string{"form.go"},
			})
			if err != nil {
				return err
			}
			gates := `[{"command":"go test ./...","passed":false,"exit":"exit status 1","baseline":"green","verdict":"failed"}]`
			if err := g.Tx().Exec(`UPDATE attempts SET gates = :gates;`, ":gates", gates); err != nil {
				return err
			}
			now = now.Add(90 * time.Second)
			return nil
		},
		func(g *dag.Graph) error {
			tasks, err := g.List(dag.Filter{Statuses: []dag.Status{dag.InProgress}})
			if err != nil {
				return err
			}
			c := dag.Claim{Task: tasks[0], Owner: tasks[0].Owner, Generation: tasks[0].Generation}
			return g.Fail(c, "gate \"go test ./...\": exit status 1\n--- FAIL: TestForm")
		},
		func(g *dag.Graph) error { return g.EndRun(run.ID, "complete", "", 1) },
	}
	for _, step := range steps {
		if err := store.Update(b.t.Context(), step); err != nil {
			b.t.Fatal(err)
		}
	}
}

// logSample documents the lines of `ralph logs --json`, each on one line.
func logSample(t *testing.T, at time.Time) string {
	t.Helper()
	cost := 0.12
	text := "\n## ralph logs --json (one object a line; what does not belong to its kind is absent)\n\n```json\n"
	for _, l := range []transcript.Line{
		{Kind: transcript.Claimed, Title: "Build it", Iteration: 1, Agent: "claude", Model: "sonnet"},
		{Kind: transcript.Prompt, Text: "# Ralph\n..."},
		{Kind: transcript.Said, Text: "I will look at the form.\n"},
		{Kind: transcript.ToolCall, Tool: &transcript.Tool{ID: "call-1", Title: "Run the tests", Kind: "execute", Status: "completed", Input: "go test ./...", Output: "ok\n", New: true}},
		{Kind: transcript.Gate, Gate: &event.Gate{Command: "go vet ./...", Exit: "exit status 1"}, Output: "form.go:3:1: missing return\n"},
		{Kind: transcript.Gate, Gate: &event.Gate{Command: "go test ./...", Passed: true, Exit: "exit status 0"}},
		{Kind: transcript.Ended, Outcome: "done", Status: "done", Duration: 90000, Usage: &event.Usage{TokensIn: 12000, TokensOut: 800, CostUSD: &cost}},
	} {
		l.At, l.Run, l.Task, l.Attempt = at, "r-00000001", "t-00000001", "a-00000001"
		line, err := json.Marshal(l)
		check.OK(t, err)
		text += string(line) + "\n"
	}
	kinds := []transcript.Kind{
		transcript.Began, transcript.Claimed, transcript.Prompt, transcript.Said, transcript.Thought, transcript.ToolCall, transcript.Plan, transcript.Asked,
		transcript.Wrote, transcript.Failed, transcript.Stopped, transcript.Raw, transcript.Gate, transcript.Verdict, transcript.Ended, transcript.Waits, transcript.Warning, transcript.Over,
	}
	text += "```\n\nKinds:"
	for i, k := range kinds {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" `%s`", k)
	}
	return text + ".\n"
}
