package main

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/project"
)

// accountsOf are the agents of a project with what the user's other projects know about their limits.
type accounts struct {
	shared agents.Limits
	of     map[string]string // the account of each agent, by its name
}

// accountsOf finds those of all agents that are known.
func accountsOf(a *app, config project.Loaded, more ...string) accounts {
	found := accounts{agents.Limits{Dir: filepath.Join(a.stateHome(), "ralph", "limits")}, map[string]string{}}
	finder := a.finder(config)
	for _, name := range append(finder.Names(), more...) {
		if p, err := finder.Preset(name); err == nil && p.Channel != agents.NoModel {
			found.of[name] = finder.Account(p)
		}
	}
	return found
}

// Limits lists the agents that are limited, as any project knows.
func (l accounts) Limits(now time.Time) (list []dag.AgentLimit) {
	limited := l.shared.All(now)
	for _, name := range slices.Sorted(maps.Keys(l.of)) {
		if of, is := limited[l.of[name]]; is {
			list = append(list, dag.AgentLimit{Agent: name, Until: of.Until.Truncate(time.Millisecond), Reason: of.Reason})
		}
	}
	return list
}

// Limit tells the other projects.
func (l accounts) Limit(now time.Time, limit dag.AgentLimit) error {
	if account := l.of[limit.Agent]; account != "" {
		return l.shared.Set(account, agents.Limited{Until: limit.Until, Reason: limit.Reason, At: now})
	}
	return nil
}

// lift forgets all limits.
func (l accounts) lift() (err error) {
	for _, account := range l.of {
		err = errors.Join(err, l.shared.Lift(account))
	}
	return err
}

// agentGates are what agents may do at once. Starts of one that has a provider which ralph knows are a second apart.
func agentGates(finder agents.Finder, config project.Loaded) map[string]dag.AgentGate {
	gates := map[string]dag.AgentGate{"": {OneFirst: true}}
	for _, name := range finder.Names() {
		p, err := finder.Preset(name)
		gate := dag.AgentGate{AtOnce: config.Agents[name].AtOnce, OneFirst: true}
		if every := config.Agents[name].StartEvery; every != nil {
			gate.StartEvery = every.Std()
		} else if err == nil && !p.Unknown && p.Channel != agents.NoModel {
			gate.StartEvery = time.Second
		}
		gates[name] = gate
	}
	return gates
}
