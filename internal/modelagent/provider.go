package modelagent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ralph/internal/lazyregexp"
	"ralph/internal/outbox"
)

// Where the vendors' own servers are. Any other address is a server that only speaks like them, and may need no key.
const (
	anthropicAddress = "https://api.anthropic.com/v1"
	openaiAddress    = "https://api.openai.com/v1"
)

// Connect makes the provider of that name: anthropic, openai or local, from the usual variables. It calls nobody,
// except to find out where a local server is.
func Connect(ctx context.Context, name string, environ []string) (Provider, error) {
	lookup := getenv(environ)
	get := func(name string) string {
		if strings.HasSuffix(name, "_BASE_URL") {
			return withScheme(lookup(name))
		}
		return lookup(name)
	}
	base, variable := "OPENAI_BASE_URL", "OPENAI_API_KEY"
	if name == "anthropic" {
		base, variable = "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
	}
	if err := outbox.CheckAddress(get(base)); err != nil && get(base) != "" {
		return nil, &Failure{Kind: Bad, Text: fmt.Sprintf("%s cannot be used: %v, such as https://example.com/v1", base, err)}
	}
	key := get(variable)
	switch name {
	case "anthropic":
		token := get("ANTHROPIC_AUTH_TOKEN")
		address := strings.TrimSuffix(strings.TrimRight(cmp.Or(get(base), anthropicAddress), "/"), "/v1") + "/v1"
		if key == "" && token == "" && address == anthropicAddress {
			return nil, &Failure{Kind: NoKey, Text: "there is no key for Anthropic: set " + variable}
		}
		return newAnthropic(newWire(get, address, variable, base, key, token), key, token), nil
	case "openai":
		address := openaiBase(cmp.Or(get(base), openaiAddress))
		if key == "" && address == openaiAddress {
			return nil, &Failure{Kind: NoKey, Text: "there is no key for OpenAI: set " + variable}
		}
		return newOpenAI(newWire(get, address, variable, base, key), key), nil
	case "local":
		addresses, key := local(get)
		address := addresses[0]
		if get(base) == "" {
			ctx, cancel := context.WithTimeout(ctx, probing)
			defer cancel()
			var found bool
			if address, _, found = LocalServer(ctx, environ); !found {
				return nil, &Failure{Kind: Broken, Text: "no local model server answers at " + strings.Join(addresses, ", ") +
					": start one, for example with ollama serve, or set " + base}
			}
		}
		return newOpenAI(newWire(get, address, variable, base, key), key), nil
	}
	return nil, fmt.Errorf("there is no provider %q: choose anthropic, openai or local", name)
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

// connection is a Provider: it asks in one of two protocols.
type connection struct {
	*wire
	protocol
	ways sync.Map // by model, the way that it was last asked with success
}

// protocol is how a kind of server is spoken to.
type protocol struct {
	path, list string // where a model is asked, and where models are listed
	request    func(Request, way) fields
	read       func(a *draft, event []byte, thought func(string)) (last bool) // adds an event to an answer
}

// Send asks the model in the way that it is known to accept, and where it refuses that, in the next one.
func (c *connection) Send(ctx context.Context, r Request, thought func(string)) (Reply, error) {
	known, _ := c.ways.Load(r.Model)
	w, _ := known.(way)
	for {
		reply, err := c.once(ctx, c.request(r, w), thought)
		if err == nil && !w.passing {
			c.ways.Store(r.Model, w)
		}
		var refused *Failure
		if !errors.As(err, &refused) || refused.Kind != Bad || !w.learn(refused.Text) {
			return reply, err
		}
	}
}

// once sends a request and reads its answer.
func (c *connection) once(ctx context.Context, request fields, thought func(string)) (Reply, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return Reply{}, &Failure{Kind: Bad, Text: c.clean(err.Error())}
	}
	var a draft
	err = c.exchange(ctx, c.path, body, func() { thought("") }, func(stream io.Reader) error {
		return c.events(stream, func(event []byte) (bool, error) {
			last := c.read(&a, event, thought)
			if a.size > maxText {
				a.whole = false
				return false, endless()
			}
			return last, nil
		})
	})
	if !a.whole {
		return Reply{}, err
	}
	return a.reply(), nil // what breaks off after that can only be the count of tokens
}

// way is how a model is asked. Nobody lists what models accept, so it is learned from what they refuse.
type way struct {
	thinking int  // 0 is as the effort says; each protocol has two more ways
	most     int  // tokens of an answer; 0 if it has accepted all
	passing  bool // what was refused is about this conversation, not about the model
}

var (
	mostTokens    = lazyregexp.New(`max_tokens: \d+ > (\d+)`)
	aboutThinking = lazyregexp.New(`(?i)reasoning|\bthink|effort`)
)

// learn reads a refusal, and says whether to ask again. It never goes back, so this ends.
func (w *way) learn(refusal string) bool {
	before := *w
	w.passing = w.passing || strings.Contains(refusal, "must start with a thinking block")
	if m := mostTokens.Get().FindStringSubmatch(refusal); m != nil {
		w.most, _ = strconv.Atoi(m[1]) // a number that is too large changes nothing
		return w.most > 0 && (before.most == 0 || w.most < before.most)
	}
	w.thinking++
	return w.thinking <= 2 && aboutThinking.Get().MatchString(refusal)
}

// draft is an answer while it arrives.
type draft struct {
	parts []*part
	stop  string // why the model stopped, in the provider's words
	usage Usage
	size  int  // of all that was written, also of thoughts that are not kept
	whole bool // nothing of the message is missing
}

// part is a block whose text, or arguments, are still being written.
type part struct {
	Block
	index     int // by which the provider tells parts apart
	text      strings.Builder
	signature strings.Builder
}

func (a *draft) begin(index int, b Block) *part {
	a.size += len(b.Text) + len(b.Signature) + len(b.ID) + len(b.Name) + len(b.Args) + 100 // which it takes by itself
	a.parts = append(a.parts, &part{Block: b, index: index})
	return a.parts[len(a.parts)-1]
}

// find is the latest part with that index, or nil.
func (a *draft) find(index int) *part {
	for _, p := range slices.Backward(a.parts) {
		if p.index == index {
			return p
		}
	}
	return nil
}

var stops = map[string]Stop{
	"max_tokens": StopLength, "model_context_window_exceeded": StopLength, "length": StopLength,
	"refusal": StopRefuse, "content_filter": StopRefuse,
}

// reply is the whole answer: calls come last, each with an ID of its own.
func (a *draft) reply() Reply {
	u := a.usage // some servers count wrongly
	reply := Reply{Message: Message{Role: Assistant}, Stop: StopEnd, Usage: Usage{max(u.Input, 0), max(u.CacheRead, 0), max(u.CacheWrite, 0), max(u.Output, 0)}}
	taken := map[string]bool{"": true}
	for _, p := range a.parts {
		b, text := p.Block, p.text.String()
		switch b.Kind {
		case Call:
			if taken[b.ID] {
				b.ID = "call_" + rand.Text()
			}
			taken[b.ID] = true
			b.Args = parseArgs(cmp.Or(text, string(b.Args)))
			reply.Stop = StopCalls // some servers say that the model just stopped
		case Text, Thinking, Result:
			b.Text += text
			b.Signature += p.signature.String()
		}
		if b.Kind != Text || b.Text != "" {
			reply.Message.Blocks = append(reply.Message.Blocks, b)
		}
	}
	reply.Message.Blocks = ordered(reply.Message.Blocks)
	reply.Stop = cmp.Or(stops[a.stop], reply.Stop)
	return reply
}

// fields is JSON to be sent, written as the providers' documentation shows it.
type fields map[string]any

// ordered puts results first and calls last, which is where providers want them.
func ordered(blocks []Block) []Block {
	rank := map[BlockKind]int{Result: -1, Call: 1}
	return slices.SortedStableFunc(slices.Values(blocks), func(a, b Block) int { return rank[a.Kind] - rank[b.Kind] })
}

// parseArgs keeps arguments that a model wrote: an object as it is, anything else as a string.
func parseArgs(text string) json.RawMessage {
	text = cmp.Or(strings.TrimSpace(text), "{}")
	if text[0] == '{' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string can always be written
	return quoted
}

// sendableArgs is an object for a provider, also where the model wrote none.
func sendableArgs(args json.RawMessage) json.RawMessage {
	if len(args) > 0 && args[0] == '{' {
		return args
	}
	wrapped, _ := json.Marshal(map[string]json.RawMessage{"malformed": args}) // which parseArgs has written
	return wrapped
}

// output is what a tool said, never empty: providers refuse that.
func output(b Block) string {
	if strings.TrimSpace(b.Text) == "" {
		return "(no output)"
	}
	return b.Text
}
