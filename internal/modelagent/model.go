package modelagent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Role says who speaks.
type Role string

// The roles there are. Results of tools are the user's, as they are with providers.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// BlockKind says what a block is.
type BlockKind string

// The kinds there are.
const (
	Text     BlockKind = "text"
	Thinking BlockKind = "thinking" // the model's own; it is sent back as it came, and only to the provider that made it
	Call     BlockKind = "call"     // of a tool, by the model
	Result   BlockKind = "result"   // of a call
)

// Block is a part of a message. Fields that do not belong to its kind are zero.
type Block struct {
	Kind      BlockKind       `json:"kind"`
	Text      string          `json:"text,omitempty"`      // text, thinking, result
	Signature string          `json:"signature,omitempty"` // thinking: what the provider wants back with it
	ID        string          `json:"id,omitempty"`        // call, result
	Name      string          `json:"name,omitempty"`      // call, result: of the tool
	Args      json.RawMessage `json:"args,omitempty"`      // call: an object, or what the model wrote in place of one, as a JSON string
	Failed    bool            `json:"failed,omitempty"`    // result
}

// Message is what one side says.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// Effort is how long a model may think before it answers; empty leaves it to the model.
type Effort string

// The efforts there are.
const (
	Low    Effort = "low"
	Medium Effort = "medium"
	High   Effort = "high"
)

// Spec describes a tool to a model.
type Spec struct {
	Name, Description string
	Schema            json.RawMessage // of its arguments, an object
}

// Request is what a model is asked.
type Request struct {
	Model    string
	System   string
	Messages []Message
	Tools    []Spec
	Effort   Effort
}

// Stop is why a model stopped.
type Stop string

// The reasons there are.
const (
	StopEnd    Stop = "end"    // it has said all
	StopCalls  Stop = "calls"  // it waits for tools
	StopLength Stop = "length" // its answer is longer than allowed
	StopRefuse Stop = "refuse" // it does not want to
)

// Usage counts tokens.
type Usage struct {
	Input      int64 `json:"input"` // without what came from a cache or went into one
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output"`
}

// Plus is the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Output + v.Output}
}

// Context is how many tokens the model read and wrote.
func (u Usage) Context() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Reply is a whole answer of a model.
type Reply struct {
	Message Message // of the assistant; calls come last
	Stop    Stop
	Usage   Usage // zero if the server does not count
}

// Model is one that a provider offers.
type Model struct {
	ID     string
	Window int // in tokens; 0 if the provider does not say
}

// Provider asks models. Its methods may be called from several goroutines.
type Provider interface {
	// Send asks once. While the answer comes in, it passes on what the model thinks, and "" for everything else that
	// arrives, so that whoever waits knows that the model is at work. It returns either a whole answer or an error,
	// a *Failure unless ctx ended: of an answer that broke off nothing is told.
	Send(ctx context.Context, r Request, thought func(text string)) (Reply, error)
	// Models lists what the provider offers, the one to prefer first. A server that cannot list them has none.
	Models(ctx context.Context) ([]Model, error)
}

// FailureKind says what to do about a failure.
type FailureKind string

// The kinds there are.
const (
	Limited    FailureKind = "limited"     // 429: wait
	Overloaded FailureKind = "overloaded"  // 529, 503: wait
	Broken     FailureKind = "broken"      // any other 5xx, a stream that broke off, a server that cannot be reached or is silent: try again
	TooLong    FailureKind = "too long"    // the request does not fit into the window: shorten it
	NoKey      FailureKind = "no key"      // 401, 403, or there is none
	NoModel    FailureKind = "no model"    // the model does not exist
	Bad        FailureKind = "bad request" // any other 4xx: nothing helps
)

// Failure is why a provider did not answer.
type Failure struct {
	Kind   FailureKind
	Status int           // of HTTP; 0 if there was no answer
	After  time.Duration // when to try again, if the provider says so
	Text   string        // the provider's own words, or what happened
}

func (f *Failure) Error() string {
	if f.Status == 0 {
		return f.Text
	}
	return fmt.Sprintf("%s (HTTP %d)", f.Text, f.Status)
}
