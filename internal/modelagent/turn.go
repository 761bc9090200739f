package modelagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

const (
	// maxCalls is how often the model is asked in a turn; ralph has limits of its own, which are lower.
	maxCalls = 500
	// maxLengths is how often in a row an answer may be too long.
	maxLengths = 5
	// maxDepth is how deeply arguments may be nested.
	maxDepth = 100
	// signEvery is how often the client hears that something is going on.
	signEvery = 10 * time.Second

	goOn    = "Continue exactly where you stopped."
	sayMore = "Your answer was empty. Go on with the task, or say that it is done."
)

// turn answers one prompt.
type turn struct {
	*session
	usage Usage
	held  string // answers that were too long, until the rest has come: a marker may be in two of them

	mu   sync.Mutex
	sign time.Time // the last sign of life
}

// run asks the model and does what it wants, until it wants nothing more.
func (t *turn) run(ctx context.Context, prompt string) (acp.StopReason, error) {
	defer t.flush()
	for _, w := range t.warnings {
		t.update(acp.UpdateAgentThoughtText(w))
	}
	t.warnings = nil
	// Calls are open here if the model refused to go on, or their results could not be stored.
	if _, err := t.conv.settle(); err != nil {
		return "", err
	}
	if err := t.tell(prompt); err != nil {
		return "", err
	}
	lengths, empty := 0, false
	for range maxCalls {
		reply, err := t.ask(ctx)
		t.report()
		if err != nil {
			return "", err
		}
		calls := callsOf(reply.Message)
		tooLong := reply.Stop == StopLength
		if t.held += textOf(reply.Message); !tooLong || len(calls) > 0 {
			t.flush()
		}
		switch {
		case reply.Stop == StopRefuse:
			return acp.StopReasonRefusal, nil
		case len(calls) > 0:
			lengths, empty = 0, false
			err = t.do(ctx, calls, tooLong)
		case tooLong && lengths == maxLengths:
			return acp.StopReasonMaxTokens, nil
		case tooLong:
			lengths++
			err = t.tell(goOn)
		case len(reply.Message.Blocks) == 0 && !empty:
			empty = true
			err = t.tell(sayMore)
		default:
			return acp.StopReasonEndTurn, nil
		}
		if err != nil || ctx.Err() != nil {
			return "", errors.Join(err, ctx.Err())
		}
	}
	return acp.StopReasonMaxTurnRequests, nil
}

// tell adds something that the user says.
func (t *turn) tell(text string) error {
	m := userText(text)
	return t.conv.add(record{Kind: messageRecord, Message: &m})
}

func userText(text string) Message {
	return Message{Role: User, Blocks: []Block{{Kind: Text, Text: text}}}
}

// textOf is what a message says.
func textOf(m Message) string {
	var text string
	for _, b := range m.Blocks {
		if b.Kind == Text {
			text += b.Text
		}
	}
	return text
}

// ask has the model answer the conversation, and adds the answer to it.
func (t *turn) ask(ctx context.Context) (Reply, error) {
	var refused error
	for tries := 0; ; tries++ {
		size, err := t.fit(ctx)
		if err != nil {
			return Reply{}, cmp.Or(refused, err) // the provider knows its window better
		}
		now := t.conv.snapshot()
		reply, err := t.send(ctx, Request{Model: now.model, System: now.system, Messages: now.messages, Tools: t.tools.specs(), Effort: now.effort})
		var f *Failure
		if errors.As(err, &f) && f.Kind == TooLong && tries < 3 {
			refused = fmt.Errorf("the task does not fit into the model's window: %w", err)
			t.fits[now.model] = size * 9 / 10 // whatever the window is, this is more than fits
			continue
		}
		if err != nil {
			return Reply{}, err
		}
		if reply.Message = now.clean(reply.Message); len(reply.Message.Blocks) > 0 { // providers refuse a message without content
			err = t.conv.add(record{Kind: messageRecord, Message: &reply.Message, Model: now.model, Count: reply.Usage.Context()})
		}
		return reply, err
	}
}

// send asks, again if need be, and counts what it took.
func (t *turn) send(ctx context.Context, r Request) (Reply, error) {
	if r.Model == "" {
		_, err := t.agent.listed()
		return Reply{}, cmp.Or[error](err, &Failure{Kind: NoModel, Text: "the server has no models, and none was named"})
	}
	reply, err := ask(ctx, t.agent.options.Provider, r, t.thought, func(why string) { t.thought(why + "\n") })
	t.usage = t.usage.Plus(reply.Usage)
	return reply, err
}

// clean makes an answer fit to be sent again: no text without words, no thought at the end, no flood of calls, and no ID
// twice, as small servers count calls from 0 in each answer.
func (s *state) clean(m Message) Message {
	used := map[string]bool{"": true}
	for _, old := range s.messages {
		for _, b := range callsOf(old) {
			used[b.ID] = true
		}
	}
	var blocks []Block
	calls := 0
	for _, b := range m.Blocks {
		if b.Kind == Text && strings.TrimSpace(b.Text) == "" {
			continue
		}
		if b.Kind == Call {
			if calls++; calls > maxAtOnce+1 { // the result of the one more tells of them
				continue
			}
			if tooDeep(b.Args) {
				b.Args, _ = json.Marshal(string(b.Args))
			}
			for n := len(used); used[b.ID]; n++ {
				b.ID = fmt.Sprintf("call-%d", n)
			}
			used[b.ID] = true
		}
		blocks = append(blocks, b)
	}
	for len(blocks) > 0 && blocks[len(blocks)-1].Kind == Thinking {
		blocks = blocks[:len(blocks)-1]
	}
	return Message{Role: Assistant, Blocks: blocks}
}

// tooDeep reports whether a value is nested so deeply that not everybody who gets it can read it.
func tooDeep(value []byte) bool {
	tokens, depth := json.NewDecoder(bytes.NewReader(value)), 0
	for {
		switch token, err := tokens.Token(); {
		case err != nil:
			return false
		case token == json.Delim('{') || token == json.Delim('['):
			depth++
		case token == json.Delim('}') || token == json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return true
		}
	}
}

// flush says what is held.
func (t *turn) flush() {
	if t.held != "" {
		t.update(acp.UpdateAgentMessageText(t.held))
		t.held = ""
	}
}

// thought passes on what the model thinks, and now and then a thought without words, which nobody is shown, as a sign
// that it is at work.
func (t *turn) thought(text string) {
	t.mu.Lock()
	now := t.agent.options.Now()
	quiet := text == "" && now.Sub(t.sign) < signEvery
	if !quiet {
		t.sign = now
	}
	t.mu.Unlock()
	if !quiet {
		t.update(acp.UpdateAgentThoughtText(text))
	}
}

// report tells the client how full the window is and what the turn has used so far.
func (t *turn) report() {
	now := t.conv.snapshot()
	t.update(acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{
		Used: t.size(now), Size: t.window(now.model),
		Meta: map[string]any{"ralph": map[string]any{"usage": t.usage.forClient()}},
	}})
}

// forClient is the usage in the words of the protocol.
func (u Usage) forClient() *acp.Usage {
	return &acp.Usage{
		InputTokens: int(u.Input), CachedReadTokens: acp.Ptr(int(u.CacheRead)), CachedWriteTokens: acp.Ptr(int(u.CacheWrite)),
		OutputTokens: int(u.Output), TotalTokens: int(u.Context()),
	}
}
