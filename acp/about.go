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
	Agent        Agent        `json:"agentInfo"`
	Capabilities Capabilities `json:"agentCapabilities"`
	Methods      []AuthMethod `json:"authMethods"` // ways to log in
	Mode         string       `json:"-"`           // that the session is in
	Modes        []string     `json:"-"`           // that it could be in
	Resumed      bool         `json:"-"`           // the session is the earlier one
}

// Capabilities are what an agent says that it can do.
type Capabilities struct {
	Load    bool                                         `json:"loadSession"` // sessions of earlier processes, with a replay
	Session struct{ Resume json.RawMessage }             `json:"sessionCapabilities"`
	Prompt  struct{ Image, Audio, EmbeddedContext bool } `json:"promptCapabilities"`
	MCP     struct{ HTTP, SSE bool }                     `json:"mcpCapabilities"`
}

// Resume says that it can go on with sessions of earlier processes without a replay.
func (c Capabilities) Resume() bool {
	return given(c.Session.Resume) && string(c.Session.Resume) != "false"
}

// Words lists the capabilities for people.
func (c Capabilities) Words() []string {
	words := []string{}
	for _, w := range []struct {
		can  bool
		word string
	}{
		{c.Load, "load sessions"},
		{c.Resume(), "resume sessions"},
		{c.Prompt.Image, "images"},
		{c.Prompt.Audio, "audio"},
		{c.Prompt.EmbeddedContext, "embedded context"},
		{c.MCP.HTTP, "MCP over HTTP"},
		{c.MCP.SSE, "MCP over SSE"},
	} {
		if w.can {
			words = append(words, w.word)
		}
	}
	return words
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
