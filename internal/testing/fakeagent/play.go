package fakeagent

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// play is one prompt being answered.
type play struct {
	*agent
	request   incoming
	prompt    prompted
	nth       int
	cancelled <-chan struct{}

	last  string // what the last request to the client was answered
	ended bool   // the prompt was answered, or never will be
}

func (p *play) run() {
	var params struct {
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	decode(p.request.Params, &params)
	var text strings.Builder
	for _, block := range params.Prompt {
		text.WriteString(block.Text)
	}
	p.prompt = read(text.String())
	p.prompt.nth = p.nth
	if !p.prompt.verify && p.prompt.task != "" {
		p.alone(p.prompt.task)
	}
	entry := Entry{Event: "prompted", Session: p.session, Task: p.prompt.task, Verify: p.prompt.verify, Prompt: p.nth}
	p.book.add(entry)
	p.prompt.attempt = p.book.attempt(p.prompt.task, p.prompt.verify, p.session)
	if !p.prompt.verify && p.prompt.task != "" && p.book.changes() {
		must(os.WriteFile(p.path("worked-"+p.prompt.task), []byte(p.session+"\n"), 0o644))
	}
	p.steps(p.script.conversation(p.prompt))
	if !p.ended {
		p.stop("end_turn", nil)
	}
	entry.Event, entry.Attempt = "finished", p.prompt.attempt
	p.book.add(entry)
}

func (p *play) steps(steps []Step) {
	for _, s := range steps {
		s.Text = p.expand(s.Text)
		s.Path = p.expand(s.Path)
		s.Argv = slices.Clone(s.Argv)
		for i, arg := range s.Argv {
			s.Argv[i] = p.expand(arg)
		}
		p.perform(s)
		p.wire.flush()
	}
}

func (p *play) expand(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return strings.NewReplacer(
		"{{task}}", p.prompt.task,
		"{{attempt}}", strconv.Itoa(p.prompt.attempt),
		"{{session}}", p.session,
		"{{cwd}}", p.cwd,
		"{{last}}", p.last,
	).Replace(text)
}

// stop answers the prompt.
func (p *play) stop(reason string, extra json.RawMessage) {
	result := object{}
	if len(extra) > 0 {
		must(json.Unmarshal(extra, &result))
	}
	result["stopReason"] = reason
	p.ended = true
	p.answer(p.request, result)
}

// update puts a session update; the end of the step flushes it.
func (p *play) update(update object) {
	p.wire.put(message{Method: "session/update", Params: object{"sessionId": p.session, "update": update}})
}

// result keeps an answer of the client: for {{last}} and in the ledger.
func (p *play) result(name string, m incoming) {
	p.last = string(m.Result)
	if m.Error != nil {
		p.last = fmt.Sprintf("error %d: %s %s", m.Error.Code, m.Error.Message, m.Error.Data)
	}
	p.book.add(Entry{Event: "result", Session: p.session, Task: p.prompt.task, Name: name, Text: p.last})
}
