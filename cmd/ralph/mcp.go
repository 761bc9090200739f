package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"ralph/acp"
	"ralph/internal/project"
)

// mcpServer is a configured server with the values in it that no log may show.
type mcpServer struct {
	acp.MCPServer
	hidden []string
}

// mcpServers reads the servers of the configuration. A command must be there,
// and so must every variable that a value is made of.
func (a *app) mcpServers(config project.Loaded) ([]mcpServer, error) {
	var list []mcpServer
	for _, name := range slices.Sorted(maps.Keys(config.MCP)) {
		m, err := a.mcpServer(name, config.MCP[name])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: mcp.%s: %w", project.ErrConfig, config.Origin("mcp."+name), name, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func (a *app) mcpServer(name string, given project.MCPServer) (mcpServer, error) {
	m := mcpServer{MCPServer: acp.MCPServer{Name: name, Type: given.Kind(), Args: given.Args}}
	var err error
	if given.Command != "" {
		argv, err := splitCommand(given.Command)
		if err != nil {
			return m, err
		}
		path, err := exec.LookPath(argv[0])
		if err == nil {
			path, err = filepath.Abs(path) // as the protocol wants it
		}
		if err != nil {
			return m, fmt.Errorf("%s cannot be run: %w", argv[0], err)
		}
		m.Command, m.Args = path, slices.Concat(argv[1:], given.Args)
	}
	if m.URL, err = a.expand(given.URL, &m.hidden); err != nil {
		return m, err
	}
	if m.Env, err = a.expandAll(given.Env, isSecret, &m.hidden); err != nil {
		return m, err
	}
	m.Headers, err = a.expandAll(given.Headers, func(string) bool { return true }, &m.hidden)
	return m, err
}

func (a *app) expandAll(values map[string]string, hide func(name string) bool, hidden *[]string) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for name, value := range values {
		text, err := a.expand(value, hidden)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if out[name] = text; hide(name) && len(text) >= shortestSecret {
			*hidden = append(*hidden, text)
		}
	}
	return out, nil
}

// expand puts variables of our own environment into a value, so that a secret
// need not stand in a file that is shared.
func (a *app) expand(value string, hidden *[]string) (string, error) {
	var missing string
	text := regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`).ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := a.getenv(name)
		if v == "" {
			missing = name
		}
		if len(v) >= shortestSecret {
			*hidden = append(*hidden, v)
		}
		return v
	})
	if missing != "" {
		return "", fmt.Errorf("${%s} is not set", missing)
	}
	return text, nil
}

// mcp is what the agents of a run are given.
func (o *opener) mcp() []acp.MCPServer {
	list := make([]acp.MCPServer, len(o.servers))
	for i, m := range o.servers {
		list[i] = m.MCPServer
	}
	return list
}
