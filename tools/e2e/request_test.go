package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// request is a request of any provider: each has some of the fields.
type request struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []item `json:"messages"` // Anthropic Messages, OpenAI Chat Completions
	Input    []item `json:"input"`    // OpenAI Responses
	Contents []item `json:"contents"` // Google's generateContent
	Tools    []tool `json:"tools"`
	Config   struct {
		Form schema `json:"responseJsonSchema"` // that the answer is to have, if it has properties
	} `json:"generationConfig"`

	messages []message
	tools    []tool
}

type item struct {
	Type    string            `json:"type"`
	Role    string            `json:"role"`
	Content json.RawMessage   `json:"content"`
	Parts   json.RawMessage   `json:"parts"`
	Output  json.RawMessage   `json:"output"`
	Calls   []json.RawMessage `json:"tool_calls"`
}

// tool is a tool that the agent offers.
type tool struct {
	Name       string `json:"name"`
	Schema     schema `json:"input_schema"`
	JSONSchema schema `json:"parametersJsonSchema"`
	Parameters schema `json:"parameters"`
	Function   *tool  `json:"function"`
	Functions  []tool `json:"functionDeclarations"`
	Members    []tool `json:"tools"` // of a namespace
	namespace  string
}

type schema struct {
	Properties map[string]struct {
		Type  json.RawMessage `json:"type"`
		Items *schema         `json:"items"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// message is what the protocols have in common.
type message struct {
	role  string // user, tool, or another
	text  string
	calls int // tool calls in it
}

func parse(body []byte) (request, error) {
	var r request
	err := json.Unmarshal(body, &r)
	for _, i := range slices.Concat(r.Messages, r.Input, r.Contents) {
		r.messages = append(r.messages, i.split()...)
	}
	for _, t := range r.Tools {
		if t.Function != nil {
			t = *t.Function
		}
		for _, m := range t.Members {
			m.namespace = t.Name
			t.Functions = append(t.Functions, m)
		}
		for _, t := range append(t.Functions, t) {
			for _, other := range []schema{t.JSONSchema, t.Parameters} {
				if t.Schema.Properties == nil {
					t.Schema = other
				}
			}
			if t.Name != "" {
				r.tools = append(r.tools, t)
			}
		}
	}
	return r, err
}

// split takes the results of tools out of what the user says.
func (i item) split() []message {
	switch {
	case strings.HasSuffix(i.Type, "call_output"):
		return []message{{role: "tool", text: text(i.Output)}}
	case strings.HasSuffix(i.Type, "call"):
		return []message{{role: "assistant", calls: 1}}
	case i.Type != "message" && i.Type != "":
		return nil
	}
	content := slices.Concat(i.Content, i.Parts) // there is but one of them
	said := message{role: i.Role, text: text(content), calls: len(i.Calls)}
	var list []message
	var blocks []struct {
		Type     string          `json:"type"`
		Content  json.RawMessage `json:"content"`
		Call     json.RawMessage `json:"functionCall"`
		Response *struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	}
	_ = json.Unmarshal(content, &blocks) // a string has none
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use", b.Call != nil:
			said.calls++
		case b.Type == "tool_result":
			list = append(list, message{role: "tool", text: text(b.Content)})
		case b.Response != nil:
			list = append(list, message{role: "tool", text: string(b.Response.Response)})
		}
	}
	return append(list, said)
}

// text joins whatever text there is in a content, which may be a string, a block,
// or a list of blocks.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) == nil {
		var parts []string
		for _, b := range blocks {
			parts = append(parts, text(b))
		}
		return strings.Join(parts, "\n")
	}
	var block struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &block) // another kind of block has no text
	return block.Text
}

var (
	taskID   = regexp.MustCompile(`t-[0-9a-f]{8}`)
	assigned = regexp.MustCompile(`(?m)^(?:## )?Assigned Task[\s\S]*?(t-[0-9a-f]{8})`) // what is quoted begins with >
)

// isOurs says whether a text is ralph's, and not one of those that agents add.
func isOurs(text string) bool {
	return taskID.MatchString(text) || strings.Contains(text, "# Ralph: ")
}

// prompt finds what is asked: the last thing a user said that is ralph's, and
// failing that the last thing a user said.
func (r request) prompt() Prompt {
	at := -1
	for i, m := range r.messages {
		if m.role != "user" || strings.TrimSpace(m.text) == "" {
			continue
		}
		if at < 0 || isOurs(m.text) || !isOurs(r.messages[at].text) {
			at = i
		}
	}
	p := Prompt{Kind: Other, Model: r.Model}
	if len(r.Tools) == 0 {
		p.Kind = Side
	}
	if at < 0 {
		return p
	}
	p.Text = r.messages[at].text
	if m := assigned.FindStringSubmatch(p.Text); m != nil {
		p.Task = m[1]
	}
	switch {
	case p.Kind == Side || p.Task == "":
	case strings.Contains(p.Text, "# Ralph: verification\n"):
		p.Kind = Verify
	case strings.Contains(p.Text, "# Ralph\n"):
		p.Kind = Work
	}
	for _, m := range r.messages[at+1:] {
		p.Turn += m.calls
		if m.role == "tool" {
			p.Tool = m.text
		}
	}
	return p
}

// call is a tool call in the agent's own terms.
type call struct {
	namespace, name string
	args            object
	raw             string // what the model writes in place of the arguments
}

// written is what the model writes for the arguments.
func (c *call) written() string {
	if c.raw != "" {
		return c.raw
	}
	return encode(c.args)
}

// toolCall finds the tool that does what the answer wants. Agents differ in the
// names of tools and of their parameters; their schemas say which are theirs.
func toolCall(a Answer, tools []tool) (*call, error) {
	find := func(names ...string) *tool {
		if i := slices.IndexFunc(tools, func(t tool) bool { return slices.Contains(names, strings.ToLower(t.Name)) }); i >= 0 {
			return &tools[i]
		}
		return nil
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	command := a.Shell
	switch {
	case a.Raw != nil:
		return &call{name: a.Raw.Name, args: object{}, raw: a.Raw.Args}, nil
	case a.Own != nil:
		own := regexp.MustCompile(`ralph.*[^a-z]` + a.Own.Name + `$`) // agents put the name of the server before it, each in its own way
		for _, t := range tools {
			if own.MatchString(t.namespace + " " + t.Name) {
				return &call{namespace: t.namespace, name: t.Name, args: a.Own.Args}, nil
			}
		}
		if t := find("tool_call"); t != nil { // by which an agent calls those that it does not offer from the start
			return &call{name: t.Name, args: object{"name": "mcp__ralph__" + a.Own.Name, "arguments": a.Own.Args}}, nil
		}
		return nil, fmt.Errorf("no tool is ralph's %s; there are: %s", a.Own.Name, strings.Join(names, ", "))
	case a.Write != nil:
		path, content := a.Write.Path, a.Write.Content
		if t := find("write", "write_file", "create", "mcp__acp__write"); t != nil {
			return &call{name: t.Name, args: t.Schema.fill(map[string]string{
				"file_path": path, "filepath": path, "path": path, "content": content, "file_text": content,
			})}, nil
		}
		command = "cat > '" + path + "' <<'END-OF-FILE'\n" + content + "\nEND-OF-FILE"
		if find("apply_patch") != nil { // which a command does, too
			lines := "+" + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+")
			command = "apply_patch <<'END-OF-PATCH'\n*** Begin Patch\n*** Add File: " + path + "\n" + lines + "\n*** End Patch\nEND-OF-PATCH"
		}
	case a.Plan:
		if t := find("todowrite", "todo_write", "update_plan", "write_todos", "write_tasks", "todolist", "settodolist"); t != nil {
			return &call{name: t.Name, args: t.Schema.tickedOff()}, nil
		}
		command = "true"
	case command == "":
		return nil, nil
	}
	if t := find("bash", "exec_command", "shell_command", "shell", "run_shell_command", "execute_bash", "mcp__acp__bash"); t != nil {
		return &call{name: t.Name, args: t.Schema.fill(map[string]string{"command": command, "cmd": command})}, nil
	}
	return nil, fmt.Errorf("no tool runs a command; there are: %s", strings.Join(names, ", "))
}

// tickedOff is a to-do list whose one item is done.
func (s schema) tickedOff() object {
	args := s.fill(nil)
	for name, p := range s.Properties {
		if p.Items != nil && len(p.Items.Properties) > 0 {
			args[name] = []any{p.Items.fill(map[string]string{
				"content": "Do it", "step": "Do it", "title": "Do it", "description": "Do it", "activeform": "Doing it",
				"status": "completed", "priority": "high", "id": "1",
			})}
		}
	}
	return args
}

// fill gives a schema its properties: those that are known by name, and something
// harmless for the others that it requires.
func (s schema) fill(values map[string]string) object {
	out := object{}
	for name, p := range s.Properties {
		var kind string
		_ = json.Unmarshal(p.Type, &kind) // a list of types is none that is known
		kind = strings.ToLower(kind)
		value, known := values[strings.ToLower(name)]
		switch {
		case known && kind == "array":
			out[name] = []string{"sh", "-c", value}
		case known:
			out[name] = value
		case !slices.Contains(s.Required, name):
		case kind == "boolean":
			out[name] = false
		case kind == "number", kind == "integer":
			out[name] = 1
		default:
			out[name] = "as the task says"
		}
	}
	return out
}
