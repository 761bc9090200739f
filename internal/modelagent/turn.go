package modelagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	for _, w := range t.warnings {
		t.update(acp.UpdateAgentThoughtText(w))
	}
	t.warnings = nil
	// Calls are open here if their results could not be stored.
	if err := errors.Join(t.conv.settle(), t.tell(prompt)); err != nil {
		return "", err
	}
	lengths, empty := 0, false
	for range maxCalls {
		reply, err := t.ask(ctx)
		if err != nil {
			return "", err
		}
		calls := callsOf(reply.Message)
		tooLong := reply.Stop == StopLength
		if t.held += textOf(reply.Message); !tooLong || len(calls) > 0 {
			t.flush()
		}
		t.report()
		switch {
		case reply.Stop == StopRefuse:
			err = t.withdraw(calls)
			return acp.StopReasonRefusal, err
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
	var reply Reply
	for tries := 0; ; tries++ {
		size, err := t.fit(ctx)
		if err != nil {
			return Reply{}, err
		}
		s := t.conv.snapshot()
		reply, err = t.send(ctx, Request{Model: s.model, System: s.head.System, Messages: s.view(), Tools: t.specs, Effort: s.effort})
		var f *Failure
		if errors.As(err, &f) && f.Kind == TooLong && tries < 2 {
			t.fits = size * 9 / 10 // whatever the window is, this is more than fits
			continue
		}
		if err != nil {
			return Reply{}, err
		}
		reply.Message = t.clean(s, reply.Message)
		break
	}
	if len(reply.Message.Blocks) == 0 { // providers refuse a message without content
		return reply, nil
	}
	return reply, t.conv.add(record{Kind: messageRecord, Message: &reply.Message, Count: reply.Usage.Context()})
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

// clean makes an answer fit to be sent again: no text without words, nothing but thoughts, arguments that are read
// back byte for byte, and no ID twice, as small servers count calls from 0 in each answer.
func (t *turn) clean(s *state, m Message) Message {
	used := map[string]bool{"": true}
	for _, old := range s.messages {
		for _, b := range callsOf(old) {
			used[b.ID] = true
		}
	}
	var blocks []Block
	for _, b := range m.Blocks {
		switch b.Kind {
		case Text:
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
		case Call:
			for n := len(used); used[b.ID]; n++ {
				b.ID = fmt.Sprintf("call-%d", n)
			}
			used[b.ID] = true
			var args bytes.Buffer
			if json.Compact(&args, b.Args) != nil {
				args.Reset()
				_ = json.NewEncoder(&args).Encode(string(b.Args)) // a text can be encoded
			}
			b.Args = bytes.TrimSpace(args.Bytes())
		case Thinking, Result:
		}
		blocks = append(blocks, b)
	}
	if !slices.ContainsFunc(blocks, func(b Block) bool { return b.Kind != Thinking }) {
		blocks = nil
	}
	return Message{Role: Assistant, Blocks: blocks}
}

// withdraw gives results to calls of an answer that is a refusal.
func (t *turn) withdraw(calls []Block) error {
	var err error
	for _, c := range calls {
		err = errors.Join(err, t.conv.add(record{Kind: resultRecord, Result: failed(c, "not run: you refused to go on")}))
	}
	return err
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
	t.update(acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{
		Used: t.conv.snapshot().size(t.besides), Size: t.windowSize(),
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

// explain says what a failure means to the client: a limit, a missing login, or something else and what to do.
func (a *agent) explain(err error) error {
	e := &acp.RequestError{Code: -32603, Message: err.Error()} // an internal error
	var f *Failure
	if !errors.As(err, &f) {
		return e
	}
	data := map[string]any{"status": f.Status}
	e.Data = data
	switch f.Kind {
	case Limited, Overloaded:
		if data["status"] = 429; f.Kind == Overloaded {
			data["status"] = 529
		}
		if f.After > 0 {
			data["retry_after"] = f.After.Seconds()
		}
	case NoKey:
		return acp.NewAuthRequired(map[string]any{"error": f.Error()})
	case NoModel:
		models := cmp.Or(strings.Join(a.offered(), ", "), "the server lists none, see its manual")
		e.Message += "; choose a model that it has: " + shorten(models, "", 0, 1000)
	case TooLong:
		e.Message += "; use a model with a larger window or split the task"
	case Broken, Bad: // the text says what to do, if anything helps
	}
	return e
}
