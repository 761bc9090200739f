package sigils_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/sigils"
)

// agentText is what an agent says in a long turn: prose, lists, inline code and
// fences, with the sigils at the end.
func agentText() string {
	const turn = "I'll start by looking at how `internal/db` opens the file, because the migration must run first.\n\n" +
		"The tests in `dag/claim_test.go` cover the happy path only. Three things are missing:\n\n" +
		"- two pools on one file\n- a claim that is lost to another owner\n- `not_before` in the future\n\n" +
		"Let me write them now, run the suite, and look at the coverage of the package afterwards.\n" +
		"```go\nfunc TestClaim(t *testing.T) {\n\tt.Parallel()\n\tstore := open(t)\n\tif err := store.Add(t.Context(), task); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n```\n" +
		"All of them pass; the race detector is quiet, and the claim stays one statement.\n\n"
	return strings.Repeat(turn, 400) + "<journal>\nwrote the tests\n</journal>\n<task-done>" + ours + "</task-done>\n"
}

func chunks(text string, size int) []string {
	var out []string
	for len(text) > size {
		out = append(out, text[:size])
		text = text[size:]
	}
	return append(out, text)
}

// message and update are the least that a JSON-RPC client has to decode of an ACP
// session/update; what the SDK does beyond it makes decoding slower, not faster.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type update struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind    string `json:"sessionUpdate"`
		Content struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"update"`
}

func encode(b *testing.B, text string) []byte {
	b.Helper()
	u := update{SessionID: "3f1c0e7a-5b1e-4c9f-9d3b-0d5c9d1e2f3a"}
	u.Update.Kind, u.Update.Content.Type, u.Update.Content.Text = "agent_message_chunk", "text", text
	params, err := json.Marshal(u)
	check.OK(b, err)
	data, err := json.Marshal(message{"2.0", "session/update", params})
	check.OK(b, err)
	return data
}

// BenchmarkScan scans text that arrives in pieces and compares that with decoding
// the messages it arrives in: "%ofdecoding" is the price of looking for sigils, in
// processor time, because machines are busy.
func BenchmarkScan(b *testing.B) {
	text := agentText()
	for _, size := range []int{8, 32, 256, 4096, 1 << 20} {
		pieces := chunks(text, size)
		messages := make([][]byte, len(pieces))
		for i, piece := range pieces {
			messages[i] = encode(b, piece)
		}
		b.Run(fmt.Sprintf("chunk=%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			begin := cpuTime()
			for b.Loop() {
				scanAll(b, pieces)
			}
			scan := cpuTime() - begin
			begin = cpuTime()
			const rounds = 10
			for range rounds {
				decode(b, messages)
			}
			b.ReportMetric(100*float64(scan)/float64(b.N)/float64((cpuTime()-begin)/rounds), "%ofdecoding")
		})
	}
}

func scanAll(b *testing.B, pieces []string) {
	b.Helper()
	s := sigils.NewScanner(ours)
	for _, piece := range pieces {
		s.Write(piece)
	}
	if !s.Set().Done {
		b.Fatal("not done")
	}
}

func decode(b *testing.B, messages [][]byte) {
	b.Helper()
	for _, data := range messages {
		var m message
		var u update
		check.OK(b, json.Unmarshal(data, &m))
		check.OK(b, json.Unmarshal(m.Params, &u))
	}
}
