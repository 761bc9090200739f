package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

type step = fakeagent.Step

func TestTurn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps []step
		want  Turn
	}{
		"text in small chunks": {[]step{{Do: "say", Text: "Hello {{task}}, goodbye.", Chunk: 3}}, Turn{Stop: StopEnd, Segments: []string{"Hello t-0123abcd, goodbye."}}},
		"cut at a tool call": {
			[]step{{Do: "say", Text: "one"}, {Do: "tool", Text: "x", Kind: "read", Paths: []string{"r.txt"}, Status: "completed"}, {Do: "say", Text: "two"}},
			Turn{Stop: StopEnd, Segments: []string{"one", "two"}, ToolCalls: 1},
		},
		"cut at a tool call never announced": {
			[]step{{Do: "say", Text: "one"}, {Do: "tool_update", ID: "u", Status: "failed"}, {Do: "say", Text: "two"}},
			Turn{Stop: StopEnd, Segments: []string{"one", "two"}, ToolCalls: 1},
		},
		"not cut when a known call continues": {
			[]step{{Do: "tool", Text: "x", ID: "a"}, {Do: "say", Text: "<task-"}, {Do: "tool_update", ID: "a", Status: "completed"}, {Do: "say", Text: "done>"}},
			Turn{Stop: StopEnd, Segments: []string{"<task-done>"}, ToolCalls: 1},
		},
		"cut after a notice that was given during a call": {
			[]step{{Do: "tool", Text: "x", ID: "a"}, {Do: "say", Text: "Info: a.txt"}, {Do: "tool_update", ID: "a", Status: "completed"}, {Do: "say", Text: "<task-done>"}},
			Turn{Stop: StopEnd, Segments: []string{"Info: a.txt", "<task-done>"}, ToolCalls: 1},
		},
		"cut at a plan": {
			[]step{{Do: "say", Text: "Ticking off the plan."}, {Do: "plan", Text: "p"}, {Do: "say", Text: "<task-done>"}},
			Turn{Stop: StopEnd, Segments: []string{"Ticking off the plan.", "<task-done>"}},
		},
		"cut at a thought": {[]step{{Do: "say", Text: "one"}, {Do: "think", Text: "hm"}, {Do: "say", Text: "two"}}, Turn{Stop: StopEnd, Segments: []string{"one", "two"}}},
		"cut at other updates of the session": {
			[]step{{Do: "say", Text: "one"}, {Do: "usage", N: 10}, {Do: "say", Text: "two"}, otherUpdate("current_mode_update"), {Do: "say", Text: "three"}, otherUpdate("hologram"), {Do: "say", Text: "four"}},
			Turn{Stop: StopEnd, Segments: []string{"one", "two", "three", "four"}, Usage: Usage{Input: 10, Total: 10}},
		},
		"not cut in the middle of a sigil": {
			[]step{
				{Do: "say", Text: "Fine.\n<task-"},
				{Do: "plan", Text: "p"},
				{Do: "say", Text: "done>t-1"},
				{Do: "usage"},
				{Do: "say", Text: "</task-done>"},
				{Do: "plan", Text: "p"},
				{Do: "say", Text: "<journal>one\ntwo"},
				{Do: "think", Text: "hm"},
				{Do: "say", Text: " three</journal>\n"},
			},
			Turn{Stop: StopEnd, Segments: []string{"Fine.\n<task-done>t-1</task-done>", "<journal>one\ntwo three</journal>\n"}},
		},
		"not cut in the middle of code, where a sigil would count afterwards": {
			[]step{{Do: "say", Text: "Say `"}, {Do: "plan", Text: "p"}, {Do: "say", Text: "<task-done>` or\n```\n"}, {Do: "usage"}, {Do: "say", Text: "<task-done>\n```\n"}},
			Turn{Stop: StopEnd, Segments: []string{"Say `<task-done>` or\n```\n<task-done>\n```\n"}},
		},
		"a comparison is no sigil": {
			[]step{{Do: "say", Text: "a < b"}, {Do: "plan", Text: "p"}, {Do: "say", Text: "<task-done>"}},
			Turn{Stop: StopEnd, Segments: []string{"a < b", "<task-done>"}},
		},
		"cut at the next message": {
			[]step{{Do: "say", Text: "one", ID: "m1"}, {Do: "say", Text: "two", ID: "m2"}, {Do: "say", Text: "three", ID: "m2"}},
			Turn{Stop: StopEnd, Segments: []string{"one", "twothree"}},
		},
		"thoughts are no text": {[]step{{Do: "think", Text: "<task-done>"}, {Do: "plan", Text: "p"}}, Turn{Stop: StopEnd}},
		"a call that is announced twice counts once": {
			[]step{{Do: "tool", Text: "x", ID: "a", Status: "failed"}, {Do: "tool", Text: "x", ID: "a", Status: "failed"}},
			Turn{Stop: StopEnd, ToolCalls: 1},
		},
		"files touched": {
			[]step{
				{Do: "tool", Text: "e", Kind: "edit", Paths: []string{"b.txt", "/etc/passwd", "../x"}},
				{Do: "tool", Text: "d", Kind: "other", Path: "sub/diff.txt", Status: "completed"},
				{Do: "tool", Text: "r", Kind: "read", Paths: []string{"only-read.txt"}},
				{Do: "write", Path: "a.txt", Text: "x"},
			},
			Turn{Stop: StopEnd, ToolCalls: 3, Files: []string{"a.txt", "b.txt", "sub/diff.txt"}},
		},
		"files that could not be written are not touched": {
			[]step{
				{Do: "tool", Text: "e", ID: "a", Kind: "edit", Paths: []string{"a.txt", "both.txt"}, Status: "failed"},
				{Do: "tool", Text: "e", ID: "b", Kind: "edit", Paths: []string{"both.txt"}, Status: "completed"},
				{Do: "tool", Text: "d", ID: "c", Kind: "other", Path: "diff.txt", Status: "failed"},
				{Do: "write", Path: ".ralph/x", Text: "x"},
			},
			Turn{Stop: StopEnd, ToolCalls: 3, Files: []string{"both.txt"}},
		},
		"tokens and cost": {
			[]step{
				{Do: "usage", N: 10, Cost: ptr(0.25)},
				{Do: "usage", N: 20, Cost: ptr(0.5)},
				{Do: "stop", Text: "max_tokens", Data: []byte(`{"usage":{"inputTokens":10,"outputTokens":5,"cachedReadTokens":3,"cachedWriteTokens":2,"totalTokens":20}}`)},
			},
			Turn{Stop: StopMaxTokens, Usage: Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2, Total: 20, CostUSD: ptr(0.5)}},
		},
		"tokens beside the protocol": {
			[]step{{Do: "stop", Text: "end_turn", Data: []byte(`{"_meta":{"quota":{"token_count":{"input_tokens":7,"output_tokens":8}}}}`)}},
			Turn{Stop: StopEnd, Usage: Usage{Input: 7, Output: 8, Total: 15}},
		},
		"cost in another currency is not known": {[]step{{Do: "usage", Text: "EUR", Cost: ptr(3.0)}}, Turn{Stop: StopEnd}},
		"refusal":                               {[]step{{Do: "stop", Text: "refusal"}}, Turn{Stop: StopRefusal}},
		"max turn requests":                     {[]step{{Do: "stop", Text: "max_turn_requests"}}, Turn{Stop: StopMaxTurnRequests}},
		"answered twice":                        {[]step{{Do: "say", Text: "a"}, {Do: "stop", Text: "end_turn"}, {Do: "stop", Text: "refusal"}}, Turn{Stop: StopEnd, Segments: []string{"a"}}},
		"updates of another session": {
			[]step{{Do: "raw", Text: `{"method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}`}},
			Turn{Stop: StopEnd},
		},
		"updates of unknown and broken kinds": {
			[]step{
				{Do: "raw", Text: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"{{session}}","update":{"sessionUpdate":"hologram","content":{"type":"text","text":"x"}}}}`},
				{Do: "raw", Text: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"{{session}}","update":{"sessionUpdate":"tool_call","toolCallId":"q","title":7,"locations":"x","content":3}}}`},
				{Do: "raw", Text: `{"jsonrpc":"2.0","method":"session/update","params":[1]}`},
				{Do: "raw", Text: `{"jsonrpc":"2.0","method":"_vendor/notice"}`},
				{Do: "raw", Text: `{"jsonrpc":"2.0","method":"vendor/notice"}`},
				{Do: "say", Text: "still here"},
			},
			Turn{Stop: StopEnd, Segments: []string{"still here"}, ToolCalls: 1},
		},
		"the agent exits right after its answer": {
			[]step{{Do: "say", Text: "bye"}, {Do: "stop", Text: "end_turn"}, {Do: "exit"}},
			Turn{Stop: StopEnd, Segments: []string{"bye"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(tc.steps...))
			got := b.must(t)
			check.Equal(t, "result", tc.want, got, cmpopts.EquateEmpty())
			b.checkTranscript(t)
			b.wantNothingLeft(t)
		})
	}
}

// otherUpdate is an update of that kind, which has no text.
func otherUpdate(kind string) step {
	return step{Do: "raw", Text: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"{{session}}","update":{"sessionUpdate":"` + kind + `"}}}`}
}

func TestEmptyTurn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		turn Turn
		want bool
	}{
		"nothing":    {Turn{Stop: StopEnd}, true},
		"only space": {Turn{Stop: StopEnd, Segments: []string{" \n"}}, true},
		"a word":     {Turn{Stop: StopEnd, Segments: []string{"x"}}, false},
		"a tool":     {Turn{Stop: StopEnd, ToolCalls: 1}, false},

		"a model that answered nothing":    {Turn{Stop: StopEnd, Usage: Usage{Input: 9, Output: 1}}, false},
		"a model that is paid for nothing": {Turn{Stop: StopEnd, Usage: Usage{CostUSD: ptr(0.01)}}, false},
		"a request that nobody answered":   {Turn{Stop: StopEnd, Usage: Usage{Input: 9, CostUSD: ptr(0.0)}}, true},
		"a notice that a provider refused": {Turn{Stop: StopEnd, Segments: []string{"too many requests"}, Unserved: true}, true},
	} {
		check.Equal(t, name, tc.want, tc.turn.Empty())
	}
}

// Two turns: text and usage of one are not in the other, and nothing twice.
func TestSeveralTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Prompt: 1}, Steps: []step{
			{Do: "say", Text: "first"},
			{Do: "usage", Cost: ptr(1.0)},
			{Do: "stop", Text: "end_turn"},
			{Do: "say", Text: "late"},
			{Do: "usage", Cost: ptr(1.5)},
			{Do: "mark", Text: "late"},
		}},
		{When: fakeagent.When{Prompt: 2}, Steps: []step{{Do: "say", Text: "second"}, {Do: "usage", Cost: ptr(2.0)}}},
	}})
	seen := make(chan Event, 100)
	b.cfg.Observe = func(e Event) { seen <- e }
	s := b.start(t)
	first, err := s.Prompt(t.Context(), "one")
	check.OK(t, err)
	for e := range seen { // the late update has arrived
		if _, ok := e.(UsageSeen); ok && *s.Usage().CostUSD == 1.5 {
			break
		}
	}
	second, err := s.Prompt(t.Context(), "two")
	check.OK(t, err)
	check.That(t, textOf(first) == "first" && textOf(second) == "second", "got %q and %q", textOf(first), textOf(second))
	// The late cost is in the one or the other, depending on who was quicker.
	check.Equal(t, "cost of the turns", 2.0, *first.Usage.CostUSD+*second.Usage.CostUSD)
	check.Equal(t, "session cost", 2.0, *s.Usage().CostUSD)
}

func TestStartedGetsTheProcessBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, say())
	var id proc.Identity
	b.cfg.Started = func(got proc.Identity) error {
		id = got
		check.That(t, proc.Liveness(got) == proc.Alive, "%+v is not alive", got)
		check.Equal(t, "already sent", "", b.transcript.String())
		return nil
	}
	s := b.start(t)
	check.That(t, s.proc.Identity() == id, "got %+v, want %+v", id, s.proc.Identity())
	b.cfg.Started = func(proc.Identity) error { return os.ErrPermission }
	if _, err := Start(t.Context(), b.cfg); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v, want what Started returned", err)
	}
}

func TestPromptWithCancelledContextSendsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, say())
	s := b.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Prompt(ctx, "x")
	wantKind(t, err, Cancelled)
	check.That(t, !strings.Contains(b.transcript.String(), opPrompt), "the prompt was sent")
	if _, err := s.Prompt(t.Context(), "x"); err != nil {
		t.Errorf("the session is not usable any more: %v", err)
	}
}

func TestProjectBehindALink(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "write", Path: "a.txt", Text: "x"}))
	link := filepath.Join(t.TempDir(), "link")
	check.OK(t, os.Symlink(b.cfg.Dir, link))
	b.cfg.Dir = link
	turn := b.must(t)
	check.Equal(t, "result", []string{"a.txt"}, turn.Files)
}
