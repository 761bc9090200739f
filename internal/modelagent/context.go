package modelagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// bytesPerToken is for sizes that nobody counted, which must not be too small; charsPerToken for what is saved by
	// cutting, which must not be too large.
	bytesPerToken, charsPerToken = 3, 4
	// defaultWindow is that of a model about which nothing is known.
	defaultWindow = 32_000
	// shortText is what is never worth cutting.
	shortText = 200
)

// view is what of the conversation the model is sent: the first prompt, the summary if there is one, and the messages
// since, without what was cut.
func (s *state) view() []Message {
	view := make([]Message, 0, len(s.messages))
	if s.from > 0 {
		first := slices.Clone(s.messages[0].Blocks)
		first = append(first, Block{Kind: Text, Text: "The messages since then were left out to save space. What you did and learned, in short:\n\n" + s.summary})
		if latest := s.latestPrompt(); latest != "" {
			first = append(first, Block{Kind: Text, Text: "The last thing that you were told, word for word:\n\n" + latest})
		}
		view = append(view, Message{Role: User, Blocks: first})
	}
	for _, m := range s.messages[s.from:] {
		view = append(view, s.cutMessage(m))
	}
	return view
}

// latestPrompt is the last prompt among the messages that the summary stands for, except for the first.
func (s *state) latestPrompt() string {
	for i := s.from - 1; i > 0; i-- {
		for _, b := range slices.Backward(s.messages[i].Blocks) {
			if b.Kind == Text && s.messages[i].Role == User && b.Text != goOn && b.Text != sayMore {
				return b.Text
			}
		}
	}
	return ""
}

func (s *state) cutMessage(m Message) Message {
	if !slices.ContainsFunc(m.Blocks, func(b Block) bool { return s.cut[b.ID] }) {
		return m
	}
	m.Blocks = slices.Clone(m.Blocks)
	for i, b := range m.Blocks {
		if s.cut[b.ID] {
			m.Blocks[i] = b.short()
		}
	}
	return m
}

// short is a call or a result without its long parts.
func (b Block) short() Block {
	if b.Kind == Result && len(b.Text) > shortText {
		b.Text = fmt.Sprintf("[%d characters were cut to save space; call the tool again if you need them]", len(b.Text))
	}
	var args map[string]json.RawMessage
	if b.Kind == Call && len(b.Args) > shortText && json.Unmarshal(b.Args, &args) == nil {
		for name, value := range args {
			if len(value) > shortText {
				args[name] = fmt.Appendf(nil, `"[%d characters were cut to save space]"`, len(value))
			}
		}
		b.Args, _ = json.Marshal(args) // it was read from JSON
	}
	return b
}

func (b Block) bytes() int { return len(b.Text) + len(b.Signature) + len(b.Args) + len(b.Name) + 20 }

// bytes is how much the messages from..to of the view are, roughly as providers send them.
func (s *state) bytes(from, to int) int {
	n := 0
	for _, m := range s.messages[min(max(from, s.from), to):to] {
		for _, b := range s.cutMessage(m).Blocks {
			n += b.bytes()
		}
	}
	return n
}

// size is how many tokens a request takes that has so many bytes of instructions and tools besides: as the provider
// counted last, and what came since by estimate.
func (s *state) size(besides int) int {
	n := len(s.messages)
	if s.count > 0 {
		return int(s.count) + s.bytes(s.counted, n)/bytesPerToken
	}
	if s.from > 0 {
		for _, b := range s.view()[0].Blocks {
			besides += b.bytes()
		}
	}
	return (besides + s.bytes(0, n)) / bytesPerToken
}

// cuttable lists calls whose long parts can be cut, the oldest first, until so many tokens are saved. The last results
// are kept: as many as said, and those that the model has not seen.
func (s *state) cuttable(tokens, kept int) []string {
	var ids []string
	saves := map[string]int{}
	unseen := 0
	for i, m := range s.messages[s.from:] {
		for _, b := range m.Blocks {
			if b.Kind != Call && b.Kind != Result {
				continue
			}
			if saves[b.ID] += b.bytes() - b.short().bytes(); b.Kind != Result {
				continue
			}
			if ids = append(ids, b.ID); i == len(s.messages)-s.from-1 {
				unseen++
			}
		}
	}
	ids = ids[:max(0, len(ids)-max(kept, unseen))]
	ids = slices.DeleteFunc(ids, func(id string) bool { return s.cut[id] || saves[id] <= 0 })
	for i, id := range ids {
		if tokens <= 0 {
			return ids[:i]
		}
		tokens -= saves[id] / charsPerToken
	}
	return ids
}

// boundary is the message from which on messages are kept where a summary takes the place of those before: an answer,
// so that calls and results stay together, and early enough that what is kept has about so many tokens. It is 0 if
// there is nothing to summarise.
func (s *state) boundary(tokens int) int {
	best := 0
	for i := len(s.messages) - 1; i > max(s.from, 1); i-- {
		if best > 0 && s.bytes(i, len(s.messages)) > tokens*bytesPerToken {
			break
		}
		if s.messages[i].Role == Assistant {
			best = i
		}
	}
	return best
}

// fit makes the conversation small enough for the model, and returns its size: it cuts old results first, all but the
// last six or, if those are long, two; then it has old messages summarised.
func (t *turn) fit(ctx context.Context) (int, error) {
	window := t.windowSize()
	large := func(s *state) bool { return s.size(t.besides) > window*8/10 }
	cut := func(kept int) error {
		s := t.conv.snapshot()
		ids := s.cuttable(s.size(t.besides)-window*6/10, kept)
		if !large(s) || len(ids) == 0 {
			return nil
		}
		return t.conv.add(record{Kind: cutRecord, IDs: ids})
	}
	if err := errors.Join(cut(6), cut(2)); err != nil {
		return 0, err
	}
	if s := t.conv.snapshot(); large(s) {
		if to := s.boundary(window * 3 / 10); to > 0 {
			if err := t.summarise(ctx, s, to, window); err != nil {
				return 0, err
			}
		}
	}
	if err := cut(0); err != nil {
		return 0, err
	}
	size := t.conv.snapshot().size(t.besides)
	if size > window {
		return 0, fmt.Errorf("the task does not fit into the model's window of %d tokens: about %d are needed; "+
			"use a model with a larger window or split the task", window, size)
	}
	return size, nil
}

const summariser = "You shorten the record of a coding agent's work, for the agent itself, which goes on with your summary in place of the " +
	"record. Keep: what it was told to do since, word for word where wording matters; what it found out, with names of files and " +
	"functions; what it changed and why; which commands it ran and what came of them; what failed; what is left to do. Leave out " +
	"what files contain. Write notes, at most 600 words, and nothing else."

// summarise has the messages before an answer put in short by the cheapest model there is.
func (t *turn) summarise(ctx context.Context, s *state, to, window int) error {
	text := "Earlier summary:\n" + s.summary + "\n\n"
	if s.from == 0 {
		text = ""
	}
	for _, m := range s.messages[max(s.from, 1):to] {
		for _, b := range m.Blocks {
			switch b.Kind {
			case Text:
				text += string(m.Role) + ": " + b.Text + "\n\n"
			case Call:
				text += "call of " + b.Name + ": " + shorten(string(b.Args), "", 0, 500) + "\n\n"
			case Result:
				text += "result: " + shorten(b.Text, "", 0, 1000) + "\n\n"
			case Thinking:
			}
		}
	}
	request := Request{
		Model: t.agent.pick("haiku"), System: summariser, MaxTokens: 2000,
		Messages: []Message{userText("The record:\n\n" + shorten(text, "", 0, window/2*bytesPerToken))},
	}
	if request.Model == "" {
		request.Model = s.model
	}
	reply, err := t.send(ctx, request)
	var f *Failure
	if errors.As(err, &f) && f.Kind == NoModel && request.Model != s.model {
		request.Model = s.model
		reply, err = t.send(ctx, request)
	}
	if err != nil {
		return err
	}
	summary := strings.TrimSpace(shorten(textOf(reply.Message), "", 0, window/10*bytesPerToken))
	if summary == "" {
		summary = "(no summary could be made)"
	}
	if err := t.conv.add(record{Kind: summaryRecord, From: to, Text: summary}); err != nil {
		return err
	}
	t.report()
	return nil
}
