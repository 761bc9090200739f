package fakeagent

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// misbehave does the steps that no decent agent does.
func (p *play) misbehave(s Step) {
	switch s.Do {
	case "hang": // until cancelled, then answer so, or with stop reason Text; for N ms at most; Ignore: never
		p.hang(s)
	case "never": // never answer this prompt, but do the rest of the steps
		p.ended = true
	case "deaf": // read nothing from here on
		close(p.deaf)
	case "close_stdout":
		p.wire.flush()
		os.Stdout.Close()
	case "raw": // Text as a line, N times
		for range max(s.N, 1) {
			p.wire.line(s.Text)
		}
	case "endless_line": // N MiB without a newline; 0 is for ever
		mib := strings.Repeat("x", 1<<20)
		for i := 0; s.N == 0 || i < s.N; i++ {
			if _, err := io.WriteString(p.wire.raw, mib); err != nil {
				return
			}
		}
	case "deep": // JSON nested N deep
		p.wire.line(strings.Repeat(`{"a":`, s.N) + "1" + strings.Repeat("}", s.N))
	case "close_stdin":
		close(p.deaf)
		os.Stdin.Close()
	case "flood": // N message chunks: Text, Chunk times, and their number; 0 is for ever. Kind: see flood
		s.Text = strings.Repeat(s.Text, max(s.Chunk, 1))
		for i := 0; s.N == 0 || i < s.N; i++ {
			p.update(flood(s.Kind, s.Text, i))
		}
	case "requests": // N of them at once; Ignore: reading nothing until all are sent
		if s.Ignore {
			p.wire.reading.Lock()
		}
		answers := p.askAll(s.N, s.Method, s.Params)
		if s.Ignore {
			p.wire.reading.Unlock()
		}
		p.count("requests", answers)
	case "waits": // N waits for terminal Method at once, which is then killed
		id := object{"sessionId": p.session, "terminalId": s.Method}
		answers := p.askAll(s.N, "terminal/wait_for_exit", id)
		p.result("kill", p.wire.call("terminal/kill", id))
		p.count("waits", answers)
	default:
		must(fmt.Errorf("unknown step %q", s.Do))
	}
}

// flood is the ith update of many: a message, a "line" of it that does not end, a "thought",
// the "output" of a tool, or else a tool call of that kind.
func flood(kind, text string, i int) object {
	content := func(text string) object { return object{"type": "text", "text": text} }
	switch kind {
	case "":
		return object{"sessionUpdate": "agent_message_chunk", "content": content(text + fmt.Sprint(i, "\n"))}
	case "line":
		return object{"sessionUpdate": "agent_message_chunk", "content": content(text)}
	case "thought":
		return object{"sessionUpdate": "agent_thought_chunk", "content": content(text)}
	case "output":
		return object{"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress", "content": []object{{"type": "content", "content": content(text)}}}
	default:
		return object{"sessionUpdate": "tool_call", "toolCallId": fmt.Sprint("t", i), "title": text, "kind": kind}
	}
}

func (p *play) askAll(n int, method string, params any) []<-chan incoming {
	answers := make([]<-chan incoming, n)
	for i := range answers {
		answers[i] = p.wire.ask(method, params)
	}
	p.wire.flush()
	return answers
}

func (p *play) hang(s Step) {
	if s.Ignore {
		p.wire.flush()
		forever()
	}
	var over <-chan time.Time
	if s.N > 0 {
		over = time.After(time.Duration(s.N) * time.Millisecond)
	}
	select {
	case <-p.cancelled:
		p.stop(cmp.Or(s.Text, "cancelled"), nil)
	case <-over:
	}
}

func (p *play) count(name string, answers []<-chan incoming) {
	refused := 0
	for _, ch := range answers {
		if m := <-ch; m.Error != nil {
			refused++
		}
	}
	p.book.add(Entry{Event: "result", Session: p.session, Name: name, Text: fmt.Sprintf("%d answered, %d refused", len(answers)-refused, refused)})
}

// field is a string member of a JSON object.
func field(raw []byte, name string) string {
	var m map[string]any
	decode(raw, &m)
	text, _ := m[name].(string)
	return text
}
