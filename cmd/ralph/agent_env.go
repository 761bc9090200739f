package main

import (
	"os"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/loop"
)

// environment is what an agent sees, and what the commands see that are run for it.
func (o *opener) environment(ag agent) (env, terminals []string) {
	environ := o.app.environ()
	return agents.Environ(ag.preset, environ, os.Geteuid() == 0), agents.TerminalEnviron(ag.preset, environ)
}

// credential names what the agent will be paid with. Names are all that is shown.
func (o *opener) credential(ag agent) string {
	if len(ag.preset.Credentials) == 0 {
		return ""
	}
	env, _ := o.environment(ag)
	switch names := agents.Credentials(ag.preset, env); {
	case len(names) == 0:
		return "none in the environment: the agent's own login"
	case len(names) == 1:
		return names[0]
	case ag.preset.ByModel:
		return strings.Join(names, ", ") + ": as the model needs"
	default:
		return names[0] + ", before " + strings.Join(names[1:], ", ")
	}
}

// lookUp is getenv for an environment.
func lookUp(env []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(env) {
			if is, value, _ := strings.Cut(entry, "="); is == name {
				return value
			}
		}
		return ""
	}
}

// earlier is the session to go on with: only the same agent knows it.
func earlier(op loop.Opening, ag agent) *acp.Earlier {
	if op.Earlier == nil || op.Earlier.Agent != ag.preset.Name {
		return nil
	}
	return &acp.Earlier{Session: op.Earlier.Session, CostUSD: op.Earlier.CostUSD}
}
