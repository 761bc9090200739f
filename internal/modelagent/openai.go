package modelagent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/sashabaranov/go-openai"
)

// Models that refuse an effort are asked without, and those that think all the same and then refuse tools, not to think.
const (
	asWanted = iota
	unsaid
	none
)

var aboutThinking = regexp.MustCompile(`(?i)reasoning|\bthink`)

type openaiProvider struct {
	*wire
	config openai.ClientConfig
	header http.Header

	mu      sync.Mutex
	efforts map[string]int // by model: asWanted, ...
}

func newOpenAI(w *wire, key, org string) *openaiProvider {
	p := &openaiProvider{wire: w, config: openai.DefaultConfig(key), header: http.Header{}, efforts: map[string]int{}}
	p.config.BaseURL, p.config.OrgID = w.address, org
	if key != "" {
		p.header.Set("Authorization", bearer(key))
	}
	return p
}

func (p *openaiProvider) Models(ctx context.Context) ([]Model, error) {
	models, err := p.list(ctx)
	if unlisted(err) {
		return nil, nil
	}
	return models, err
}

// list is Models of a server that must have a list.
func (p *openaiProvider) list(ctx context.Context) ([]Model, error) {
	list, err := p.models(ctx, p.address+"/models", p.header)
	return openaiModels(p.address, list), err
}

func (p *openaiProvider) Send(ctx context.Context, r Request, thought func(string)) (Reply, error) {
	for {
		p.mu.Lock()
		effort := p.efforts[r.Model]
		p.mu.Unlock()
		if effort == asWanted && r.Effort == "" {
			effort = unsaid
		}
		reply, err := p.send(ctx, p.request(r, effort), thought)
		var f *Failure
		if effort == none || !errors.As(err, &f) || f.Kind != Bad || !aboutThinking.MatchString(f.Text) {
			return reply, err
		}
		p.mu.Lock()
		p.efforts[r.Model] = effort + 1
		p.mu.Unlock()
	}
}

func (p *openaiProvider) send(ctx context.Context, request openai.ChatCompletionRequest, thought func(string)) (Reply, error) {
	ctx, x, end := p.begin(ctx, func() { thought("") })
	defer end()
	config := p.config
	config.HTTPClient = x
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(ctx, request)
	if err != nil {
		return Reply{}, x.why(ctx, err)
	}
	defer stream.Close() //nolint:errcheck // it was only read
	var a chat
	// The body is read here, because the stream of the library loses an error that follows on any line but data.
	for lines := bufio.NewReader(x.body); err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			break
		}
		var c chunk
		var odd *json.UnmarshalTypeError // a member that is not what it should be is left out
		if bad := json.Unmarshal(data, &c); bad != nil && !errors.As(bad, &odd) {
			err = cmp.Or(err, bad)
			break
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			_, code := refusal(data)
			return Reply{}, x.why(ctx, p.failure(streamStatus(code), nil, data))
		}
		a.add(c, thought)
	}
	if a.finish == "" || a.finish == "error" {
		return Reply{}, x.why(ctx, err)
	}
	return a.reply(), nil // what breaks off after the end of the answer can only be the count of tokens
}

// streamStatus is the status that an error in the midst of an answer would have had; code is its type and code.
func streamStatus(code string) int {
	for status, words := range map[int][]string{
		429: {"rate_limit", "insufficient_quota", "429"}, 503: {"overloaded", "unavailable", "503", "529"},
		401: {"invalid_api_key", "authentication", "401"}, 400: {"invalid_request", "context", "400"},
	} {
		for _, word := range words {
			if strings.Contains(code, word) {
				return status
			}
		}
	}
	return http.StatusInternalServerError
}

// chunk is a part of an answer. Servers differ in where thoughts and arguments stand.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content          string      `json:"content"`
			Refusal          string      `json:"refusal"`
			ReasoningContent string      `json:"reasoning_content"`
			Reasoning        string      `json:"reasoning"`
			ToolCalls        []callDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *openai.Usage   `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// chat collects an answer.
type chat struct {
	text    strings.Builder
	calls   []*openai.ToolCall
	finish  string
	refused bool
	usage   Usage
}

func (a *chat) add(c chunk, thought func(string)) {
	if u := c.Usage; u != nil {
		cached := 0
		if d := u.PromptTokensDetails; d != nil {
			cached = d.CachedTokens
		}
		a.usage = Usage{Input: int64(max(u.PromptTokens-cached, 0)), CacheRead: int64(cached), Output: int64(u.CompletionTokens)}
	}
	for _, choice := range c.Choices {
		d := choice.Delta
		if text := cmp.Or(d.ReasoningContent, d.Reasoning); text != "" {
			thought(text)
		}
		a.text.WriteString(d.Content + d.Refusal)
		a.refused = a.refused || d.Refusal != ""
		for _, call := range d.ToolCalls {
			a.addCall(call)
		}
		a.finish = cmp.Or(choice.FinishReason, a.finish)
	}
}

// addCall adds to the call that a delta belongs to. Some servers number none, or all alike, and give no IDs.
func (a *chat) addCall(d callDelta) {
	var at *openai.ToolCall
	for _, call := range a.calls {
		if d.Index == nil || call.Index != nil && *call.Index == *d.Index {
			at = call
		}
	}
	name := d.Function.Name
	if at == nil || d.ID != "" && at.ID != "" && d.ID != at.ID ||
		d.ID == "" && name != "" && (name != at.Function.Name || json.Valid([]byte(at.Function.Arguments))) {
		at = &openai.ToolCall{Index: d.Index}
		a.calls = append(a.calls, at)
	}
	at.ID = cmp.Or(at.ID, d.ID)
	at.Function.Name = cmp.Or(at.Function.Name, name)
	var text string
	if json.Unmarshal(d.Function.Arguments, &text) != nil {
		text = string(d.Function.Arguments) // an object in place of its text
	}
	at.Function.Arguments += text
}

func (a *chat) reply() Reply {
	reply := Reply{Message: Message{Role: Assistant}, Stop: StopEnd, Usage: a.usage}
	if a.text.Len() > 0 {
		reply.Message.Blocks = append(reply.Message.Blocks, Block{Kind: Text, Text: a.text.String()})
	}
	taken := map[string]bool{}
	for _, call := range a.calls {
		if call.ID == "" || taken[call.ID] {
			call.ID = "call_" + rand.Text()
		}
		taken[call.ID] = true
		reply.Message.Blocks = append(reply.Message.Blocks, Block{Kind: Call, ID: call.ID, Name: call.Function.Name, Args: parseArgs(call.Function.Arguments)})
		reply.Stop = StopCalls // Ollama says that it just stops
	}
	switch {
	case a.finish == string(openai.FinishReasonLength):
		reply.Stop = StopLength
	case a.finish == string(openai.FinishReasonContentFilter), a.refused && len(a.calls) == 0:
		reply.Stop = StopRefuse
	}
	return reply
}

func (p *openaiProvider) request(r Request, effort int) openai.ChatCompletionRequest {
	request := openai.ChatCompletionRequest{Model: r.Model, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	switch effort {
	case asWanted:
		request.ReasoningEffort = string(r.Effort)
	case none:
		request.ReasoningEffort = "none"
	}
	// Other servers may know only the old name, and some models refuse it, which the library knows.
	request.MaxTokens = r.MaxTokens //nolint:staticcheck // see above
	if p.address == openaiAddress || errors.Is(openai.NewReasoningValidator().Validate(request), openai.ErrReasoningModelMaxTokensDeprecated) {
		request.MaxTokens, request.MaxCompletionTokens = 0, r.MaxTokens //nolint:staticcheck // see above
	}
	if r.System != "" {
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for _, m := range r.Messages {
		request.Messages = append(request.Messages, openaiMessages(m)...)
	}
	for _, spec := range r.Tools {
		function := &openai.FunctionDefinition{Name: spec.Name, Description: spec.Description, Parameters: spec.Schema}
		if len(spec.Schema) == 0 {
			function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		request.Tools = append(request.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: function})
	}
	return request
}

// openaiMessages writes a message: each result is one of its own, before what else the user says.
func openaiMessages(m Message) []openai.ChatCompletionMessage {
	var list []openai.ChatCompletionMessage
	said := openai.ChatCompletionMessage{Role: string(m.Role)}
	for _, b := range ordered(m.Blocks) {
		switch b.Kind {
		case Text:
			said.Content += b.Text
		case Call:
			said.ToolCalls = append(said.ToolCalls, openai.ToolCall{
				ID: b.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: b.Name, Arguments: string(sendableArgs(b.Args))},
			})
		case Result:
			list = append(list, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: b.ID, Content: output(b)})
		case Thinking: // it stays with the provider that made it
		}
	}
	if strings.TrimSpace(said.Content) != "" || len(said.ToolCalls) > 0 {
		list = append(list, said)
	}
	return list
}
