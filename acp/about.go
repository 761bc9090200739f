package acp

import (
	"encoding/json"
	"strings"
)

// Agent is the name of an agent, as it says it.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (a Agent) String() string { return strings.TrimSpace(a.Name + " " + a.Version) }

// About is what an agent says about itself and its session.
type About struct {
	Agent        Agent
	Capabilities Capabilities
	Methods      []AuthMethod // ways to log in
	Mode         string       // that the session is in
	Modes        []string     // that it could be in
	Resumed      bool         // the session is the earlier one
}

// Capabilities are what an agent says that it can do.
type Capabilities struct {
	Load            bool // sessions of earlier processes, with a replay
	Resume          bool // the same without one
	Image           bool
	Audio           bool
	EmbeddedContext bool
	MCPHTTP         bool
	MCPSSE          bool
}

// Words lists the capabilities for people.
func (c Capabilities) Words() []string {
	words := []string{}
	for _, w := range []struct {
		can  bool
		word string
	}{
		{c.Load, "load sessions"},
		{c.Resume, "resume sessions"},
		{c.Image, "images"},
		{c.Audio, "audio"},
		{c.EmbeddedContext, "embedded context"},
		{c.MCPHTTP, "MCP over HTTP"},
		{c.MCPSSE, "MCP over SSE"},
	} {
		if w.can {
			words = append(words, w.word)
		}
	}
	return words
}

func aboutAgent(raw json.RawMessage) About {
	var a struct {
		Agent        Agent        `json:"agentInfo"`
		Methods      []AuthMethod `json:"authMethods"`
		Capabilities struct {
			Load   bool `json:"loadSession"`
			Prompt struct {
				Image           bool `json:"image"`
				Audio           bool `json:"audio"`
				EmbeddedContext bool `json:"embeddedContext"`
			} `json:"promptCapabilities"`
			MCP struct {
				HTTP bool `json:"http"`
				SSE  bool `json:"sse"`
			} `json:"mcpCapabilities"`
			Session struct {
				Resume json.RawMessage `json:"resume"`
			} `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
	}
	lenient(raw, &a)
	c := a.Capabilities
	return About{Agent: a.Agent, Methods: a.Methods, Capabilities: Capabilities{
		Load: c.Load, Resume: given(c.Session.Resume) && string(c.Session.Resume) != "false",
		Image: c.Prompt.Image, Audio: c.Prompt.Audio, EmbeddedContext: c.Prompt.EmbeddedContext,
		MCPHTTP: c.MCP.HTTP, MCPSSE: c.MCP.SSE,
	}}
}

// readModes reads the modes out of the answer to session/new: the field of the
// protocol, or the option, whose name it returns, that some agents have instead.
func (a *About) readModes(raw json.RawMessage) (option string) {
	var answer struct {
		Modes struct {
			Current   string `json:"currentModeId"`
			Available []struct {
				ID string `json:"id"`
			} `json:"availableModes"`
		} `json:"modes"`
		ConfigOptions []json.RawMessage `json:"configOptions"`
	}
	lenient(raw, &answer)
	a.Mode = answer.Modes.Current
	for _, m := range answer.Modes.Available {
		a.Modes = append(a.Modes, m.ID)
	}
	if list := findOption(answer.ConfigOptions, "mode"); list != nil && len(a.Modes) == 0 {
		a.Mode, a.Modes, option = list.current, list.ids, list.option
	}
	return option
}
