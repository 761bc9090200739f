package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"ralph/internal/bounded"
	"ralph/internal/lazyregexp"
)

// How long local servers have to answer: where a person waits, and where the work ends without one, whose processor may be
// busy with a model.
const (
	Glance  = time.Second
	probing = 10 * time.Second
)

// listed is a model as servers list it. They have many names for its window.
type listed struct {
	ID            string `json:"id"`
	Created       int    `json:"created"`
	MaxInput      int    `json:"max_input_tokens"` // Anthropic
	MaxModelLen   int    `json:"max_model_len"`    // vLLM
	ContextLength int    `json:"context_length"`   // OpenRouter
	ContextWindow int    `json:"context_window"`   // Groq
	Meta          struct {
		Context int `json:"n_ctx"`
		Trained int `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
}

// windows of models whose vendors' lists do not tell them.
var windows = map[string]int{ // by how the name begins
	"claude": 200_000, "gpt-5": 400_000, "gpt-4.1": 1_000_000, "gpt-4o": 128_000, "gpt-4-turbo": 128_000, "o1": 200_000, "o3": 200_000, "o4": 200_000,
}

func (l listed) window() int {
	told := cmp.Or(l.MaxInput, l.MaxModelLen, l.ContextLength, l.ContextWindow, l.Meta.Context, l.Meta.Trained)
	for prefix, tokens := range windows {
		if told == 0 && strings.HasPrefix(path.Base(l.ID), prefix) {
			return tokens
		}
	}
	return told
}

// Models leaves it to whoever asks what to do with a server that answers, and only cannot list its models.
func (c *connection) Models(ctx context.Context) ([]Model, error) {
	models, err := c.models(ctx)
	var f *Failure
	if errors.As(err, &f) && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, f.Status) {
		return nil, nil
	}
	return models, err
}

// models is Models of a server that must have a list.
func (c *connection) models(ctx context.Context) ([]Model, error) {
	var answer struct{ Data json.RawMessage }
	err := c.exchange(ctx, c.list, nil, func() {}, func(body io.Reader) error {
		text, err := bounded.Read(body, bounded.Text)
		if err == nil && (json.Unmarshal(text, &answer) != nil || answer.Data == nil) {
			err = &Failure{Kind: Bad, Status: http.StatusNotFound, Text: "the server's list of models makes no sense"}
		}
		return err
	})
	var list []listed
	_ = json.Unmarshal(answer.Data, &list) // what is not of its type is left out
	if c.address == openaiAddress {
		list = bestFirst(list)
	}
	var models []Model
	for _, l := range list {
		if l.ID != "" {
			models = append(models, Model{ID: l.ID, Window: l.window()})
		}
	}
	return models, err
}

var (
	// What OpenAI lists that holds no conversation, or not by this interface.
	noChat = lazyregexp.New(`embedding|whisper|tts|dall-e|moderation|realtime|audio|image|transcribe|sora|instruct|babbage|davinci|search|codex|-pro\b|deep-research|computer-use`)
	// The plain name of a generation, which stands for its best model at the time.
	generation = lazyregexp.New(`^gpt-[0-9.]+$`)
)

// bestFirst sorts OpenAI's own list, which is in no order. Other servers have their default first.
func bestFirst(list []listed) []listed {
	list = slices.DeleteFunc(list, func(l listed) bool { return noChat.Get().MatchString(l.ID) })
	rank := map[bool]int{true: 1}
	slices.SortStableFunc(list, func(a, b listed) int {
		return cmp.Or(rank[generation.Get().MatchString(b.ID)]-rank[generation.Get().MatchString(a.ID)], b.Created-a.Created, strings.Compare(a.ID, b.ID))
	})
	return list
}

// LocalServer looks for a model server on this machine, or at OPENAI_BASE_URL, and says what it offers. It waits
// until ctx ends.
func LocalServer(ctx context.Context, environ []string) (address string, models []Model, found bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	get := getenv(environ)
	addresses, key := local(get)
	answers := make([]chan []Model, len(addresses))
	for i, address := range addresses { // all at once: something else may listen there, and say nothing
		answers[i] = make(chan []Model, 1)
		go func() {
			defer close(answers[i])
			if list, err := newOpenAI(newWire(get, address, "", ""), key).models(ctx); err == nil {
				answers[i] <- list
			}
		}()
	}
	for i, address := range addresses {
		if list, ok := <-answers[i]; ok {
			return address, list, true
		}
	}
	return "", nil, false
}

// local says where a server may be, the first to prefer, and its key: the one for OpenAI is not sent to a server that was
// merely found.
func local(get func(string) string) (addresses []string, key string) {
	if address := withScheme(get("OPENAI_BASE_URL")); address != "" {
		return []string{openaiBase(address)}, get("OPENAI_API_KEY")
	}
	return []string{
		ollamaAddress(get("OLLAMA_HOST")),
		"http://127.0.0.1:1234/v1", // LM Studio
		"http://127.0.0.1:8000/v1", // vLLM
		"http://127.0.0.1:8080/v1", // llama.cpp
	}, ""
}

// ollamaAddress reads OLLAMA_HOST as Ollama does. It is also the address to listen at, which may be every interface.
func ollamaAddress(host string) string {
	scheme, rest, given := strings.Cut(host, "://")
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if !given {
		scheme, rest, port = "http", host, "11434"
	}
	name := ""
	if u, err := url.Parse("//" + rest); err == nil {
		name, port = u.Hostname(), cmp.Or(u.Port(), port)
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(name, port) + "/v1"
}

// openaiBase is an address to which /chat/completions can be added. People leave out /v1 where nothing else follows.
func openaiBase(address string) string {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	if u, err := url.Parse(address); err == nil && u.Host != "" && u.Path == "" {
		return address + "/v1"
	}
	return address
}
