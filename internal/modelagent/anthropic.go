package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

const (
	answerTokens = 16_000      // Anthropic wants a limit
	redacted     = "redacted:" // before the data of a thinking block that only Anthropic can read; no signature has a colon
)

var budgets = map[Effort]int{Low: 2_000, Medium: 8_000, High: 24_000}

// How a model is told to think, from the way that gives a budget to none: a model that refuses one is asked in the next.
const (
	byBudget = iota
	adaptively
	unasked
)

// learned is what a model refused.
type learned struct {
	thinking int // byBudget, ...
	most     int // tokens of an answer; 0 if it accepted all
}

type anthropicProvider struct {
	*wire
	options []option.RequestOption
	header  http.Header

	mu      sync.Mutex
	learned map[string]learned // by model
}

func newAnthropic(w *wire, key, token string) *anthropicProvider {
	p := &anthropicProvider{wire: w, header: http.Header{}, learned: map[string]learned{}}
	p.options = []option.RequestOption{option.WithBaseURL(w.address), option.WithMaxRetries(0), option.WithoutOpenTelemetry()}
	p.header.Set("Anthropic-Version", "2023-06-01")
	switch {
	case key != "":
		p.options = append(p.options, option.WithAPIKey(key))
		p.header.Set("X-Api-Key", key)
	case token != "":
		p.options = append(p.options, option.WithAuthToken(token))
		p.header.Set("Authorization", bearer(token))
	}
	return p
}

func (p *anthropicProvider) Models(ctx context.Context) ([]Model, error) {
	list, err := p.models(ctx, p.address+"/v1/models?limit=1000", p.header)
	if unlisted(err) {
		return nil, nil
	}
	return anthropicModels(list), err
}

func (p *anthropicProvider) Send(ctx context.Context, r Request, thought func(string)) (Reply, error) {
	p.mu.Lock()
	known := p.learned[r.Model]
	p.mu.Unlock()
	for {
		reply, err := p.send(ctx, anthropicParams(r, known), thought)
		var f *Failure
		if !errors.As(err, &f) || f.Kind != Bad || !known.learn(r, strings.ToLower(f.Text)) {
			return reply, err
		}
		if strings.Contains(f.Text, "must start with a thinking block") {
			continue // this conversation has turns without thoughts; the model has nothing against them
		}
		p.mu.Lock()
		p.learned[r.Model] = known
		p.mu.Unlock()
	}
}

var mostTokens = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)

// learn reads a refusal, and says whether to ask again in another way. It never goes back, so this ends.
func (l *learned) learn(r Request, text string) bool {
	if m := mostTokens.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n <= 0 || l.most > 0 && n >= l.most {
			return false
		}
		l.most = n
		return true
	}
	if r.Effort == "" || l.thinking == unasked || !strings.Contains(text, "thinking") && !strings.Contains(text, "effort") {
		return false
	}
	l.thinking++
	return true
}

func (p *anthropicProvider) send(ctx context.Context, params anthropic.MessageNewParams, thought func(string)) (Reply, error) {
	ctx, x, end := p.begin(ctx, func() { thought("") })
	defer end()
	service := anthropic.NewMessageService(append(slices.Clone(p.options), option.WithHTTPClient(x))...)
	stream := service.NewStreaming(ctx, params)
	defer stream.Close() //nolint:errcheck // it was only read
	a := answer{open: map[int64]*piece{}}
	for stream.Next() {
		e := stream.Current()
		if e.Type == "message_stop" {
			return a.reply(), nil
		}
		a.add(e, thought)
	}
	var refused *anthropic.Error
	if err := stream.Err(); !errors.As(err, &refused) {
		return Reply{}, x.why(ctx, err)
	}
	// An error in the midst of an answer has no status of its own.
	status := map[string]int{
		"authentication_error": 401, "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
		"rate_limit_error": 429, "overloaded_error": 529, "invalid_request_error": 400,
	}[string(refused.Type())]
	return Reply{}, x.why(ctx, p.failure(cmp.Or(status, 500), nil, []byte(refused.RawJSON())))
}

// answer collects a message. The library would do it too, but it turns arguments that are no JSON into none.
type answer struct {
	open  map[int64]*piece
	stop  anthropic.StopReason
	usage Usage
}

type piece struct {
	Block
	args string
}

func (a *answer) add(e anthropic.MessageStreamEventUnion, thought func(string)) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.usage = Usage{Input: u.InputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens, Output: u.OutputTokens}
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.usage.Output = e.Usage.OutputTokens
		// What was said at the start counts where this says nothing.
		a.usage.Input = cmp.Or(e.Usage.InputTokens, a.usage.Input)
		a.usage.CacheRead = cmp.Or(e.Usage.CacheReadInputTokens, a.usage.CacheRead)
		a.usage.CacheWrite = cmp.Or(e.Usage.CacheCreationInputTokens, a.usage.CacheWrite)
	case "content_block_start":
		c := e.ContentBlock
		switch c.Type {
		case "text":
			a.open[e.Index] = &piece{Block: Block{Kind: Text, Text: c.Text}}
		case "thinking":
			a.open[e.Index] = &piece{Block: Block{Kind: Thinking, Text: c.Thinking, Signature: c.Signature}}
		case "redacted_thinking":
			a.open[e.Index] = &piece{Block: Block{Kind: Thinking, Signature: redacted + c.Data}}
		case "tool_use":
			a.open[e.Index] = &piece{Block: Block{Kind: Call, ID: c.ID, Name: c.Name, Args: json.RawMessage(c.JSON.Input.Raw())}}
		}
	case "content_block_delta":
		b := a.open[e.Index]
		if b == nil {
			return // of a kind that nobody asked for
		}
		b.Text += e.Delta.Text + e.Delta.Thinking
		b.Signature += e.Delta.Signature
		b.args += e.Delta.PartialJSON
		if e.Delta.Thinking != "" {
			thought(e.Delta.Thinking)
		}
	}
}

func (a *answer) reply() Reply {
	reply := Reply{Message: Message{Role: Assistant}, Stop: StopEnd, Usage: a.usage}
	for _, index := range slices.Sorted(maps.Keys(a.open)) {
		b := a.open[index].Block
		switch b.Kind {
		case Call:
			b.Args = parseArgs(cmp.Or(a.open[index].args, string(b.Args)))
			reply.Stop = StopCalls
		case Text:
			if b.Text == "" {
				continue
			}
		case Thinking, Result:
		}
		reply.Message.Blocks = append(reply.Message.Blocks, b)
	}
	reply.Message.Blocks = ordered(reply.Message.Blocks)
	switch a.stop {
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		reply.Stop = StopLength
	case anthropic.StopReasonRefusal:
		reply.Stop = StopRefuse
	}
	return reply
}

// anthropicParams writes a request. What stays the same from one to the next comes first and ends with a marker, so
// that Anthropic reads it from its cache.
func anthropicParams(r Request, known learned) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{Model: r.Model}
	if strings.TrimSpace(r.System) != "" {
		params.System = []anthropic.TextBlockParam{{Text: r.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	for i, spec := range r.Tools {
		schema := spec.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		tool := &anthropic.ToolParam{
			Name: spec.Name, Description: anthropic.String(spec.Description), InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema),
		}
		if i == len(r.Tools)-1 {
			tool.CacheControl = anthropic.NewCacheControlEphemeralParam()
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	for _, m := range r.Messages {
		if blocks := anthropicBlocks(m); len(blocks) > 0 {
			params.Messages = append(params.Messages, anthropic.MessageParam{Role: anthropic.MessageParamRole(m.Role), Content: blocks})
		}
	}
	// The last but one is where the request before this one ended.
	marks := 2
	for _, m := range slices.Backward(params.Messages) {
		if m.Role == anthropic.MessageParamRoleUser && marks > 0 {
			marks--
			*m.Content[len(m.Content)-1].GetCacheControl() = anthropic.NewCacheControlEphemeralParam()
		}
	}
	most, budget := cmp.Or(r.MaxTokens, answerTokens), budgets[r.Effort]
	if known.thinking == unasked {
		budget = 0
	}
	if most += budget; known.most > 0 && most > known.most {
		most = known.most
		budget = min(budget, most/2)
	}
	params.MaxTokens = int64(most)
	switch {
	case budget == 0:
	case known.thinking == byBudget:
		params.Thinking = anthropic.ThinkingConfigParamOfEnabled(int64(budget))
	default:
		params.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized}
		params.OutputConfig.Effort = anthropic.OutputConfigEffort(r.Effort)
	}
	return params
}

func anthropicBlocks(m Message) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, b := range ordered(m.Blocks) {
		switch b.Kind {
		case Text:
			if strings.TrimSpace(b.Text) != "" { // it refuses an empty one
				blocks = append(blocks, anthropic.NewTextBlock(b.Text))
			}
		case Thinking:
			if data, ok := strings.CutPrefix(b.Signature, redacted); ok {
				blocks = append(blocks, anthropic.NewRedactedThinkingBlock(data))
			} else if b.Signature != "" {
				blocks = append(blocks, anthropic.NewThinkingBlock(b.Signature, b.Text))
			}
		case Call:
			blocks = append(blocks, anthropic.NewToolUseBlock(b.ID, sendableArgs(b.Args), b.Name))
		case Result:
			blocks = append(blocks, anthropic.NewToolResultBlock(b.ID, output(b), b.Failed))
		}
	}
	return blocks
}
