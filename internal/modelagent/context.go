package modelagent

import (
	"cmp"
	"context"
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

// estimate is how many tokens messages take.
func estimate(messages ...Message) int {
	n := 0
	for _, m := range messages {
		for _, b := range m.Blocks {
			n += len(b.Text) + len(b.Signature) + len(b.Args) + len(b.Name) + 20
		}
	}
	return n / bytesPerToken
}

// short is a result with at most so many characters of its text, or without it, if that is long.
func (b Block) short(most int) Block {
	switch {
	case b.Kind != Result || len(b.Text) <= max(most, shortText):
	case most > 0:
		b.Text = shorten(b.Text, "", 0, most)
	default:
		b.Text = fmt.Sprintf("[%d characters were cut to save space; call the tool again if you need them]", len(b.Text))
	}
	return b
}

// saves is how many tokens that is less.
func (b Block) saves(most int) int { return (len(b.Text) - len(b.short(most).Text)) / charsPerToken }

// cut shortens results.
func (s *state) cut(ids []string, most int) {
	for i, m := range s.messages {
		s.messages[i].Blocks = slices.Clone(m.Blocks)
		for j, b := range m.Blocks {
			if slices.Contains(ids, b.ID) {
				s.messages[i].Blocks[j] = b.short(most)
				s.tokens = max(0, s.tokens-b.saves(most))
			}
		}
	}
	if !s.counted {
		s.tokens = estimate(s.messages...)
	}
}

// cuttable lists results to cut, the oldest first, until so many tokens are saved, but none that the model has not seen.
func (s *state) cuttable(tokens int) []string {
	var ids []string
	for _, m := range s.messages[:max(0, len(s.messages)-1)] {
		for _, b := range m.Blocks {
			if b.saves(0) > 0 && tokens > 0 {
				ids = append(ids, b.ID)
				tokens -= b.saves(0)
			}
		}
	}
	return ids
}

// unseen lists the results that the model has not seen.
func (s *state) unseen() (ids []string) {
	for _, b := range s.messages[len(s.messages)-1].Blocks {
		if b.Kind == Result {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// boundary is the message from which on messages are kept where a summary takes the place of those before: an answer,
// so that calls and results stay together, and early enough that what is kept has about so many tokens. It is 0 if
// there is nothing to summarise.
func (s *state) boundary(tokens int) int {
	best := 0
	for i := len(s.messages) - 1; i > 1; i-- {
		if tokens -= estimate(s.messages[i]); best > 0 && tokens < 0 {
			break
		}
		if s.messages[i].Role == Assistant {
			best = i
		}
	}
	return best
}

// summarise puts a text in the place of the messages before an answer. The first prompt and the latest one stay as they
// are.
func (s *state) summarise(from int, text string) {
	if s.task == nil {
		s.task = s.messages[0].Blocks
	}
	for _, m := range s.messages[1:from] {
		for _, b := range m.Blocks {
			if b.Kind == Text && m.Role == User && b.Text != goOn && b.Text != sayMore {
				s.latest = b.Text
			}
		}
	}
	first := userText("The messages since then were left out to save space. What you did and learned, in short:\n\n" + text)
	if s.latest != "" {
		first.Blocks = append(first.Blocks, Block{Kind: Text, Text: "The last thing that you were told, word for word:\n\n" + s.latest})
	}
	first.Blocks = slices.Concat(s.task, first.Blocks)
	s.messages = slices.Concat([]Message{first}, s.messages[from:])
	s.tokens, s.counted = estimate(s.messages...), false
}

// transcript is what a summary of the messages before an answer is made of.
func (s *state) transcript(to int) string {
	messages := s.messages[1:to]
	if s.task != nil { // the summary before follows it
		messages = slices.Concat([]Message{{Role: User, Blocks: s.messages[0].Blocks[len(s.task):]}}, messages)
	}
	var text strings.Builder
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch b.Kind {
			case Text:
				fmt.Fprintf(&text, "%s: %s\n\n", m.Role, b.Text)
			case Call, Result:
				fmt.Fprintf(&text, "%s of %s: %s\n\n", b.Kind, b.Name, shorten(b.Text+string(b.Args), "", 0, 1000))
			case Thinking:
			}
		}
	}
	return text.String()
}

// window is how many tokens a model takes: what the user says or else the provider, and less if that was refused.
func (s *session) window(model string) int {
	window := s.agent.options.Window
	models, _ := s.agent.listed()
	for _, m := range models {
		if m.ID == model {
			window = cmp.Or(window, m.Window)
		}
	}
	window = cmp.Or(window, defaultWindow)
	if fits, refused := s.fits[model]; refused {
		window = min(window, fits)
	}
	return window
}

// size is how many tokens a request takes.
func (s *session) size(now *state) int {
	if now.counted {
		return now.tokens
	}
	besides := len(now.system)
	for _, spec := range s.tools.specs() {
		besides += len(spec.Name) + len(spec.Description) + len(spec.Schema)
	}
	return now.tokens + besides/bytesPerToken
}

// fit makes the conversation small enough for the model, and returns its size: it cuts old results first, then it has old
// messages summarised, and if nothing else helps, it shortens results that the model has not seen.
func (t *turn) fit(ctx context.Context) (int, error) {
	now := t.conv.snapshot()
	window := t.window(now.model)
	large := func() bool { return t.size(now) > window*8/10 }
	// So much is cut that it need not be done again soon: each time requests begin in another way.
	if ids := now.cuttable(t.size(now) - window*6/10); large() && len(ids) > 0 {
		if err := t.conv.add(record{Kind: cutRecord, IDs: ids}); err != nil {
			return 0, err
		}
		now = t.conv.snapshot()
	}
	if to := now.boundary(window * 3 / 10); large() && to > 0 {
		if err := t.summarise(ctx, now, to); err != nil {
			return 0, err
		}
		now = t.conv.snapshot()
	}
	if ids := now.unseen(); t.size(now) > window && len(ids) > 0 {
		if err := t.conv.add(record{Kind: cutRecord, IDs: ids, Most: max(shortText, window*2/10*charsPerToken/len(ids))}); err != nil {
			return 0, err
		}
		now = t.conv.snapshot()
	}
	if size := t.size(now); size <= window {
		return size, nil
	}
	return 0, &Failure{Kind: TooLong, Text: fmt.Sprintf("the task does not fit into the model's window of %d tokens: about %d are needed", window, t.size(now))}
}

const summariser = "You shorten the record of a coding agent's work, for the agent itself, which goes on with your summary in place of the " +
	"record. Keep: what it was told to do since, word for word where wording matters; what it found out, with names of files and " +
	"functions; what it changed and why; which commands it ran and what came of them; what failed; what is left to do. Leave out " +
	"what files contain. Write notes, at most 600 words, and nothing else."

// summarise has old messages put in short by the cheapest model there is, or else by the one at work. If neither has
// anything to say, the beginning and the end of the messages must do.
func (t *turn) summarise(ctx context.Context, now *state, to int) error {
	text := now.transcript(to)
	var reply Reply
	var err error
	for _, model := range slices.Compact([]string{cmp.Or(t.agent.options.Pick("haiku", t.agent.offered()), now.model), now.model}) {
		request := Request{Model: model, System: summariser}
		request.Messages = []Message{userText("The record:\n\n" + shorten(text, "", 0, t.window(model)/2*bytesPerToken))}
		if reply, err = t.send(ctx, request); err == nil {
			break
		}
	}
	var f *Failure
	if err != nil && (!errors.As(err, &f) || f.Kind == Limited || f.Kind == NoKey) {
		return err
	}
	summary := cmp.Or(strings.TrimSpace(textOf(reply.Message)), "(no summary could be made)\n\n"+text)
	err = t.conv.add(record{Kind: summaryRecord, From: to, Text: shorten(summary, "", 0, t.window(now.model)/10*bytesPerToken)})
	t.report()
	return err
}
