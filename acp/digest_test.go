package acp

import (
	"sync"
	"testing"

	"ralph/internal/testing/check"
)

// Repetition is noticed by what a call was given and what came of it.
func TestCallsDifferByInputAndResult(t *testing.T) {
	t.Parallel()
	tool := func(id, input, output string) step {
		return step{Do: "tool", ID: id, Text: "x", Status: "completed", Params: []byte(input), Data: []byte(output)}
	}
	b := newBench(t, say(
		tool("a", `{"p":1}`, `"one"`), tool("same", `{"p":1}`, `"one"`), tool("other input", `{"p":2}`, `"one"`),
		tool("other result", `{"p":1}`, `"two"`), step{Do: "tool", ID: "unsaid", Text: "x"},
	))
	var mu sync.Mutex
	last := map[string]ToolCall{}
	b.cfg.Observe = func(e Event) {
		if call, ok := e.(ToolCall); ok {
			mu.Lock()
			defer mu.Unlock()
			last[call.ID] = call
		}
	}
	b.must(t)
	mu.Lock()
	defer mu.Unlock()
	a := last["a"]
	check.That(t, a.InputSum != "" && a.ResultSum != "", "got no digests: %+v", a)
	for id, want := range map[string]struct{ input, result bool }{
		"same": {true, true}, "other input": {false, true}, "other result": {true, false},
	} {
		if got := last[id]; (got.InputSum == a.InputSum) != want.input || (got.ResultSum == a.ResultSum) != want.result {
			t.Errorf("%s: got %+v beside %+v", id, got, a)
		}
	}
	if got := last["unsaid"]; got.InputSum != "" || got.ResultSum != "" {
		t.Errorf("what is missing has a digest: %+v", got)
	}
}

// Agents put names and times of their own into what they report about a call.
func TestNamesAndTimesMakeNoDifference(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{
			`{"call_id":"a","process_id":"1","turn_id":"x","started_at_ms":1,"command":["ls"],"cwd":"/p"}`,
			`{"command":["ls"],"cwd":"/p","call_id":"b","process_id":"2","turn_id":"x","started_at_ms":2}`,
		},
		{`{"stdout":"a","duration":{"secs":0,"nanos":1}}`, `{"stdout":"a","duration":{"secs":1,"nanos":2}}`},
		{`{"deep":[{"toolCallId":"a","x":1}]}`, `{"deep":[{"x":1,"toolCallId":"b"}]}`},
	}
	for _, pair := range same {
		check.That(t, digest([]byte(pair[0])) == digest([]byte(pair[1])), "distinguished:\n%s\n%s", pair[0], pair[1])
	}
	for _, pair := range [][2]string{
		{`{"command":["ls"]}`, `{"command":["pwd"]}`}, {`{"id":1}`, `{"id":2}`}, {`{"path":"a"}`, `{"path":"b"}`}, {`"a"`, `"b"`}, {`[1,2]`, `[2,1]`}, {`{`, `[`},
	} {
		check.That(t, digest([]byte(pair[0])) != digest([]byte(pair[1])), "not distinguished:\n%s\n%s", pair[0], pair[1])
	}
	check.That(t, digest(nil, []byte{}) == "", "nothing has a digest")
}
