package fakeagent

import (
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
			"agentCapabilities": object{},
			"agentInfo":         object{"name": "fakeagent", "version": "1"},
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
	case "session/new":
		a.newSession(m)
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
		a.setModel(m, p.Value)
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

func (a *agent) newSession(m incoming) {
	a.at(m.Method)
	if a.script.AuthNeeded != "" && !a.authed {
		a.refuse(m, -32000, "Authentication required", nil)
		return
	}
	var p struct {
		Cwd        string          `json:"cwd"`
		McpServers json.RawMessage `json:"mcpServers"`
	}
	decode(m.Params, &p)
	if string(p.McpServers) != "[]" {
		a.refuse(m, -32602, "mcpServers must be an array", nil)
		return
	}
	a.cwd = p.Cwd
	result := object{"sessionId": a.session}
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
	a.answer(m, result)
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
