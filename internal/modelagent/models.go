package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// listed is a model as a server lists it, with whatever else the server says.
type listed map[string]any

func (l listed) id() string { s, _ := l["id"].(string); return s }

// number is a count under one of the names, the first that is there.
func (l listed) number(names ...string) int {
	for _, name := range names {
		if n, ok := l[name].(float64); ok && n > 0 {
			return int(n)
		}
	}
	return 0
}

// models asks a server for its list.
func (w *wire) models(ctx context.Context, address string, header http.Header) ([]listed, error) {
	ctx, x, end := w.begin(ctx, func() {})
	defer end()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &Failure{Kind: Bad, Text: w.clean(err.Error())}
	}
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	answer, err := x.Do(r)
	if err != nil {
		return nil, x.why(ctx, err)
	}
	defer answer.Body.Close()
	var list struct{ Data []listed }
	body, err := io.ReadAll(io.LimitReader(answer.Body, 8<<20))
	if err != nil {
		return nil, x.why(ctx, err)
	}
	if json.Unmarshal(body, &list) != nil || list.Data == nil && !strings.Contains(string(body), `"data"`) {
		return nil, &Failure{Kind: Bad, Status: http.StatusNotFound, Text: "the server's list of models makes no sense"}
	}
	return slices.DeleteFunc(list.Data, func(l listed) bool { return l.id() == "" }), nil
}

// unlisted says that a server answered, and only cannot list its models.
func unlisted(err error) bool {
	var f *Failure
	return errors.As(err, &f) && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed || f.Status == http.StatusNotImplemented)
}

// anthropicModels reads a list; Anthropic has the newest first.
func anthropicModels(list []listed) []Model {
	var models []Model
	for _, l := range list {
		window := l.number("max_input_tokens", "context_length", "max_model_len")
		if window == 0 && strings.Contains(l.id(), "claude") {
			window = 200_000
		}
		models = append(models, Model{ID: l.id(), Window: window})
	}
	return models
}

// windows of models that OpenAI's own list does not tell.
var windows = []struct {
	prefix string
	tokens int
}{
	{"gpt-5", 400_000}, {"gpt-4.1", 1_000_000}, {"gpt-4o", 128_000}, {"gpt-4-turbo", 128_000}, {"o3", 200_000}, {"o4", 200_000}, {"o1", 200_000},
}

var (
	// What OpenAI lists that holds no conversation, or not by this interface.
	noChat = regexp.MustCompile(`embedding|whisper|tts|dall-e|moderation|realtime|audio|image|transcribe|sora|instruct|babbage|davinci|search|codex|-pro\b|deep-research|computer-use`)
	// The plain name of a generation, which stands for its best model at the time.
	generation = regexp.MustCompile(`^gpt-[0-9.]+$`)
)

// openaiModels reads a list, which OpenAI writes in no order. Other servers have their default first.
func openaiModels(address string, list []listed) []Model {
	if address == openaiAddress {
		list = slices.DeleteFunc(list, func(l listed) bool { return noChat.MatchString(l.id()) })
		slices.SortStableFunc(list, func(a, b listed) int {
			plainA, plainB := generation.MatchString(a.id()), generation.MatchString(b.id())
			if plainA != plainB {
				return map[bool]int{true: -1, false: 1}[plainA]
			}
			return cmp.Or(b.number("created")-a.number("created"), strings.Compare(a.id(), b.id()))
		})
	}
	var models []Model
	for _, l := range list {
		window := l.number("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")
		if meta, ok := l["meta"].(map[string]any); ok && window == 0 {
			window = listed(meta).number("n_ctx", "n_ctx_train") // llama.cpp
		}
		for _, known := range windows {
			if window == 0 && strings.HasPrefix(l.id(), known.prefix) {
				window = known.tokens
			}
		}
		models = append(models, Model{ID: l.id(), Window: window})
	}
	return models
}

// bearer is the header with a key.
func bearer(key string) string { return fmt.Sprintf("Bearer %s", key) }
