package acp

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/toolcall"
)

// reported is how an agent reports its usage in one turn: updates, then the answer.
type reported struct {
	updates []string
	answer  string
}

// cents compares costs as money: sums of fractions are not exact.
var cents = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })

// TestUsageIsCountedOnceHoweverItIsReported plays what real agents were seen to say
// in a session of two turns.
func TestUsageIsCountedOnceHoweverItIsReported(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cumulative bool
		turns      []reported
		want       []Usage
		total      Usage
	}{
		"claude: the cost of the session in updates, tokens of the turn in the answer and again beside it": {
			turns: []reported{
				{[]string{`"used":1201,"size":1000000`, `"used":1250,"size":1000000`, `"used":1250,"size":1000000,"cost":{"amount":0.0252,"currency":"USD"}`}, `{"usage":{"inputTokens":4000,"outputTokens":200,"cachedReadTokens":800,"cachedWriteTokens":0,"totalTokens":5000},"_meta":{"quota":{"token_count":{"totalTokens":5000,"inputTokens":4000,"cachedInputTokens":800,"outputTokens":200},"model_usage":[{"model":"m","token_count":{"totalTokens":6250,"inputTokens":5000}}]}}}`},
				{[]string{`"used":1250,"size":1000000,"cost":{"amount":0.0504,"currency":"USD"}`}, `{"usage":{"inputTokens":1000,"outputTokens":50,"cachedReadTokens":200,"cachedWriteTokens":0,"totalTokens":1250}}`},
			},
			want: []Usage{
				{Input: 4000, Output: 200, CacheRead: 800, Total: 5000, CostUSD: ptr(0.0252)},
				{Input: 1000, Output: 50, CacheRead: 200, Total: 1250, CostUSD: ptr(0.0252)},
			},
			total: Usage{Input: 5000, Output: 250, CacheRead: 1000, Total: 6250, CostUSD: ptr(0.0504)},
		},
		"opencode: the cost of the session, tokens of the last request": {
			turns: []reported{
				{[]string{`"used":1000,"size":200000,"cost":{"amount":0.01284,"currency":"USD"}`}, `{"usage":{"inputTokens":800,"outputTokens":50,"totalTokens":1050,"cachedReadTokens":200},"_meta":{}}`},
				{[]string{`"used":1000,"size":200000,"cost":{"amount":0.025680000000000005,"currency":"USD"}`}, `{"usage":{"inputTokens":800,"outputTokens":50,"totalTokens":1050,"cachedReadTokens":200},"_meta":{}}`},
			},
			want: []Usage{
				{Input: 800, Output: 50, CacheRead: 200, Total: 1050, CostUSD: ptr(0.01284)},
				{Input: 800, Output: 50, CacheRead: 200, Total: 1050, CostUSD: ptr(0.01284)},
			},
			total: Usage{Input: 1600, Output: 100, CacheRead: 400, Total: 2100, CostUSD: ptr(0.02568)},
		},
		"codex: nothing but the size of its context": {
			turns: []reported{
				{[]string{`"used":1050,"size":258400`, `"used":1900,"size":258400`, `"used":1900,"size":258400`}, `{}`},
				{[]string{`"used":2500,"size":258400`}, `{}`},
			},
			want:  []Usage{{Input: 1900, Total: 1900}, {Input: 2500, Total: 2500}},
			total: Usage{Input: 4400, Total: 4400},
		},
		"codex, the newer adapter: tokens of the prompt, without cost": {
			turns: []reported{
				{[]string{`"used":1050,"size":258400`}, `{"usage":{"totalTokens":2100,"inputTokens":1600,"cachedReadTokens":400,"cachedWriteTokens":0,"outputTokens":100,"thoughtTokens":20},"_meta":{"quota":{"token_count":{"totalTokens":2100}}}}`},
				{nil, `{"usage":{"totalTokens":1050,"inputTokens":800,"cachedReadTokens":200,"outputTokens":50}}`},
			},
			want:  []Usage{{Input: 1600, Output: 100, CacheRead: 400, Total: 2100}, {Input: 800, Output: 50, CacheRead: 200, Total: 1050}},
			total: Usage{Input: 2400, Output: 150, CacheRead: 600, Total: 3150},
		},
		"gemini: tokens beside the answer only": {
			turns: []reported{
				{nil, `{"_meta":{"quota":{"token_count":{"input_tokens":700,"output_tokens":30},"model_usage":[{"model":"m","token_count":{"input_tokens":700,"output_tokens":30}}]}}}`},
				{nil, `{"_meta":{"quota":{"token_count":{"input_tokens":900,"output_tokens":10},"model_usage":[]}}}`},
			},
			want:  []Usage{{Input: 700, Output: 30, Total: 730}, {Input: 900, Output: 10, Total: 910}},
			total: Usage{Input: 1600, Output: 40, Total: 1640},
		},
		"copilot: tokens of the session in the answer, without cost, those of the cache among the others": {
			cumulative: true,
			turns: []reported{
				{nil, `{"usage":{"inputTokens":3000,"outputTokens":150,"totalTokens":3150,"cachedReadTokens":600,"cachedWriteTokens":0}}`},
				{nil, `{"usage":{"inputTokens":4000,"outputTokens":200,"totalTokens":4200,"cachedReadTokens":800,"cachedWriteTokens":0}}`},
			},
			want:  []Usage{{Input: 2400, Output: 150, CacheRead: 600, Total: 3150}, {Input: 800, Output: 50, CacheRead: 200, Total: 1050}},
			total: Usage{Input: 3200, Output: 200, CacheRead: 800, Total: 4200},
		},
		"an agent that adds its turns up, is silent in between, and starts again": {
			cumulative: true,
			turns: []reported{
				{nil, `{"usage":{"inputTokens":500,"outputTokens":40,"totalTokens":540}}`},
				{nil, `{}`},
				{nil, `{"usage":{"inputTokens":600,"outputTokens":50,"totalTokens":650}}`},
				{nil, `{"usage":{"inputTokens":5,"outputTokens":1,"totalTokens":6}}`},
			},
			want:  []Usage{{Input: 500, Output: 40, Total: 540}, {}, {Input: 100, Output: 10, Total: 110}, {Input: 5, Output: 1, Total: 6}},
			total: Usage{Input: 605, Output: 51, Total: 656},
		},
		"an agent that says nothing": {
			turns: []reported{{nil, `{}`}, {nil, `{}`}},
			want:  []Usage{{}, {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, reporting(tc.turns))
			b.cfg.UsageCumulative = tc.cumulative
			s := b.start(t)
			for i, want := range tc.want {
				turn, err := s.Prompt(t.Context(), "x")
				check.OK(t, err)
				check.Equal(t, fmt.Sprint("turn ", i+1), want, turn.Usage, cents)
			}
			check.Equal(t, "session", tc.total, s.Usage(), cents)
		})
	}
}

// reporting is a script that reports its usage so, turn by turn.
func reporting(turns []reported) fakeagent.Script {
	var script fakeagent.Script
	for i, turn := range turns {
		c := fakeagent.Conversation{When: fakeagent.When{Prompt: i + 1}}
		for _, u := range turn.updates {
			c.Steps = append(c.Steps, step{Do: "raw", Text: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"{{session}}","update":{"sessionUpdate":"usage_update",` + u + `}}}`})
		}
		c.Steps = append(c.Steps, step{Do: "say", Text: "x"}, step{Do: "stop", Text: "end_turn", Data: []byte(turn.answer)})
		script.Conversations = append(script.Conversations, c)
	}
	return script
}

// What is reported at the end of a turn is shown before anything else happens.
func TestUsageOfATurnIsShownAtItsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, reporting([]reported{{nil, `{"usage":{"inputTokens":500,"outputTokens":40,"totalTokens":540}}`}}))
	seen := make(chan Event, 10)
	b.cfg.Observe = func(e Event) {
		if _, ok := e.(UsageSeen); ok {
			seen <- e
		}
	}
	b.must(t)
	check.Equal(t, "events", 1, len(seen))
}

func TestMeterOfAResumedSession(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before float64
		sums   []float64
		want   float64
	}{
		"the sum continues":                        {0.5, []float64{0.6, 0.75}, 0.25},
		"the sum was started again":                {0.5, []float64{0.1, 0.2}, 0.2},
		"nothing was spent":                        {0.5, []float64{0.5}, 0},
		"it was added up in another order":         {0.025680000000000005, []float64{0.02568, 0.03852}, 0.01284},
		"nothing was known of what it had cost":    {0, []float64{0.7}, 0.7},
		"a sum falls by a rounding error, we stay": {0, []float64{0.3, 0.29999999999999999, 0.4}, 0.4},
	} {
		m := newMeter(false, tc.before)
		check.That(t, m.total().CostUSD == nil, "%s: a cost before anything was reported", name)
		var turns float64
		for _, sum := range tc.sums {
			m.sum(sum)
			turns += *m.settle(Usage{}, false).CostUSD
		}
		if got := *m.total().CostUSD; math.Abs(got-tc.want) > 1e-9 || math.Abs(turns-tc.want) > 1e-9 {
			t.Errorf("%s: got %v in total and %v in turns, want %v", name, got, turns, tc.want)
		}
	}
}

// live is an update with the tokens of the turn so far, as our own agent sends it after each call of a model.
func live(in, out int) fakeagent.Step {
	return step{Do: "raw", Text: fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"{{session}}","update":{"sessionUpdate":"usage_update","used":%d,"size":1000,`+
		`"_meta":{"ralph":{"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}}}}}}`, in+out, in, out, in+out)}
}

func TestTokensOfATurnAreKnownBeforeItsEndAndCountedOnce(t *testing.T) {
	t.Parallel()
	ask := step{Do: "permission", Text: "x", Options: []fakeagent.Option{{ID: "a", Kind: "allow_once", Name: "yes"}}}
	b := newBench(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Prompt: 1}, Steps: []fakeagent.Step{live(10, 1), ask, live(30, 2), ask, {Do: "stop", Text: "end_turn", Data: []byte(`{"usage":{"inputTokens":31,"outputTokens":3,"totalTokens":34}}`)}}},
		{When: fakeagent.When{Prompt: 2}, Steps: []fakeagent.Step{live(5, 1), ask, {Do: "error", Code: -32603, Text: "it broke"}}},
		{When: fakeagent.When{Prompt: 3}, Steps: []fakeagent.Step{ask, {Do: "stop", Text: "end_turn"}, live(7, 7)}},
	}})
	var s *Session
	var seen []Usage
	b.cfg.Decide = func(context.Context, toolcall.Call) Decision {
		seen = append(seen, s.Usage())
		return Decision{Allow: true}
	}
	s = b.start(t)
	turn, err := s.Prompt(t.Context(), "x")
	check.OK(t, err)
	check.Equal(t, "first turn", Usage{Input: 31, Output: 3, Total: 34}, turn.Usage)
	turn, err = s.Prompt(t.Context(), "x")
	check.That(t, err != nil, "the second turn did not fail")
	check.Equal(t, "second turn", Usage{Input: 5, Output: 1, Total: 6}, turn.Usage)
	turn, err = s.Prompt(t.Context(), "x")
	check.OK(t, err)
	check.Equal(t, "third turn", Usage{}, turn.Usage)
	check.Equal(t, "seen at work", []Usage{
		{Input: 10, Output: 1, Total: 11}, {Input: 30, Output: 2, Total: 32}, {Input: 36, Output: 4, Total: 40}, {Input: 36, Output: 4, Total: 40},
	}, seen)
	check.Equal(t, "session", Usage{Input: 36, Output: 4, Total: 40}, s.Usage())
}
