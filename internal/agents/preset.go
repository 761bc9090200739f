// Package agents knows the ACP agents that ralph can start, as data: the
// command of each, how it is told its model, what it calls the tiers, which
// folders and which variables are its own.
//
// It never starts a process, reads the environment or looks at the disk, and
// nothing in it, nor in any code that uses it, branches on an agent's name:
// what makes an agent different is a field of its Preset.
package agents

import "ralph/acp"

// Preset is one agent. A copy may be changed freely: no two share memory.
type Preset struct {
	// Name is what a user types, Title what a user reads.
	Name, Title string
	// Says is the name that the agent gives itself when it is asked, which tells
	// it from others whatever program starts it.
	Says string
	// Command is the argument vector of the installed program; its first word
	// is looked up on PATH.
	Command []string
	// Package is the npm package that provides the program, for npx when it is
	// not installed; empty when there is none.
	Package string
	// Self holds the arguments with which ralph starts itself as this agent.
	// It is empty for every agent that is a program of its own.
	Self []string
	// Rank orders the agents for Detect; 0 means never chosen unasked.
	Rank int
	// Channel is how the agent is told its model, Key the ID of the
	// configuration option or the name of the variable that Channel needs.
	Channel acp.ModelChannel
	Key     string
	// Tiers maps a tier to the agent's own names, best first. So that a map
	// outlives a model, "#" in a name stands for a version, the newest offered
	// being meant, and "*/" before it for any provider.
	Tiers map[string][]string
	// Models is what the user says about tiers; it wins over Tiers.
	Models map[string]string
	// State lists the folders that the agent must be able to write outside the
	// project: its login, its settings, its sessions.
	State []Folder
	// Unknown says that nobody described the agent: only its command is known.
	Unknown bool
	// Login says how a person logs in.
	Login string
	// Auth lists the methods of authenticate that need no person, for an agent
	// that asks for one: the first whose variable is set is meant.
	Auth []Auth
	// Pass lists the variables that reach the agent besides the common ones:
	// names, or prefixes that end in an asterisk.
	Pass []string
	// Allow is what the user says about variables, after those lists: names or
	// prefixes, with an exclamation mark before what must not reach the agent.
	// The last entry that fits a name decides.
	Allow []string
	// Credentials lists the variables that hold or choose a credential, in the
	// order in which the agent looks at them; without any it uses the login that
	// it keeps itself. ByModel says that the provider of the model decides, and
	// not the order.
	Credentials []string
	ByModel     bool
	// Tells is what the agent says about what it used, for people.
	Tells string
	// Cumulative says that the tokens in an answer are those of the session so
	// far, and not of the turn.
	Cumulative bool
	// Set lists variables that are added, in order; the last of a name counts.
	Set []Variable
	// Confined names the modes of a session, best first, in which the agent leaves
	// it to us to confine its commands. It is for an agent that we do confine: a
	// sandbox in a sandbox starts nothing.
	Confined []string
	// Missing is what the agent understands when it reads a file that does not
	// exist.
	Missing acp.MissingFile
	// TerminalShell says that the agent sends whole shell lines as terminal
	// commands, where the protocol has a program and its arguments.
	TerminalShell bool
	// ExitStatus says that the agent's word about a task is the exit status of a
	// program, and so evidence by itself.
	ExitStatus bool
}

// How an agent takes its model, beyond what package acp can do.
const (
	// Any tries what the agent offers: a configuration option, session/set_model,
	// then the environment. It is the zero value, for agents nobody described.
	Any acp.ModelChannel = ""
	// ConfigOption sets the session's configuration option Preset.Key.
	ConfigOption = acp.ChannelConfig
	// SetModel calls session/set_model.
	SetModel = acp.ChannelSetModel
	// Environment sets the variable Preset.Key when the agent starts.
	Environment = acp.ChannelEnv
	// NoModel is for agents that take none.
	NoModel acp.ModelChannel = "none"
)

// Channels returns the channels to try, in order: nil for whatever the agent offers,
// and an empty list for an agent that takes no model.
func (p Preset) Channels() []acp.ModelChannel {
	switch p.Channel {
	case Any:
		return nil
	case NoModel:
		return []acp.ModelChannel{}
	}
	return []acp.ModelChannel{p.Channel}
}

// Auth is a method of authenticate and the variable that it reads.
type Auth struct{ Variable, Method string }

// Variable is an environment variable that an agent is given.
type Variable struct {
	Name, Value string
	// OnlyRoot limits it to a ralph that runs as root.
	OnlyRoot bool
}

// Folder is where an agent keeps state: the value of the variable Env if that
// is set, else Default, and in it Sub. Default may begin with "~/".
type Folder struct{ Env, Default, Sub string }
