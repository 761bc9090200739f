package acp

import (
	"context"
	"io"
	"time"

	"github.com/rs/zerolog"

	"ralph/internal/proc"
	"ralph/internal/redact"
	"ralph/internal/seen"
	"ralph/internal/toolcall"
)

// Defaults for the limits of Config that are zero.
const (
	DefaultHandshakeTimeout = 2 * time.Minute // real agents took 45 s on a loaded machine
	DefaultGrace            = 3 * time.Second
)

// Client is what all sessions of a program have in common.
type Client struct {
	Version string // ours, sent to the agent

	HandshakeTimeout time.Duration // for the whole handshake; 0 means DefaultHandshakeTimeout
	IdleTimeout      time.Duration // longest silence in a turn: no message, no terminal output; stderr does not count. 0 means no limit
	Grace            time.Duration // between asking and killing; 0 means DefaultGrace

	// Stepped is called after each step, well or not, from the goroutine that waits
	// for it: start, initialize, session/new, session/prompt, ... It may be nil.
	Stepped func(op string, took time.Duration)

	Now func() time.Time // nil means time.Now
	Log zerolog.Logger
}

// Conversation is what one session is begun with. The process of its agent may be older.
type Conversation struct {
	Model  string   // empty leaves the agent's own choice
	Effort string   // how long the model may think, in a word that the agent offers; empty leaves its own choice
	Resume *Earlier // a session to go on with, if the agent can and still knows it
	Folder string   // for what does not fit into memory; empty means that for temporary files

	TurnTimeout time.Duration // longest turn; 0 means no limit

	// Decide says what becomes of a call of the agent: of each permission that it asks for, and of each file and
	// terminal that it wants from us. It is called from several goroutines and may wait for a person, until ctx
	// ends: the turn is being cancelled then, or the session is over. Nil allows everything.
	Decide func(ctx context.Context, c toolcall.Call) Decision

	// After is called with what came of a file or a terminal that the agent wanted from us, of a terminal when its
	// command has ended, and says what the agent gets instead, or nil. It is called as Decide is, and may be nil.
	After func(ctx context.Context, c toolcall.Call, result string, failed bool) *string
}

// Config is all that a session needs to know. Argv and Dir are required.
type Config struct {
	Client
	Conversation

	Argv    []string    // the agent's command; no shell looks at it
	Env     []string    // its complete environment
	Dir     string      // the project root, absolute: the session's working directory
	Place   seen.Folder // where the agent and its terminals find Dir, or a folder around it: what they name there is what is meant
	Owner   string      // marks the processes for proc.Sweep
	Confine []byte      // of the agent and of its terminals; handed to the Confiner of proc.RunHelper

	Pick func(offered []string) string // wins over Model where the agent offers models; one that it does not offer leaves its own choice. May be nil

	Traits                      // of the agent, as far as they are known before it is started
	Identify func(Agent) Traits // what they are, now that the agent has said who it is. May be nil

	MCP []MCPServer // given to the session, as far as the agent can use them

	Reads string // a further folder, as the agent names it, that may be read where Dir has nothing; empty means none
	// Below is the name of a path in folders of which the agent sees the files there, the first on top, although others do not. May be nil.
	Below     func(path string) (name string, folders []string)
	Hidden    []string // absolute paths that are never read for the agent, nor anything in them
	ReadOnly  bool     // refuse fs/write_text_file
	Protected []string // paths, absolute or relative to Dir, that are never written for the agent, nor anything in them

	ProtectedNames []string // names of files and folders that are never written for the agent, wherever they are

	Transcript  io.Writer        // every message both ways, a JSON line each; may be nil
	Stderr      io.Writer        // the agent's stderr, redacted; may be nil
	TerminalEnv []string         // the complete environment of terminals
	Redact      *redact.Redactor // what no log, transcript, event, error or prompt may show; nil hides nothing

	// Observe is called with what happens, in order, from one goroutine of its
	// own. While it blocks, text is joined and what does not fit is dropped and
	// counted; the connection never waits for it. It may be nil.
	Observe func(Event)

	// Started is called once: by Launch before anything is sent, or by Begin before
	// there is a session. An error ends the process. It may be nil.
	Started func(proc.Identity) error
}

// Traits are how one agent differs from others.
type Traits struct {
	ModelChannels   []ModelChannel // ways to choose the model, in order; nil means all
	Modes           []string       // the session is put into the first of these that the agent offers; none leaves its own
	AuthMethod      string         // used if the agent asks for authentication
	MissingIsEmpty  bool           // a missing file reads as an empty text: some agents cannot create one otherwise
	TerminalShell   bool           // the agent sends whole shell lines as terminal commands
	UsageCumulative bool           // token counts in answers are of the session, not the turn
}

// Earlier is a session of an earlier process.
type Earlier struct {
	Agent   string // who had it, as the caller calls it: no other agent knows it
	Session string
	CostUSD float64 // what it is known to have cost by then
}

// ModelChannel is a way to choose the model of a session.
type ModelChannel string

// The channels there are.
const (
	ChannelConfig   ModelChannel = "config"    // session/set_config_option of the option "model"
	ChannelSetModel ModelChannel = "set_model" // session/set_model
	ChannelEnv      ModelChannel = "env"       // the caller put it in the environment; nothing to send
)

// limit bounds a handshake, or a part of one; the whole counts if both are bounded.
func (c Config) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.HandshakeTimeout, HandshakeTimeout)
}

func (c Config) withDefaults() Config {
	if c.HandshakeTimeout <= 0 {
		c.HandshakeTimeout = DefaultHandshakeTimeout
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Traits = c.Traits.withDefaults()
	return c
}

func (t Traits) withDefaults() Traits {
	if t.ModelChannels == nil {
		t.ModelChannels = []ModelChannel{ChannelConfig, ChannelSetModel, ChannelEnv}
	}
	return t
}
