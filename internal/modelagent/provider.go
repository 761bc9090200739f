package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ralph/internal/outbox"
	"ralph/internal/redact"
)

// Where the vendors' own servers are. Any other address is a server that only speaks like them, and may need no key.
const (
	anthropicAddress = "https://api.anthropic.com"
	openaiAddress    = "https://api.openai.com/v1"
)

const (
	silence = 5 * time.Minute // for which a provider may say nothing
	probing = time.Second     // for local servers to answer
)

// Connect makes the provider of that name: anthropic, openai or local, from the usual variables. It calls nobody,
// except to find out where a local server is.
func Connect(ctx context.Context, name string, environ []string) (Provider, error) {
	get := getenv(environ)
	base := "OPENAI_BASE_URL"
	if name == "anthropic" {
		base = "ANTHROPIC_BASE_URL"
	}
	if err := outbox.CheckAddress(get(base)); err != nil && get(base) != "" {
		return nil, &Failure{Kind: Bad, Text: fmt.Sprintf("%s cannot be used: %v", base, err)}
	}
	switch name {
	case "anthropic":
		// The library adds /v1 itself.
		address := strings.TrimSuffix(strings.TrimRight(cmp.Or(get("ANTHROPIC_BASE_URL"), anthropicAddress), "/"), "/v1")
		key, token := get("ANTHROPIC_API_KEY"), get("ANTHROPIC_AUTH_TOKEN")
		if key == "" && token == "" && address == anthropicAddress {
			return nil, &Failure{Kind: NoKey, Text: "there is no key for Anthropic: set ANTHROPIC_API_KEY"}
		}
		return newAnthropic(newWire(get, address, "ANTHROPIC_API_KEY", base, key, token), key, token), nil
	case "openai":
		address, key := openaiBase(cmp.Or(get("OPENAI_BASE_URL"), openaiAddress)), get("OPENAI_API_KEY")
		if key == "" && address == openaiAddress {
			return nil, &Failure{Kind: NoKey, Text: "there is no key for OpenAI: set OPENAI_API_KEY"}
		}
		return newOpenAI(newWire(get, address, "OPENAI_API_KEY", base, key), key, get("OPENAI_ORG_ID")), nil
	case "local":
		address := openaiBase(get("OPENAI_BASE_URL"))
		if address == "" {
			found, _, ok := LocalServer(ctx, environ)
			if !ok {
				return nil, &Failure{Kind: Broken, Text: "no local model server answers at " + strings.Join(localAddresses(get), ", ") +
					": start one, for example with ollama serve, or set OPENAI_BASE_URL"}
			}
			address = found
		}
		key := localKey(get)
		return newOpenAI(newWire(get, address, "OPENAI_API_KEY", base, key), key, ""), nil
	}
	return nil, fmt.Errorf("there is no provider %q: choose anthropic, openai or local", name)
}

// LocalServer looks for a model server on this machine, or at OPENAI_BASE_URL, and says what it offers.
func LocalServer(ctx context.Context, environ []string) (address string, models []Model, found bool) {
	ctx, cancel := context.WithTimeout(ctx, probing)
	defer cancel()
	get := getenv(environ)
	addresses := localAddresses(get)
	type answer struct {
		models []Model
		err    error
	}
	answers := make([]chan answer, len(addresses))
	for i, address := range addresses { // all at once: something else may listen there, and say nothing
		answers[i] = make(chan answer, 1)
		go func() {
			list, err := newOpenAI(newWire(get, address, "", ""), localKey(get), "").list(ctx)
			answers[i] <- answer{list, err}
		}()
	}
	for i, address := range addresses {
		if a := <-answers[i]; a.err == nil {
			return address, a.models, true
		}
	}
	return "", nil, false
}

// localKey is the key for a local server: some are started with one, but the one for OpenAI is not sent to a server that
// was merely found.
func localKey(get func(string) string) string {
	if get("OPENAI_BASE_URL") == "" {
		return ""
	}
	return get("OPENAI_API_KEY")
}

// localAddresses lists where a local server may be, the first to prefer.
func localAddresses(get func(string) string) []string {
	if address := get("OPENAI_BASE_URL"); address != "" {
		return []string{openaiBase(address)}
	}
	return []string{
		ollamaAddress(get("OLLAMA_HOST")),
		"http://127.0.0.1:1234/v1", // LM Studio
		"http://127.0.0.1:8000/v1", // vLLM
		"http://127.0.0.1:8080/v1", // llama.cpp
	}
}

// ollamaAddress reads OLLAMA_HOST as Ollama does. It is also the address to listen at, which may be every interface.
func ollamaAddress(host string) string {
	scheme, rest, given := strings.Cut(strings.TrimSpace(host), "://")
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if !given {
		scheme, rest, port = "http", scheme, "11434"
	}
	rest, _, _ = strings.Cut(rest, "/")
	if name, p, err := net.SplitHostPort(rest); err == nil {
		rest, port = name, cmp.Or(p, port)
	}
	rest = strings.Trim(rest, "[]")
	if ip := net.ParseIP(rest); rest == "" || ip != nil && ip.IsUnspecified() {
		rest = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(rest, port) + "/v1"
}

// openaiBase is an address to which /chat/completions can be added. People leave out /v1 where nothing else follows.
func openaiBase(address string) string {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	if u, err := url.Parse(address); err == nil && u.Host != "" && u.Path == "" {
		return address + "/v1"
	}
	return address
}

func newWire(get func(string) string, address, key, base string, secrets ...string) *wire {
	transport := outbox.Web{Getenv: get}.Transport()
	// A turn is many requests to the same server.
	transport.DisableKeepAlives, transport.ForceAttemptHTTP2, transport.IdleConnTimeout = false, true, 90*time.Second
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second} // or a connection that is gone looks like a slow model
	if way, err := url.Parse(get("RALPH_PROXY")); err == nil && way.Host != "" {
		transport.Proxy = http.ProxyURL(way) // the only way out of the sandbox, also to servers on this machine
	}
	w := &wire{address: address, key: key, base: base, transport: transport, silence: silence, secrets: redact.New(secrets...)}
	w.now = time.Now
	return w
}

// getenv looks up variables; of several with a name the last counts.
func getenv(environ []string) func(string) string {
	vars := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = strings.TrimSpace(value)
	}
	return func(name string) string { return vars[name] }
}

// ordered puts results first and calls last, which is where providers want them.
func ordered(blocks []Block) []Block {
	var first, middle, last []Block
	for _, b := range blocks {
		switch b.Kind {
		case Result:
			first = append(first, b)
		case Call:
			last = append(last, b)
		case Text, Thinking:
			middle = append(middle, b)
		}
	}
	return append(append(first, middle...), last...)
}

// parseArgs keeps arguments that a model wrote: an object as it is, anything else as a string.
func parseArgs(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}")
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string can always be written
	return quoted
}

// sendableArgs is an object for a provider, also where the model wrote none.
func sendableArgs(args json.RawMessage) json.RawMessage {
	var text string
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case json.Unmarshal(args, &text) != nil:
		return args
	}
	object, _ := json.Marshal(map[string]string{"malformed": text}) // strings can always be written
	return object
}

// output is what a tool said, never empty: providers refuse that.
func output(b Block) string {
	if strings.TrimSpace(b.Text) == "" {
		return "(no output)"
	}
	return b.Text
}
