package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/redact"
)

// mcpServers reads the servers of the configuration. A command must be there,
// and so must every variable that a value is made of.
func (a *app) mcpServers(config project.Loaded) ([]acp.MCPServer, error) {
	var list []acp.MCPServer
	for _, name := range slices.Sorted(maps.Keys(config.MCP)) {
		m, err := a.mcpServer(name, config.MCP[name])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: mcp.%s: %w", project.ErrConfig, config.Origin("mcp."+name), name, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func (a *app) mcpServer(name string, given project.MCPServer) (acp.MCPServer, error) {
	m := acp.MCPServer{Name: name, Type: given.Kind(), Args: given.Args}
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
	if m.URL, err = a.expand(given.URL); err != nil {
		return m, err
	}
	if m.Env, err = a.expandAll(given.Env); err != nil {
		return m, err
	}
	if m.Headers, err = a.expandAll(given.Headers); err != nil {
		return m, err
	}
	a.redact.AddURL(m.URL)
	a.learnSecrets(m.Env, redact.LooksSecret)
	a.learnSecrets(m.Headers, secretHeader)
	return m, nil
}

// secretHeader says whether a header may hold a secret: all but those that every
// request has.
func secretHeader(name string) bool {
	return !slices.Contains([]string{"accept", "accept-encoding", "accept-language", "content-type", "user-agent"}, strings.ToLower(name))
}

// learnSecrets makes those values secret whose names say so, once what they take from
// the environment is in them.
func (a *app) learnSecrets(values map[string]string, secret func(name string) bool) {
	for name, value := range values {
		if !secret(name) || strings.Contains(value, "${") {
			continue
		}
		a.redact.Add(value)
		if _, rest, scheme := strings.Cut(value, " "); scheme { // Bearer, Basic
			a.redact.Add(rest)
		}
	}
}

func (a *app) expandAll(values map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for name, value := range values {
		text, err := a.expand(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = text
	}
	return out, nil
}

// expand puts variables of our own environment into a value, so that a secret
// need not stand in a file that is shared. What is put in is taken for one, but for
// the variables that every process may see.
func (a *app) expand(value string) (string, error) {
	var missing string
	text := regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`).ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := a.getenv(name)
		if v == "" {
			missing = name
		}
		if !agents.Public(name) {
			a.redact.Add(v)
		}
		return v
	})
	if missing != "" {
		return "", fmt.Errorf("${%s} is not set", missing)
	}
	return text, nil
}
