package modelagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// tokens is how a server of these tests counts: four characters each.
func tokens(v any) int64 {
	data, _ := json.Marshal(v)
	return int64(len(data)) / 4
}

// TestTwoHundredTurnsStayWithinAWindow of a server that counts, or does not, and refuses what is too long.
func TestTwoHundredTurnsStayWithinAWindow(t *testing.T) {
	t.Parallel()
	const window = 32_000
	length := 200
	if raced.On { // what is said is the same, and there is a lot of it
		length = 40
	}
	for name, tt := range map[string]struct{ counts, known bool }{
		"counted": {true, true}, "not counted": {false, true}, "counted, in a window that nobody knows": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, summaries, turns, most, prompt := 0, 0, 0, int64(0), ""
			var last Request
			m := perform(t, nil)
			m.answer = func(n int, r Request) said {
				size := tokens(r.Messages) + tokens(r.Tools) + tokens(r.System)
				if size > window {
					refused++
					return said{Failure: &Failure{TooLong, 400, 0, "prompt is too long"}}
				}
				most = max(most, size)
				var a said
				switch r.System {
				case summariser:
					summaries++
					a = says("what was done until " + fmt.Sprint(n))
				default:
					check.Contains(t, "the task", "Read the file big.txt often.", textOf(r.Messages[0]))
					last = r
					switch turns++; turns % 10 {
					case 0:
						a = says("Enough for now.")
					case 5:
						a = calls("read", `{"path":"big.txt"}`, "read", `{"path":"big.txt"}`, "read", `{"path":"big.txt"}`)
					case 7:
						a = calls("write", `{"path":"copy.txt","content":"`+strings.Repeat("0123456789", 800)+`"}`)
					default:
						a = calls("read", `{"path":"big.txt"}`)
					}
				}
				if tt.counts {
					a.Reply.Usage = Usage{Input: size, Output: tokens(a.Reply.Message)}
				}
				return a
			}
			if m.window = window; !tt.known {
				m.window = 100_000
			}
			c := m.client()
			var big bytes.Buffer
			for i := range 2500 {
				fmt.Fprintf(&big, "line %d\n", i)
			}
			check.OK(t, os.WriteFile(filepath.Join(c.dir, "big.txt"), big.Bytes(), 0o600))
			for n := 0; turns < length; n++ {
				if prompt = fmt.Sprintf("Prompt %d: again.", n); n == 0 {
					prompt = "Read the file big.txt often."
				}
				c.ask(t, prompt)
			}
			check.That(t, most > window/2, "the window is hardly used: %d", most)
			check.That(t, tt.known == (refused == 0), "%d requests were refused", refused)
			check.That(t, summaries > 0 || raced.On, "nothing was summarised")
			data, _ := json.Marshal(last.Messages)
			check.Contains(t, "the last request", prompt, string(data))
			check.That(t, summaries == 0 || !bytes.Contains(data, []byte("Prompt 1:")), "what was summarised is still there")
			files, err := filepath.Glob(filepath.Join(m.state, "*.jsonl"))
			check.OK(t, err)
			records, err := os.ReadFile(files[0])
			check.OK(t, err)
			cuts := strings.Count(string(records), `{"kind":"cut"`) + strings.Count(string(records), `{"kind":"summary"`)
			check.That(t, changes(t, m.asked()) <= cuts, "requests begin in another way without a cut")
			t.Log(name, "requests", len(m.asked()), "turns", turns, "refused", refused, "summaries", summaries, "most", most)
		})
	}
}

// changes counts the requests that do not begin as the one before. Instructions and tools are the same in all of them.
func changes(t *testing.T, asked []Request) (changed int) {
	t.Helper()
	var before Request
	for _, r := range asked {
		if r.System == summariser {
			continue
		}
		if before.System != "" {
			check.Equal(t, "instructions", before.System, r.System)
			check.Equal(t, "tools", before.Tools, r.Tools)
			if !begins(r.Messages, before.Messages) {
				changed++
			}
		}
		before = r
	}
	return changed
}

// begins says that messages are those before and more.
func begins(now, before []Message) bool {
	a, _ := json.Marshal(now)
	b, _ := json.Marshal(before)
	b = bytes.TrimSuffix(b, []byte("]}]")) // the last message may have grown
	return bytes.HasPrefix(a, b)
}

func TestATaskThatDoesNotFitSaysSo(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder())
	m.window = 4000
	c := m.client()
	_, err := c.Prompt(t.Context(), strings.Repeat("much to do ", 2000))
	check.Err(t, "prompt", "the task does not fit into the model's window of 4000 tokens", err)
	check.Err(t, "prompt", "use a model with a larger window or split the task", err)
	check.Equal(t, "requests", 0, len(m.asked()))

	refuses := perform(t, func(int, Request) said { return said{Failure: &Failure{TooLong, 400, 0, "prompt is too long"}} })
	_, err = refuses.client().Prompt(t.Context(), "Go.")
	check.Err(t, "prompt", "does not fit into the model's window", err)
}

func TestNothingIsSentDifferentlyWithoutNeed(t *testing.T) {
	t.Parallel()
	m := perform(t, func(n int, _ Request) said {
		if n%5 == 4 {
			return says("ok")
		}
		return calls("read", `{ "path" : "<a>.txt" }`, "nonsense", `"{"`)
	})
	m.window = 200_000
	c := m.client()
	for range 5 {
		c.ask(t, "Go.")
	}
	check.Equal(t, "requests that do not begin as the one before", 0, changes(t, m.asked()))
}
