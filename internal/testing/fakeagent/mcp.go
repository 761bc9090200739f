package fakeagent

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// server is an MCP server of a session that is a command.
type server struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
}

// call starts the server ID, or ralph's own, and calls its tool Method with the arguments Params, N times if that is set. With Env, those
// variables are the server's instead. The text of the last answer is for {{last}}.
func (p *play) call(s Step) {
	i := slices.IndexFunc(p.servers, func(known server) bool { return known.Name == "ralph" || known.Name == s.ID })
	if i < 0 {
		p.result("mcp "+s.Method, incoming{Error: &rpcError{Message: "no such server"}})
		return
	}
	it := p.servers[i]
	cmd := exec.Command(it.Command, it.Args...)
	cmd.Env = os.Environ()
	for _, v := range it.Env {
		value := v.Value
		if other, is := s.Env[v.Name]; is {
			value = p.expand(other)
		}
		cmd.Env = append(cmd.Env, v.Name+"="+value)
	}
	var problem strings.Builder
	cmd.Stderr = &problem
	in, err := cmd.StdinPipe()
	must(err)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	lines := bufio.NewReader(out)
	send := func(m object) {
		m["jsonrpc"] = "2.0"
		raw, err := json.Marshal(m)
		must(err)
		_, _ = in.Write(append(raw, '\n')) // a server that is gone answers nothing
	}
	answer := func(id int) (m incoming) {
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return incoming{Error: &rpcError{Message: "the server is gone: " + strings.TrimSpace(problem.String())}}
			}
			var answered struct{ ID *int }
			decode(line, &answered)
			if answered.ID != nil && *answered.ID == id {
				decode(line, &m)
				return m
			}
		}
	}
	send(object{"id": 0, "method": "initialize", "params": object{
		"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "fakeagent", "version": "1"},
	}})
	got := answer(0)
	send(object{"method": "notifications/initialized"})
	for id := 1; id <= max(s.N, 1); id++ {
		if s.Text != "" { // anything at all instead of a message
			_, _ = in.Write([]byte(s.Text + "\n"))
		}
		params := s.Params
		if params == nil {
			params = json.RawMessage("{}")
		}
		send(object{"id": id, "method": "tools/call", "params": object{"name": s.Method, "arguments": json.RawMessage(p.expand(string(params)))}})
	}
	if got.Error == nil {
		got = answer(max(s.N, 1))
	}
	_ = in.Close()
	_ = cmd.Wait()
	var result struct{ Content []struct{ Text string } }
	if got.Error == nil {
		decode(got.Result, &result)
	}
	p.result("mcp "+s.Method, got)
	if len(result.Content) > 0 {
		p.last = result.Content[0].Text
	}
}
