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
		methods := []object{}
		for _, id := range a.script.AuthMethods {
			methods = append(methods, object{"id": id, "name": "Log in with " + id})
		}
		var capabilities any = object{}
		if len(a.script.Capabilities) > 0 {
			capabilities = a.script.Capabilities
		}
		a.answer(m, object{
			"protocolVersion":   cmp.Or(a.script.Protocol, 1),
			"agentCapabilities": capabilities,
			"agentInfo":         object{"name": cmp.Or(a.script.Name, "fakeagent"), "version": "1"},
			"authMethods":       methods,
		})
	case "authenticate":
		a.at(m.Method)
		if field(m.Params, "methodId") != a.script.AuthNeeded {
			a.refuse(m, -32000, "Authentication required", nil)
			return
		}
		a.authed = true
		a.answer(m, object{})
	case "session/new", "session/load", "session/resume":
		a.begin(m)
	case "session/set_model":
		a.set(m, "model", field(m.Params, "modelId"), a.script.Models, a.script.ModelStyle == "set_model")
	case "session/set_mode":
		a.set(m, "mode", field(m.Params, "modeId"), a.script.Modes, a.script.ModeStyle == "")
	case "session/set_config_option":
		switch value := field(m.Params, "value"); field(m.Params, "configId") {
		case "mode":
			a.set(m, "mode", value, a.script.Modes, a.script.ModeStyle == "config")
		case cmp.Or(a.script.EffortOption, "effort"):
			a.set(m, "effort", value, a.script.Efforts, true)
		default:
			a.set(m, "model", value, a.script.Models, a.script.ModelStyle != "set_model")
		}
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

// begin begins a session, or continues one of an earlier process.
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
	_ = json.Unmarshal(p.McpServers, &a.servers) // only those that are commands are used
	a.answer(m, a.newSession(p.SessionID == ""))
}

// newSession is what a session is like at its beginning.
func (a *agent) newSession(named bool) object {
	models, modes := a.script.Models, a.script.Modes
	a.current = map[string]string{"model": cmp.Or(a.script.ModelCurrent, cmp.Or(models...)), "mode": cmp.Or(modes...), "effort": cmp.Or(a.script.Efforts...)}
	result := object{"configOptions": a.configOptions()}
	if named {
		result["sessionId"] = a.session
	}
	if len(models) > 0 && a.script.ModelStyle == "set_model" {
		result["models"] = object{"availableModels": listed("modelId", models), "currentModelId": a.current["model"]}
	}
	if len(modes) > 0 && a.script.ModeStyle != "config" {
		result["modes"] = object{"availableModes": listed("id", modes), "currentModeId": a.current["mode"]}
	}
	return result
}

// listed lists things by their IDs, which are their names, too.
func listed(key string, ids []string) []object {
	list := []object{}
	for _, id := range ids {
		list = append(list, object{key: id, "name": id})
	}
	return list
}

func (a *agent) configOptions() []object {
	options := []object{}
	add := func(id string, values []string) {
		option, category := id, id
		if id == "effort" {
			option, category = cmp.Or(a.script.EffortOption, id), "thought_level"
		}
		options = append(options, object{
			"id": option, "name": id, "category": category, "type": "select", "currentValue": a.current[id], "options": listed("value", values),
		})
	}
	if a.script.OddOption {
		options = append(options, object{"id": "odd", "name": "Odd", "type": "slider", "currentValue": 3})
	}
	if len(a.script.Models) > 0 && a.script.ModelStyle != "set_model" {
		add("model", a.script.Models)
	}
	if len(a.script.Modes) > 0 && a.script.ModeStyle == "config" {
		add("mode", a.script.Modes)
	}
	if only := a.script.EffortModel; len(a.script.Efforts) > 0 && (only == "" || only == a.current["model"]) {
		add("effort", a.script.Efforts)
	}
	return options
}

// set changes the model, the mode or the effort, if the client may do so in this way.
func (a *agent) set(m incoming, what, value string, offered []string, way bool) {
	switch {
	case !way || len(offered) == 0:
		a.refuse(m, -32601, "Method not found", nil)
		return
	case !slices.Contains(offered, value):
		a.refuse(m, -32602, "Invalid params", nil)
		return
	}
	a.book.add(Entry{Event: "mark", Session: a.session, Name: what, Text: value})
	a.current[what] = value
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
