package modelagent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

// TestAnyPrefixOfAConversationCanBeContinued whatever was said, and wherever the writer was killed.
func TestAnyPrefixOfAConversationCanBeContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := fmt.Sprintf("s%d", n)
		c, err := createConversation(dir, id, record{Kind: headRecord, System: "be good"})
		check.OK(t, err)
		defer c.close()
		converse(t, c)
		data, err := os.ReadFile(conversationFile(dir, id))
		check.OK(t, err)
		first := bytes.IndexByte(data, '\n') + 1
		at := rapid.IntRange(first, len(data)).Draw(t, "at")
		check.OK(t, os.WriteFile(conversationFile(dir, id+"cut"), data[:at], 0o600))
		again, _, err := openConversation(dir, id+"cut")
		check.OK(t, err)
		defer again.close()
		open, started := again.state.open(), again.state.started
		settled, err := again.settle()
		check.OK(t, err)
		check.Equal(t, "settled calls", len(open), len(settled))
		check.Equal(t, "open calls", 0, len(again.state.open()))
		for _, call := range open {
			i := slices.IndexFunc(again.state.messages[len(again.state.messages)-1].Blocks, func(b Block) bool { return b.ID == call.ID })
			got := again.state.messages[len(again.state.messages)-1].Blocks[i]
			want := "not run: "
			if started[call.ID] {
				want = "unknown: "
			}
			check.That(t, got.Failed && strings.HasPrefix(got.Text, want), "got %+v, want %s", got, want)
		}
		m := userText("go on")
		check.OK(t, again.add(record{Kind: messageRecord, Message: &m}))
		check.OK(t, valid(Request{Messages: again.state.messages}))
		again.close()

		// What was read is what was written, once more.
		thrice, _, err := openConversation(dir, id+"cut")
		check.OK(t, err)
		defer thrice.close()
		check.Equal(t, "messages", again.state.messages, thrice.state.messages)
		check.Equal(t, "tokens", again.state.tokens, thrice.state.tokens)
	})
}

// converse adds records as a turn would.
func converse(t *rapid.T, c *history) {
	ids := 0
	add := func(r record) {
		if err := c.add(r); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
	}
	text := rapid.Map(rapid.StringOfN(rapid.RuneFrom([]rune("ab<&\n\u2028é")), 1, 300, -1), func(s string) string { return "x" + s })
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch open := c.state.open(); {
		case len(open) > 0:
			r := open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
			if !c.state.started[r.ID] && rapid.Bool().Draw(t, "starts") {
				add(record{Kind: startedRecord, IDs: []string{r.ID}})
				continue
			}
			add(record{Kind: resultRecord, Result: &Block{Kind: Result, ID: r.ID, Text: text.Draw(t, "result")}})
		case len(c.state.messages)%2 == 1 && rapid.IntRange(0, 3).Draw(t, "answers") > 0:
			m := Message{Role: Assistant, Blocks: []Block{{Kind: Text, Text: text.Draw(t, "text")}}}
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				ids++
				m.Blocks = append(m.Blocks, Block{Kind: Call, ID: fmt.Sprintf("c%d", ids), Name: "x", Args: []byte(`{"a":"<&` + strings.Repeat("x", ids*20) + `"}`)})
			}
			add(record{Kind: messageRecord, Message: &m, Count: rapid.Int64Range(0, 100_000).Draw(t, "count")})
		case len(c.state.messages) > 2 && rapid.Bool().Draw(t, "shrinks"):
			if cut := c.state.cuttable(rapid.IntRange(1, 200).Draw(t, "save")); len(cut) > 0 {
				add(record{Kind: cutRecord, IDs: cut})
			}
			if to := c.state.boundary(rapid.IntRange(1, 500).Draw(t, "keep")); to > 0 {
				add(record{Kind: summaryRecord, From: to, Text: "in short"})
			}
		default:
			m := userText(text.Draw(t, "prompt"))
			add(record{Kind: messageRecord, Message: &m})
		}
		if len(c.state.messages)%2 == 1 && len(c.state.open()) == 0 {
			check.OK(t, valid(Request{Messages: c.state.messages}))
		}
	}
}

func TestABrokenConversationIsNotContinued(t *testing.T) {
	t.Parallel()
	top := `{"kind":"head","dir":"/"}` + "\n"
	hello := `{"kind":"message","message":{"role":"user","blocks":[{"kind":"text","text":"hello"}]}}` + "\n"
	tests := map[string]struct{ file, refused string }{
		"whole":                                {top + hello, ""},
		"a last line that was not ended":       {top + hello + `{"kind":"mess`, ""},
		"a last line from somewhere else":      {top + hello + "what?\n", ""},
		"a last record that nobody knows":      {top + hello + `{"kind":"new"}` + "\n", ""},
		"zeros at the end":                     {top + hello + "\x00\x00\x00\x00", ""},
		"no file":                              {"", "it has no head"},
		"a head that was not ended":            {top[:10], "it has no head"},
		"a broken line in the middle":          {top + "what?\n" + hello, "line 2 is broken"},
		"a result of no call":                  {top + hello + `{"kind":"result","result":{"kind":"result","id":"c"}}` + "\n" + hello, "line 3 is broken"},
		"two heads":                            {top + top + hello, "line 2 is broken"},
		"an answer without a question":         {top + strings.Replace(hello, "user", "assistant", 1) + hello, "line 2 is broken"},
		"a record without what it is about":    {top + `{"kind":"message"}` + "\n" + hello, "line 2 is broken"},
		"a summary of what is not there":       {top + `{"kind":"summary","from":9}` + "\n" + hello, "line 2 is broken"},
		"a summary that ends at a question":    {top + hello + `{"kind":"summary"}` + "\n" + hello, "line 3 is broken"},
		"a record before the head":             {hello + top, "line 1 is broken"},
		"a record that has nothing but a head": {top, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check.OK(t, os.WriteFile(conversationFile(dir, "s"), []byte(tt.file), 0o600))
			c, _, err := openConversation(dir, "s")
			check.Err(t, "open", tt.refused, err)
			if tt.refused != "" {
				check.Err(t, "open", conversationFile(dir, "s"), err)
				return
			}
			defer c.close()
			m := userText("more")
			check.OK(t, c.add(record{Kind: messageRecord, Message: &m}))
			c.close()
			again, _, err := openConversation(dir, "s")
			check.OK(t, err)
			defer again.close()
			check.Equal(t, "messages", c.state.messages, again.state.messages)
		})
	}
}

func TestOldConversationsAreRemoved(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{"old.jsonl": conversationAge + time.Hour, "new.jsonl": conversationAge - time.Hour, "other": 2 * conversationAge} {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, nil, 0o600))
		check.OK(t, os.Chtimes(path, now, now.Add(-age)))
	}
	removeOld(dir, now)
	var left []string
	entries, err := os.ReadDir(dir)
	check.OK(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	check.Equal(t, "left", []string{"new.jsonl", "other"}, left)
}
