package acp

import (
	"maps"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

// MCPServer is a server of tools for the agent: a command, or an address.
type MCPServer struct {
	Name    string
	Type    string // stdio, http or sse
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// mcpServers are those that the agent can use; the others are reported as missing.
// It is never nil, which would be sent as null.
func (s *Session) mcpServers() []sdk.McpServer {
	can := s.about.Capabilities
	servers := []sdk.McpServer{}
	for _, m := range s.cfg.MCP {
		switch {
		case m.Type == "stdio":
			servers = append(servers, sdk.McpServer{Stdio: &sdk.McpServerStdio{Name: m.Name, Command: m.Command, Args: slices.Concat([]string{}, m.Args), Env: variables(m.Env)}})
		case m.Type == "http" && can.MCPHTTP:
			servers = append(servers, sdk.McpServer{Http: &sdk.McpServerHttpInline{Type: m.Type, Name: m.Name, Url: m.URL, Headers: headers(m.Headers)}})
		case m.Type == "sse" && can.MCPSSE:
			servers = append(servers, sdk.McpServer{Sse: &sdk.McpServerSseInline{Type: m.Type, Name: m.Name, Url: m.URL, Headers: headers(m.Headers)}})
		default:
			s.observer.push(Warned{Text: "the agent cannot use the MCP server " + m.Name + ": it does not speak MCP over " + m.Type})
		}
	}
	return servers
}

// pairs lists values by name, never as nil, which would be sent as null.
func pairs[T any](values map[string]string, pair func(name, value string) T) []T {
	list := []T{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, pair(name, values[name]))
	}
	return list
}

func variables(values map[string]string) []sdk.EnvVariable {
	return pairs(values, func(name, value string) sdk.EnvVariable { return sdk.EnvVariable{Name: name, Value: value} })
}

func headers(values map[string]string) []sdk.HttpHeader {
	return pairs(values, func(name, value string) sdk.HttpHeader { return sdk.HttpHeader{Name: name, Value: value} })
}
