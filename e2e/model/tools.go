package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// call is a tool call in the agent's own terms.
type call struct {
	name string
	args map[string]any
}

// toolCall finds the tool that does what the answer wants. Agents differ in the
// names of tools and of their parameters; their schemas say which are theirs.
func toolCall(a Answer, tools []tool) (*call, error) {
	switch {
	case a.Write != nil:
		if c := fill(tools, []string{"write", "write_file", "create", "mcp__acp__write"}, map[string]string{"file_path": a.Write.Path, "filepath": a.Write.Path, "path": a.Write.Path, "content": a.Write.Content, "file_text": a.Write.Content}); c != nil {
			return c, nil
		}
		return shell(tools, "cat > '"+a.Write.Path+"' <<'END-OF-FILE'\n"+a.Write.Content+"\nEND-OF-FILE")
	case a.Shell != "":
		return shell(tools, a.Shell)
	case a.Plan:
		if c := plan(tools); c != nil {
			return c, nil
		}
		return shell(tools, "true")
	}
	return nil, nil
}

// plan ticks off the one thing on the agent's list, or is nil if it keeps none.
func plan(tools []tool) *call {
	i := slices.IndexFunc(tools, func(t tool) bool {
		return slices.Contains([]string{"todowrite", "todo_write", "update_plan", "write_todos", "write_tasks", "todolist", "settodolist"}, strings.ToLower(t.name))
	})
	if i < 0 {
		return nil
	}
	args := tools[i].schema.fill(nil)
	for name, p := range tools[i].schema.Properties {
		if p.Items != nil && len(p.Items.Properties) > 0 {
			args[name] = []any{p.Items.fill(map[string]string{
				"content": "Do it", "step": "Do it", "title": "Do it", "description": "Do it", "activeform": "Doing it",
				"status": "completed", "priority": "high", "id": "1",
			})}
		}
	}
	return &call{name: tools[i].name, args: args}
}

func shell(tools []tool, command string) (*call, error) {
	c := fill(tools, []string{"bash", "exec_command", "shell_command", "shell", "run_shell_command", "execute_bash", "mcp__acp__bash"}, map[string]string{"command": command, "cmd": command})
	if c == nil {
		var names []string
		for _, t := range tools {
			names = append(names, t.name)
		}
		return nil, fmt.Errorf("no tool runs a command; there are: %s", strings.Join(names, ", "))
	}
	return c, nil
}

// fill is the first of these tools with its parameters: those that are known by
// name, and something harmless for the others that it requires.
func fill(tools []tool, names []string, values map[string]string) *call {
	i := slices.IndexFunc(tools, func(t tool) bool { return slices.Contains(names, strings.ToLower(t.name)) })
	if i < 0 {
		return nil
	}
	return &call{name: tools[i].name, args: tools[i].schema.fill(values)}
}

// fill makes what a schema wants.
func (s schema) fill(values map[string]string) map[string]any {
	out := map[string]any{}
	for name, p := range s.Properties {
		var kind string
		_ = json.Unmarshal(p.Type, &kind) // a list of types is none that is known
		kind = strings.ToLower(kind)
		value, known := values[strings.ToLower(name)]
		switch required := slices.Contains(s.Required, name); {
		case known && kind == "array":
			out[name] = []string{"sh", "-c", value}
		case known:
			out[name] = value
		case !required:
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
