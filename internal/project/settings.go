package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Setting is one value as `ralph config show` prints it.
type Setting struct {
	Key    string
	Value  any
	Origin string
}

// Settings lists every value with where it came from.
func (l Loaded) Settings() []Setting {
	c := l.Config
	list := []Setting{
		{Key: "agent.use", Value: c.Agent.Use},
		{Key: "agent.command", Value: c.Agent.Command},
		{Key: "agent.env_allow", Value: append([]string{}, c.Agent.EnvAllow...)},
		{Key: "run.limit", Value: c.Run.Limit},
		{Key: "run.max_retries", Value: c.Run.MaxRetries},
		{Key: "run.max_attempts", Value: c.Run.MaxAttempts},
		{Key: "run.retry_failed", Value: c.Run.RetryFailed},
		{Key: "run.breaker", Value: c.Run.Breaker},
		{Key: "run.model_strategy", Value: c.Run.ModelStrategy},
		{Key: "run.idle_timeout", Value: c.Run.IdleTimeout.String()},
		{Key: "run.turn_timeout", Value: c.Run.TurnTimeout.String()},
		{Key: "run.backoff", Value: c.Run.Backoff.String()},
		{Key: "run.keep_going", Value: c.Run.KeepGoing},
		{Key: "run.grace", Value: c.Run.Grace.String()},
		{Key: "verify.enabled", Value: c.Verify.Enabled},
		{Key: "verify.commands", Value: append([]string{}, c.Verify.Commands...)},
		{Key: "verify.timeout", Value: c.Verify.Timeout.String()},
		{Key: "verify.agent", Value: c.Verify.Agent},
		{Key: "verify.model", Value: c.Verify.Model},
		{Key: "verify.repair_rounds", Value: c.Verify.Repairs},
		{Key: "verify.reruns", Value: c.Verify.Reruns},
		{Key: "verify.protect", Value: append([]string{}, c.Verify.Protect...)},
		{Key: "verify.env_allow", Value: append([]string{}, c.Verify.EnvAllow...)},
		{Key: "journal.recent", Value: c.Journal.Recent},
		{Key: "journal.matches", Value: c.Journal.Matches},
		{Key: "journal.tokens", Value: c.Journal.Tokens},
		{Key: "knowledge.tokens", Value: c.Knowledge.Tokens},
		{Key: "recovery.resume_session", Value: c.Recovery.ResumeSession},
		{Key: "recovery.max_age", Value: c.Recovery.MaxAge.String()},
		{Key: "recovery.max_interruptions", Value: c.Recovery.MaxInterruptions},
		{Key: "recovery.on_dirty", Value: c.Recovery.OnDirty},
		{Key: "gc.auto", Value: c.GC.Auto},
		{Key: "gc.older_than", Value: c.GC.OlderThan.String()},
		{Key: "telemetry.prometheus", Value: c.Telemetry.Prometheus},
		{Key: "sandbox.mode", Value: c.Sandbox.Mode},
		{Key: "sandbox.write", Value: append([]string{}, c.Sandbox.Write...)},
		{Key: "sandbox.deny_read", Value: append([]string{}, c.Sandbox.DenyRead...)},
	}
	list = append(list, c.spendingSettings()...)
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		list = append(list, Setting{Key: "agents." + name, Value: c.Agents[name].Command})
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		list = append(list, Setting{Key: "mcp." + name, Value: cmp.Or(c.MCP[name].Command, c.MCP[name].URL)})
	}
	for i, n := range c.Notify {
		list = append(list, Setting{Key: fmt.Sprintf("notify.%d", i+1), Value: n.String()})
	}
	for i := range list {
		list[i].Origin = l.Origin(list[i].Key)
	}
	return list
}
