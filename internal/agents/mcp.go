package agents

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/redact"
)

// Servers returns the configured MCP servers. A command must exist, and so must every
// variable that a value refers to.
func (f Finder) Servers() ([]acp.MCPServer, error) {
	var list []acp.MCPServer
	for _, name := range sorted(f.Config.MCP) {
		m, err := f.server(name, f.Config.MCP[name])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: mcp.%s: %w", project.ErrConfig, f.Config.Origin("mcp."+name), name, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func (f Finder) server(name string, given project.MCPServer) (acp.MCPServer, error) {
	m := acp.MCPServer{Name: name, Type: given.Kind(), Args: given.Args, Env: maps.Clone(given.Env), Headers: maps.Clone(given.Headers)}
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
	if m.URL, err = Expand(given.URL, f.Environ, f.Redact); err != nil {
		return m, err
	}
	for _, values := range []map[string]string{m.Env, m.Headers} {
		for name := range values {
			if values[name], err = Expand(values[name], f.Environ, f.Redact); err != nil {
				return m, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	f.Redact.AddURL(m.URL)
	learn(f.Redact, m.Env, redact.LooksSecret)
	learn(f.Redact, m.Headers, secretHeader)
	return m, nil
}

// LearnSecrets makes secret what a configuration gives to agents and servers under a
// name that looks like a secret. What comes from the environment becomes one when it is
// expanded.
func LearnSecrets(config project.Config, r *redact.Redactor) {
	for _, custom := range config.Agents {
		learn(r, custom.Env, redact.LooksSecret)
	}
	for _, server := range config.MCP {
		r.AddArgs(append(strings.Fields(server.Command), server.Args...))
		r.AddURL(server.URL)
		learn(r, server.Env, redact.LooksSecret)
		learn(r, server.Headers, secretHeader)
	}
}

// secretHeader reports whether a header may hold a secret: all but those that every
// request has.
func secretHeader(name string) bool {
	return !slices.Contains([]string{"accept", "accept-encoding", "accept-language", "content-type", "user-agent"}, strings.ToLower(name))
}

func learn(r *redact.Redactor, values map[string]string, secret func(name string) bool) {
	for name, value := range values {
		if !secret(name) || strings.Contains(value, "${") {
			continue
		}
		r.Add(value)
		if _, rest, scheme := strings.Cut(value, " "); scheme { // Bearer, Basic
			r.Add(rest)
		}
	}
}

// Expand replaces ${NAME} by a variable of the environment, so that a secret need not
// stand in a file that is shared. What is put in becomes a secret, except for the
// variables that every process may see.
func Expand(value string, environ []string, r *redact.Redactor) (string, error) {
	var missing string
	text := regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`).ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := proc.Getenv(environ, name)
		if v == "" {
			missing = name
		}
		if !listed(common(), name) {
			r.Add(v)
		}
		return v
	})
	if missing != "" {
		return "", fmt.Errorf("${%s} is not set", missing)
	}
	return text, nil
}
