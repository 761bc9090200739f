package modelagent

import (
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/testing/check"
)

// thinks is an answer with a thought before its text, and another one after it.
func thinks(text string) said {
	thought := Block{Kind: Thinking, Text: "hm", Signature: "signed"}
	return said{Reply: Reply{Stop: StopEnd, Message: Message{Role: Assistant, Blocks: []Block{thought, {Kind: Text, Text: text}, thought}}}}
}

func thoughts(r Request) (n int) {
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Kind == Thinking {
				n++
			}
		}
	}
	return n
}

// TestThoughtsGoBackToTheModelThatHadThem and to no other, which could not check their signatures. No answer ends with
// one, which is refused.
func TestThoughtsGoBackToTheModelThatHadThem(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(thinks("one"), thinks("two"), thinks("three")))
	conn, id, _ := m.bare(nil)
	ask1(t, conn, id, acp.TextBlock("Go."))
	check.OK(t, set(t, conn, id, "effort", "high"))
	ask1(t, conn, id, acp.TextBlock("Go."))
	check.OK(t, set(t, conn, id, "model", "haiku"))
	ask1(t, conn, id, acp.TextBlock("Go."))
	ask1(t, conn, id, acp.TextBlock("Go."))
	var got []int
	for _, r := range m.asked() {
		got = append(got, thoughts(r))
	}
	check.Equal(t, "thoughts in each request", []int{0, 1, 0, 1}, got)
}

// long is a conversation that needs a summary: every answer of the model is long.
func long(summary func(Request) said) func(int, Request) said {
	return func(_ int, r Request) said {
		if r.System == summariser {
			return summary(r)
		}
		return says(strings.Repeat("A long story. ", 800))
	}
}

func TestASummaryThatFailsCostsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		summary func(Request) said
		want    string
	}{
		"a cheap model with a smaller window": {func(r Request) said {
			if tokens(r.Messages) > 8000 {
				return said{Failure: &Failure{TooLong, 400, 0, "prompt is too long"}}
			}
			return says("by " + r.Model)
		}, "by haiku"},
		"a cheap model that is not for everybody": {func(r Request) said {
			if r.Model == "haiku" {
				return said{Failure: &Failure{Bad, 400, 0, "not in your plan"}}
			}
			return says("by " + r.Model)
		}, "by sonnet"},
		"a model that says nothing": {func(Request) said { return says(" ") }, "assistant: A long story."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := perform(t, long(tt.summary))
			m.models = []Model{{ID: "sonnet", Window: 30_000}, {ID: "haiku", Window: 8_000}}
			c := m.client()
			for range 8 {
				c.ask(t, "Tell me more.")
			}
			asked := m.asked()
			check.Contains(t, "the first message", tt.want, textOf(asked[len(asked)-1].Messages[0]))
		})
	}
}

func TestAWindowThatWasTooSmallIsThatOfItsModel(t *testing.T) {
	t.Parallel()
	m := perform(t, func(_ int, r Request) said {
		if r.Model == "sonnet" && tokens(r.Messages) > 5000 {
			return said{Failure: &Failure{TooLong, 400, 0, "prompt is too long"}}
		}
		return says("ok")
	})
	m.models = []Model{{ID: "sonnet", Window: 100_000}, {ID: "haiku", Window: 100_000}}
	conn, id, _ := m.bare(nil)
	_, err := conn.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(strings.Repeat("much to do ", 3000))}})
	check.Err(t, "sonnet", "does not fit", err)
	check.OK(t, set(t, conn, id, "model", "haiku"))
	ask1(t, conn, id, acp.TextBlock("Go."))
}

func TestASummaryIsMadeOfTheWholeOneBefore(t *testing.T) {
	t.Parallel()
	filling := strings.Repeat("Much happened. ", 150)
	m := perform(t, long(func(Request) said { return says(filling + "The heart of it. " + filling) }))
	m.models = []Model{{ID: "sonnet", Window: 30_000}}
	c := m.client()
	for range 16 {
		c.ask(t, "Tell me more.")
	}
	var records []string
	for _, r := range m.asked() {
		if r.System == summariser {
			records = append(records, textOf(r.Messages[0]))
		}
	}
	check.That(t, len(records) > 1, "there are %d summaries", len(records))
	check.Contains(t, "the second record", "The heart of it.", records[1])
}

// TestThoughtsOfAModelThatWasReplacedMeanwhile do not reach the next one either.
func TestThoughtsOfAModelThatWasReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	m := perform(t, func(n int, _ Request) said {
		if n == 0 {
			close(entered)
			<-leave
		}
		return thinks("ok")
	})
	conn, id, _ := m.bare(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask1(t, conn, id, acp.TextBlock("Go."))
	}()
	<-entered
	check.OK(t, set(t, conn, id, "model", "haiku"))
	close(leave)
	<-done
	ask1(t, conn, id, acp.TextBlock("Go."))
	check.Equal(t, "thoughts", 0, thoughts(m.asked()[1]))
}
