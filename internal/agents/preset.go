// Package agents knows the ACP agents that ralph can start, finds the ones that users
// name, and opens sessions with them. No code branches on an agent's name: what makes an
// agent different is a field of its Preset.
package agents

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// Preset is one agent. A copy may be changed freely: whoever asks gets a new one.
type Preset struct {
	Name    string   // what a user types
	Family  string   // has what it shares with others; see agents.toml
	Title   string   // what a user reads
	Says    string   // the name that it gives itself, whatever program starts it
	Command []string // of the installed program; the first word is looked up on PATH
	Package string   // the npm package for npx if the program is not installed; may be empty
	Self    []string // arguments with which ralph starts itself as this agent; empty for all others
	Needs   Need     // what such an agent cannot work without
	Service string   // whose models such an agent asks; ${NAME:-default} is the variable that leads it elsewhere
	Unknown bool     // nobody described the agent: only its command is known
	Login   string   // how a person logs in
	Reports string   // what it says about its usage, for people

	Channel acp.ModelChannel // how it takes its model
	// Tiers maps a tier to the agent's own names, best first. So that a map outlives a
	// model, "#" in a name stands for a version, the newest offered being meant, and
	// "*/" before it for any provider.
	Tiers  map[string][]string
	Models map[string]string // what the user says about tiers; it wins over Tiers

	// State lists the folders that the agent must be able to write outside the
	// project: its login, its settings, its sessions. ${NAME:-default} is a variable, and
	// "~/" at the beginning the user's home.
	State []string
	// Pass lists the variables that reach the agent besides the common ones: names, or
	// prefixes that end in an asterisk.
	Pass []string
	// Allow is what the user says about variables, after those lists, with an
	// exclamation mark before what must not reach the agent. The last entry that
	// matches decides.
	Allow []string
	Set   []Variable // are added, in order; the last of a name counts
	// Auth lists the methods of authenticate that need no person, for an agent that
	// asks for one: the first whose variable is set counts.
	Auth []Auth
	// Credentials lists the variables that hold or choose a credential, in the order in
	// which the agent looks at them, or with ByModel as the model's provider needs
	// them. Without any the agent uses its own login.
	Credentials []string
	ByModel     bool

	// Confined names the modes of a session, best first, in which the agent leaves it
	// to us to confine its commands: a sandbox in a sandbox starts nothing.
	Confined       []string
	Asking         Asking
	MissingIsEmpty bool // it expects an empty text when it reads a missing file
	TerminalShell  bool // it sends shell lines where the protocol has a program and its arguments
	Cumulative     bool // the tokens in an answer are those of the session so far
	ExitStatus     bool // its word about a task is an exit status, and so evidence by itself
	NoTools        bool // it calls no tools of MCP servers that a session brings
	// ToolsSet is added where the agent gets tools: without it, it starts no server. What it sets may also let it believe
	// files of the project, so a verifier does without.
	ToolsSet []Variable
	Proxy    bool // seen to reach its provider only through HTTPS_PROXY if that is set
	Prestart bool // starting it before it has a task saves at least half of the time until it has a session
}

// Need is what an agent that is a part of ralph cannot work without.
type Need string

// What there is.
const (
	Nothing Need = ""
	Key     Need = "key"    // one of its Credentials
	Server  Need = "server" // that has models, on this machine or where OPENAI_BASE_URL says
)

// How an agent takes its model.
const (
	Any          acp.ModelChannel = ""                  // whatever it offers; for agents nobody described
	ConfigOption                  = acp.ChannelConfig   // the session's configuration option "model"
	SetModel                      = acp.ChannelSetModel // session/set_model
	NoModel      acp.ModelChannel = "none"              // it takes none
)

// Channels returns the channels to try, in order: nil for whatever the agent offers,
// and an empty list for an agent that takes no model.
func (p Preset) Channels() []acp.ModelChannel {
	switch p.Channel {
	case Any:
		if p.Prestart { // whatever its environment says of models was written before one was chosen
			return []acp.ModelChannel{ConfigOption, SetModel}
		}
		return nil
	case NoModel:
		return []acp.ModelChannel{}
	}
	return []acp.ModelChannel{p.Channel}
}

// Asking is how an agent is made to ask us before it acts.
type Asking struct {
	Before       string     // what it does, for people: "it writes a file"; empty if it never asks, or nobody knows
	Not          string     // why it never does
	Modes        []string   // of a session, best first
	Set          []Variable // are added
	Args         []string   // are added to its command
	ConfinedArgs []string   // the same, where it leaves it to us to confine its commands
	EndsTurn     bool       // after a rejection it ends its turn
}

// Words says when an agent asks.
func (a Asking) Words() string {
	switch {
	case a.Not != "":
		return "never: " + a.Not
	case a.Before == "":
		return "not known"
	case a.EndsTurn:
		return "before " + a.Before + "; a denial ends its turn"
	}
	return "before " + a.Before
}

// Auth is a method of authenticate and the variable that it reads.
type Auth struct{ Variable, Method string }

// Variable is an environment variable that an agent is given.
type Variable struct {
	Name, Value string
	OnlyRoot    bool // only if ralph runs as root
}

// StateFolders returns the agent's state folders as absolute paths, given its
// environment. Folders that cannot be made absolute are left out: a sandbox must not
// open a relative path.
func (p Preset) StateFolders(env []string) []string { return absolute(p.State, env) }

// PossibleFolders returns where an unknown agent may keep its state: where the known
// agents do, because it is often one of them behind another name, and where its own name
// leads. A sandbox opens those that exist. There are none for a known agent.
func (p Preset) PossibleFolders(env []string) []string {
	if !p.Unknown {
		return nil
	}
	list := slices.Concat(seq.Map(programs(), func(known Preset) []string { return known.State })...)
	if name := program(p.Command[0]); name != "" && name != "." && name != ".." && name != "/" {
		_, families := readBuiltin()
		list = append(append(list, "~/."+name), families["any"].stateOf(name)...)
	}
	return absolute(list, env)
}

func absolute(list, env []string) []string {
	var out []string
	for _, folder := range list {
		dir := expand(folder, env)
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(proc.Getenv(env, "HOME"), rest)
		}
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}

// expand fills in variables, also those that have a default.
func expand(text string, env []string) string {
	return os.Expand(text, func(variable string) string {
		name, fallback, _ := strings.Cut(variable, ":-")
		return cmp.Or(proc.Getenv(env, name), fallback)
	})
}
