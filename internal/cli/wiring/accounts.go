package wiring

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/cli"
	"ralph/internal/project"
)

// Accounts are the agents of a project with what the user's other projects know about their limits.
type Accounts struct {
	shared agents.Limits
	of     map[string]string // the account of each agent, by its name
}

// AccountsOf finds those of all agents that are known.
func AccountsOf(a *cli.App, config project.Loaded, more ...string) Accounts {
	found := Accounts{agents.Limits{Dir: filepath.Join(a.StateHome(), "ralph", "limits")}, map[string]string{}}
	finder := a.Finder(config)
	for _, name := range append(finder.Names(), more...) {
		if p, err := finder.Preset(name); err == nil && p.Channel != agents.NoModel {
			found.of[name] = finder.Account(p)
		}
	}
	return found
}

// Limits lists the agents that are limited, as any project knows.
func (l Accounts) Limits(now time.Time) (list []dag.AgentLimit) {
	limited := l.shared.All(now)
	for _, name := range slices.Sorted(maps.Keys(l.of)) {
		if of, is := limited[l.of[name]]; is {
			list = append(list, dag.AgentLimit{Agent: name, Until: of.Until.Truncate(time.Millisecond), Reason: of.Reason})
		}
	}
	return list
}

// Limit tells the other projects.
func (l Accounts) Limit(now time.Time, limit dag.AgentLimit) error {
	if account := l.of[limit.Agent]; account != "" {
		return l.shared.Set(account, agents.Limited{Until: limit.Until, Reason: limit.Reason, At: now})
	}
	return nil
}

// Lift forgets all limits.
func (l Accounts) Lift() (err error) {
	for _, account := range l.of {
		err = errors.Join(err, l.shared.Lift(account))
	}
	return err
}

// AgentGates are what agents may do at once. Starts of one that has a provider which ralph knows are a second apart.
func AgentGates(finder agents.Finder, config project.Loaded) map[string]dag.AgentGate {
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

// Prices are what tokens cost, as it is configured.
func Prices(config project.Loaded) budget.Prices {
	table := budget.Prices{}
	for pattern, p := range config.Prices {
		table[pattern] = budget.Price(p)
	}
	return table
}

// SharedLimits is a budget of a feature, or of a day.
func SharedLimits(b project.SharedBudget) budget.Limits {
	return budget.Limits{
		CostUSD: b.MaxCostUSD, Tokens: b.MaxTokens, Iterations: b.MaxIterations, Duration: b.MaxDuration.Std(), Failures: b.MaxFailures,
	}
}
