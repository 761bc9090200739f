package acp

import (
	"errors"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// codex is an update in which Codex reports its own state.
func codex(meta string) step {
	return step{Do: "raw", Text: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"{{session}}","update":{"sessionUpdate":"session_info_update","_meta":{"codex":` + meta + `}}}}`}
}

// codexError is one that it reports there, with a status of HTTP.
func codexError(status, more string) step {
	return codex(`{"error":{"message":"Reconnecting... 4/4","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":` + status + `}}` + more + `}}`)
}

// Some agents answer a prompt that their provider refused in the ordinary way.
func TestATurnThatEndedAtALimitIsAnError(t *testing.T) {
	t.Parallel()
	gaveUp := codex(`{"threadStatus":{"type":"systemError"}}`)
	const retries = `,"willRetry":true`
	for name, tc := range map[string]struct {
		steps   []step
		limited bool
		empty   bool
	}{
		"the whole turn is a notice about it": {[]step{{Do: "say", Text: "exceeded retry limit, last status: 429 Too Many Requests\n\n"}}, true, true},
		"a notice before each retry and one at the end": {[]step{
			{Do: "say", Text: "Info: Request failed due to a transient API error. Retrying..."},
			{Do: "usage", N: 9312},
			{Do: "say", Text: "Info: Request failed due to a transient API error. Retrying..."},
			{Do: "usage", N: 9312},
			{Do: "say", Text: "Error: Failed to get response from the AI model; retried 5 times (total retry wait time: 5.37 seconds) Last error: 529 Overloaded"},
		}, true, true},
		"data, and not a word":                {[]step{codexError("429", "")}, true, true},
		"data of an error that was given up":  {[]step{{Do: "say", Text: "Warning: unknown model `x`.\n\n"}, codexError("529", retries), gaveUp, {Do: "say", Text: "It did not work out."}}, true, true},
		"data, and a notice in other words":   {[]step{codexError("429", ""), {Do: "say", Text: "The connection was lost."}}, true, true},
		"data, and the same as a notice":      {[]step{codexError("429", `,"additionalDetails":"no luck"`+retries), {Do: "say", Text: "no luck\n\n"}}, true, true},
		"data that names the limit":           {[]step{codex(`{"error":{"message":"no","codexErrorInfo":"usageLimitExceeded"}}`)}, true, true},
		"data in the middle of the work":      {[]step{{Do: "tool", Text: "x", Status: "completed"}, codexError("429", "")}, true, false},
		"data of another error, and a notice": {[]step{codexError("500", ""), {Do: "say", Text: "exceeded retry limit, last status: 429 Too Many Requests"}}, false, false},
		"data, and then it worked":            {[]step{codexError("429", retries), {Do: "say", Text: "I have looked at it, and wonder."}}, false, false},
		"data, and then a tool was called":    {[]step{codexError("429", ""), {Do: "tool", Text: "x", Status: "completed"}}, false, false},
		"a notice after work":                 {[]step{{Do: "tool", Text: "x", Status: "completed"}, {Do: "say", Text: "Rate limit exceeded."}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn, err := newBench(t, say(tc.steps...)).prompt(t)
			if got := errors.Is(err, RateLimited); got != tc.limited || (err != nil && !got) {
				t.Errorf("got %v, want a limit: %v", err, tc.limited)
			}
			check.That(t, turn.Empty() == tc.empty, "got %+v, want it empty: %v", turn, tc.empty)
			if tc.empty && turn.Usage.counted() {
				t.Errorf("got %+v, want nothing used", turn.Usage)
			}
		})
	}
}

// What an agent wanted to send to a provider that refused it was not used.
func TestARefusedRequestUsesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Prompt: 1}, Steps: []step{{Do: "usage", N: 500}, {Do: "say", Text: "x"}}},
		{When: fakeagent.When{Prompt: 2}, Steps: []step{{Do: "usage", N: 900}, {Do: "error", Code: 429, Text: "slow down"}}},
		{When: fakeagent.When{Prompt: 3}, Steps: []step{{Do: "stop", Text: "end_turn", Data: []byte(`{"usage":{"inputTokens":700,"outputTokens":0,"totalTokens":700}}`)}}},
		{When: fakeagent.When{Prompt: 4}, Steps: []step{{Do: "stop", Text: "end_turn", Data: []byte(`{"usage":{"inputTokens":700,"outputTokens":3,"totalTokens":703}}`)}}},
	}})
	s := b.start(t)
	for i, want := range []int64{500, 0, 0, 700} {
		if turn, _ := s.Prompt(t.Context(), "x"); turn.Usage.Input != want { // the second is an error
			t.Errorf("turn %d: got %+v, want %d tokens in", i+1, turn.Usage, want)
		}
	}
	if got := s.Usage(); got.Input != 1200 || got.Output != 3 {
		t.Errorf("got %+v in the session, want 1200 in and 3 out", got)
	}
}
