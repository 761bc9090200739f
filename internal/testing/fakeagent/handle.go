package fakeagent

import (
	"cmp"
	"encoding/json"
	"slices"
)

type object = map[string]any

// handle answers one message of the client. The handshake is answered in order;
// a prompt is answered by a goroutine of its own.
func (a *agent) handle(m incoming) {
	switch m.Method {
	case "initialize":
		a.at(m.Method)
		version := a.script.Protocol
		if version == 0 {
			version = 1
		}
		methods := []object{}
		for _, id := range a.script.AuthMethods {
			methods = append(methods, object{"id": id, "name": "Log in with " + id})
		}
		a.answer(m, object{
			"protocolVersion":   version,
			"agentCapabilities": a.capabilities(),
			"agentInfo":         object{"name": cmp.Or(a.script.Name, "fakeagent"), "version": "1"},
			"authMethods":       methods,
		})
	case "authenticate":
		a.at(m.Method)
		var p struct {
			MethodID string `json:"methodId"`
		}
		decode(m.Params, &p)
		if p.MethodID != a.script.AuthNeeded {
			a.refuse(m, -32000, "Authentication required", nil)
			return
		}
		a.authed = true
		a.answer(m, object{})
	case "session/new", "session/load", "session/resume":
		a.begin(m)
	case "session/set_model":
		var p struct {
			ModelID string `json:"modelId"`
		}
		decode(m.Params, &p)
		a.setModel(m, p.ModelID)
	case "session/set_config_option":
		var p struct {
			ConfigID string `json:"configId"`
			Value    string `json:"value"`
		}
		decode(m.Params, &p)
		if p.ConfigID == "mode" {
			a.setMode(m, p.Value, "config")
			return
		}
		a.setModel(m, p.Value)
	case "session/set_mode":
		var p struct {
			ModeID string `json:"modeId"`
		}
		decode(m.Params, &p)
		a.setMode(m, p.ModeID, "")
	case "session/cancel":
		a.mu.Lock()
		close(a.cancels)
		a.cancels = make(chan struct{})
		a.mu.Unlock()
		a.book.add(Entry{Event: "mark", Session: a.session, Name: "cancel"})
	case "session/prompt":
		a.mu.Lock()
		a.prompts++
		p := &play{agent: a, request: m, nth: a.prompts, cancelled: a.cancels}
		a.mu.Unlock()
		go p.run()
	default:
		if m.ID != nil {
			a.refuse(m, -32601, "Method not found", nil)
		}
	}
}

func (a *agent) capabilities() any {
	if len(a.script.Capabilities) > 0 {
		return a.script.Capabilities
	}
	return object{}
}

// begin begins a session, or goes on with one of an earlier process.
func (a *agent) begin(m incoming) {
	var p struct {
		SessionID  string          `json:"sessionId"`
		Cwd        string          `json:"cwd"`
		McpServers json.RawMessage `json:"mcpServers"`
	}
	decode(m.Params, &p)
	if p.SessionID != "" && !a.script.Forgets {
		a.session = p.SessionID
	}
	a.at(m.Method)
	switch isList := len(p.McpServers) > 0 && p.McpServers[0] == '['; {
	case a.script.AuthNeeded != "" && !a.authed:
		a.refuse(m, -32000, "Authentication required", nil)
		return
	case p.SessionID != "" && a.script.Forgets:
		a.refuse(m, -32002, "Resource not found", nil)
		return
	case !isList && m.Method != "session/resume":
		a.refuse(m, -32602, "mcpServers must be an array", nil)
		return
	case len(p.McpServers) > len("[]"):
		a.book.add(Entry{Event: "mark", Session: a.session, Name: "mcp", Text: string(p.McpServers)})
	}
	if p.SessionID != "" {
		a.book.add(Entry{Event: "mark", Session: a.session, Name: m.Method})
	}
	a.cwd = p.Cwd
	a.answer(m, a.newSession(p.SessionID == ""))
}

// newSession is what a session is like at its beginning.
func (a *agent) newSession(named bool) object {
	result := object{}
	if named {
		result["sessionId"] = a.session
	}
	a.model = a.script.ModelCurrent
	if a.model == "" && len(a.script.Models) > 0 {
		a.model = a.script.Models[0]
	}
	switch {
	case len(a.script.Models) == 0:
	case a.script.ModelStyle == "set_model":
		models := []object{}
		for _, id := range a.script.Models {
			models = append(models, object{"modelId": id, "name": id})
		}
		result["models"] = object{"availableModels": models, "currentModelId": a.model}
	default:
		result["configOptions"] = a.configOptions()
	}
	switch {
	case len(a.script.Modes) == 0:
	case a.script.ModeStyle == "config":
		options, _ := result["configOptions"].([]object)
		values := []object{}
		for _, id := range a.script.Modes {
			values = append(values, object{"value": id, "name": id})
		}
		result["configOptions"] = append(options, object{"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": a.script.Modes[0], "options": values})
	default:
		modes := []object{}
		for _, id := range a.script.Modes {
			modes = append(modes, object{"id": id, "name": id})
		}
		result["modes"] = object{"currentModeId": a.script.Modes[0], "availableModes": modes}
	}
	return result
}

func (a *agent) configOptions() []object {
	values := []object{}
	for _, id := range a.script.Models {
		values = append(values, object{"value": id, "name": id})
	}
	options := []object{{"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": a.model, "options": values}}
	if a.script.OddOption {
		options = append([]object{{"id": "odd", "name": "Odd", "type": "slider", "currentValue": 3}}, options...)
	}
	return options
}

func (a *agent) setModel(m incoming, model string) {
	style := a.script.ModelStyle
	if len(a.script.Models) == 0 || (m.Method == "session/set_model") != (style == "set_model") {
		a.refuse(m, -32601, "Method not found", nil)
		return
	}
	if !slices.Contains(a.script.Models, model) {
		a.refuse(m, -32602, "Invalid params", nil)
		return
	}
	a.model = model
	a.book.add(Entry{Event: "mark", Session: a.session, Name: "model", Text: model})
	if style == "set_model" {
		a.answer(m, object{})
		return
	}
	a.answer(m, object{"configOptions": a.configOptions()})
}

func (a *agent) setMode(m incoming, mode, style string) {
	if a.script.ModeStyle != style || !slices.Contains(a.script.Modes, mode) {
		a.refuse(m, -32602, "Invalid params", nil)
		return
	}
	a.book.add(Entry{Event: "mark", Session: a.session, Name: "mode", Text: mode})
	a.answer(m, object{})
}

// at does the steps of a point of the handshake.
func (a *agent) at(point string) {
	(&play{agent: a, cancelled: a.cancels}).steps(a.script.At[point])
}

func (a *agent) answer(m incoming, result any) {
	a.wire.send(message{ID: m.ID, Result: result})
}

func (a *agent) refuse(m incoming, code int, text string, data json.RawMessage) {
	a.wire.send(message{ID: m.ID, Error: &rpcError{Code: code, Message: text, Data: data}})
}
