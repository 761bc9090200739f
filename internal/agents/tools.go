package agents

import (
	"slices"

	"ralph/acp"
	"ralph/internal/mcp"
	"ralph/internal/proc"
	"ralph/internal/sandbox"
)

// toolServer is how ralph's own tools are called among the servers of a session.
const toolServer = "ralph"

// listen makes the socket through which an agent calls ralph's tools, and lets it out of the sandbox. It is made before
// the agent is, and answers from when the session has its task. A verifier only looks and gets none. Who cannot be
// given tools works without.
func (o *Opener) listen(s *Session, r SessionSpec, process *sandbox.Process) {
	if len(o.ToolFolders) == 0 || r.Verifier || s.preset.NoTools || r.Tools == nil && !r.early {
		return
	}
	tools, err := mcp.Listen(o.ToolFolders...)
	if err != nil {
		if r.Observe != nil {
			r.Observe(acp.Warned{Text: "the agent works without ralph's tools: " + err.Error()})
		}
		return
	}
	tools.Foreign = func(pid int) bool { return proc.Foreign(r.Run.Owner, pid) } // of an agent that waits, it is who it is started for
	s.tools = tools
	process.Write = append(slices.Clip(process.Write), s.tools.Socket())
	process.Argv = append(slices.Clip(process.Argv), o.Self) // the agent starts it
}

// servers are the MCP servers of a session: the configured ones, and ralph itself.
func (o *Opener) servers(s *Session, r SessionSpec) []acp.MCPServer {
	if s.tools == nil || r.Tools == nil {
		return o.Servers
	}
	others := slices.DeleteFunc(slices.Clone(o.Servers), func(m acp.MCPServer) bool { return m.Name == toolServer })
	return append(others, acp.MCPServer{
		Name: toolServer, Type: "stdio", Command: o.Self, Args: []string{"mcp"},
		Env: map[string]string{mcp.SocketVariable: s.tools.Socket(), mcp.TokenVariable: s.tools.Token()},
	})
}

// closeTools ends the connections and removes the socket. Doing so again does nothing.
func (s *Session) closeTools() error {
	if s.tools == nil {
		return nil
	}
	tools := s.tools
	s.tools = nil
	s.redact.Remove(tools.Token()) // it opens nothing any more, and a run may have thousands
	return tools.Close()
}
