package fakeagent

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// perform does one step.
func (p *play) perform(s Step) {
	switch s.Do {
	case "say": // Text as message, in chunks of Chunk bytes
		p.chunks("agent_message_chunk", s)
	case "think":
		p.chunks("agent_thought_chunk", s)
	case "tool": // announce a tool call with input Params and, with a Status, end it with output Data
		p.tool(s)
	case "tool_update": // an update alone, announced or not
		p.update(object{"sessionUpdate": "tool_call_update", "toolCallId": s.ID, "status": s.Status})
	case "plan":
		p.update(object{"sessionUpdate": "plan", "entries": []object{{"content": s.Text, "priority": "medium", "status": "pending"}}})
	case "usage": // N tokens of context used, Cost so far in Text (USD)
		u := object{"sessionUpdate": "usage_update", "used": s.N, "size": 200000}
		if s.Cost != nil {
			u["cost"] = object{"amount": *s.Cost, "currency": cmp.Or(s.Text, "USD")}
		}
		p.update(u)
	case "read":
		params := object{"sessionId": p.session, "path": p.path(s.Path)}
		if s.Line > 0 {
			params["line"] = s.Line
		}
		if s.Limit > 0 {
			params["limit"] = s.Limit
		}
		p.result("read "+s.Path, p.wire.call("fs/read_text_file", params))
	case "write":
		p.result("write "+s.Path, p.wire.call("fs/write_text_file",
			object{"sessionId": p.session, "path": p.path(s.Path), "content": s.Text}))
	case "terminal": // run Argv to its end in Path
		p.terminal(s)
	case "terminal_start": // and leave it running
		p.result("terminal_start", p.wire.call("terminal/create", p.terminalParams(s)))
	case "permission": // for the call ID with title Text, input Params and Paths
		call := object{"toolCallId": cmp.Or(s.ID, "perm"), "title": s.Text, "kind": s.Kind}
		if s.Params != nil {
			call["rawInput"] = s.Params
		}
		for _, path := range s.Paths {
			locations, _ := call["locations"].([]object)
			call["locations"] = append(locations, object{"path": p.path(path)})
		}
		p.result("permission", p.wire.call("session/request_permission", object{"sessionId": p.session, "toolCall": call, "options": s.Options}))
	case "request": // any method with any Params, waiting for the answer
		p.result(s.Method, p.wire.call(s.Method, s.Params))
	case "file": // written directly, not through the client
		must(os.MkdirAll(filepath.Dir(p.path(s.Path)), 0o755))
		must(os.WriteFile(p.path(s.Path), []byte(s.Text), 0o644))
	case "keep": // the prompt, in the file Path
		must(os.WriteFile(p.path(s.Path), []byte(p.prompt.text), 0o644))
	case "commit": // everything, with message Text
		p.git("add", "-A")
		p.git("-c", "user.name=fake", "-c", "user.email=fake@localhost", "commit", "-qm", s.Text)
	case "run": // Argv as a process of the agent's own, which reads the prompt; what it says and its exit status are for {{last}}
		cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
		cmd.Dir, cmd.Stdin = p.path("."), strings.NewReader(p.prompt.text)
		out, err := cmd.CombinedOutput()
		p.last = string(out)
		if err != nil {
			p.last += err.Error()
		}
		p.book.add(Entry{Event: "result", Session: p.session, Task: p.prompt.task, Name: "run", Text: p.last})
	case "mcp": // call a tool of an MCP server
		p.call(s)
	case "stderr": // Text, N times; -1 is for ever
		for i := 0; i == 0 || i < s.N || s.N < 0; i++ {
			_, _ = os.Stderr.WriteString(s.Text)
		}
	case "mark": // an entry in the ledger
		p.book.add(Entry{Event: "mark", Session: p.session, Task: p.prompt.task, Name: s.Text})
	case "await": // until the file Path exists, here, in the project of this slot, or in the ledger
		for !exists(p.path(s.Path)) && !exists(filepath.Join(os.Getenv("RALPH_PROJECT"), s.Path)) && !exists(filepath.Join(p.book.dir, s.Path)) {
			time.Sleep(5 * time.Millisecond)
		}
	case "fork": // processes of the kinds in Argv: child, session, daemon
		p.fork(s)
	case "stop": // answer the prompt with stop reason Text; Data is merged in
		p.stop(s.Text, s.Data)
	case "error": // answer the prompt with an error
		p.ended = true
		p.refuse(p.request, s.Code, s.Text, s.Data)
	case "exit":
		p.wire.flush()
		os.Exit(s.Code)
	default:
		p.misbehave(s)
	}
}

func (p *play) chunks(kind string, s Step) {
	for piece := range slices.Chunk([]byte(s.Text), cmp.Or(s.Chunk, len(s.Text), 1)) {
		update := object{"sessionUpdate": kind, "content": object{"type": "text", "text": string(piece)}}
		if s.ID != "" {
			update["messageId"] = s.ID
		}
		p.update(update)
	}
}

func (p *play) tool(s Step) {
	if s.ID == "" {
		s.ID = "call-" + s.Text
	}
	locations := []object{}
	for _, path := range s.Paths {
		locations = append(locations, object{"path": p.path(path)})
	}
	call := object{"sessionUpdate": "tool_call", "toolCallId": s.ID, "title": s.Text, "kind": s.Kind, "status": "pending", "locations": locations}
	if s.Params != nil {
		call["rawInput"] = s.Params
	}
	p.update(call)
	if s.Status != "" {
		content := []object{}
		if s.Path != "" {
			content = append(content, object{"type": "diff", "path": p.path(s.Path), "newText": "new", "oldText": "old"})
		}
		if s.Status == "failed" {
			content = append(content, object{"type": "content", "content": object{"type": "text", "text": "it broke\nhere"}})
		}
		end := object{"sessionUpdate": "tool_call_update", "toolCallId": s.ID, "status": s.Status, "content": content}
		if s.Data != nil {
			end["rawOutput"] = s.Data
		}
		p.update(end)
	}
}

func (p *play) terminalParams(s Step) object {
	env := []object{}
	for name, value := range s.Env {
		env = append(env, object{"name": name, "value": value})
	}
	params := object{"sessionId": p.session, "command": s.Argv[0], "args": s.Argv[1:], "env": env}
	if s.Path != "" {
		params["cwd"] = p.path(s.Path)
	}
	if s.Limit > 0 {
		params["outputByteLimit"] = s.Limit
	}
	return params
}

func (p *play) terminal(s Step) {
	created := p.wire.call("terminal/create", p.terminalParams(s))
	if created.Error != nil {
		p.result("terminal", created)
		return
	}
	id := object{"sessionId": p.session, "terminalId": field(created.Result, "terminalId")}
	p.result("terminal exit", p.wire.call("terminal/wait_for_exit", id))
	p.result("terminal output", p.wire.call("terminal/output", id))
	p.wire.call("terminal/release", id)
	p.last = field([]byte(p.last), "output")
}

// path is below the session's folder unless it is absolute.
func (p *play) path(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return p.cwd + "/" + path // not cleaned: dots are for the client to resolve
}

func (p *play) git(args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir = p.cwd
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "fakeagent: git %v: %v\n%s", args, err, out)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		os.Exit(2)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
