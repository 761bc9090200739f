package acp

import (
	"sync"
	"testing"
)

// Repetition is noticed by what a call was given and what came of it.
func TestCallsAreToldApartByInputAndResult(t *testing.T) {
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
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	a := last["a"]
	if a.Input == "" || a.Result == "" {
		t.Errorf("got no digests: %+v", a)
	}
	for id, want := range map[string]struct{ input, result bool }{
		"same": {true, true}, "other input": {false, true}, "other result": {true, false},
	} {
		if got := last[id]; (got.Input == a.Input) != want.input || (got.Result == a.Result) != want.result {
			t.Errorf("%s: got %+v beside %+v", id, got, a)
		}
	}
	if got := last["unsaid"]; got.Input != "" || got.Result != "" {
		t.Errorf("what was not told has a digest: %+v", got)
	}
}
