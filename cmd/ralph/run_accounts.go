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

// accounts are the agents of a project with what the user's other projects know about their limits.
type accounts struct {
	shared agents.Limits
	of     map[string]string // the account of each agent, by its name
}

// accounts finds those of all agents that are known.
func (a *app) accounts(config project.Loaded, more ...string) accounts {
	found := accounts{agents.Limits{Dir: filepath.Join(a.stateHome(), "ralph", "limits")}, map[string]string{}}
	finder := a.finder(config)
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(config.Agents)), more) {
		if p, err := finder.Preset(name); err == nil {
			found.of[name] = finder.Account(p)
		}
	}
	for _, p := range agents.All() {
		if _, configured := found.of[p.Name]; !configured && p.Channel != agents.NoModel {
			found.of[p.Name] = finder.Account(p)
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
	account, known := l.of[limit.Agent]
	if !known {
		return nil
	}
	return l.shared.Set(account, agents.Limited{Until: limit.Until, Reason: limit.Reason, At: now})
}

// lift forgets all limits.
func (l accounts) lift() (err error) {
	for _, account := range l.of {
		err = errors.Join(err, l.shared.Lift(account))
	}
	return err
}

// startEvery is how far the starts of an agent are apart that has a provider which ralph knows.
const startEvery = time.Second

// agentGates are what agents may do at once.
func agentGates(finder agents.Finder, config project.Loaded) map[string]dag.AgentGate {
	gates := map[string]dag.AgentGate{"": {OneFirst: true}}
	add := func(name string) {
		p, err := finder.Preset(name)
		gate := dag.AgentGate{AtOnce: config.Agents[name].AtOnce, OneFirst: true}
		if every := config.Agents[name].StartEvery; every != nil {
			gate.StartEvery = every.Std()
		} else if err == nil && !p.Unknown && p.Channel != agents.NoModel {
			gate.StartEvery = startEvery
		}
		gates[name] = gate
	}
	for name := range config.Agents {
		add(name)
	}
	for _, p := range agents.All() {
		add(p.Name)
	}
	return gates
}
