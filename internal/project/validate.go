package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (c Config) invalid() (key, why string) {
	for _, f := range c.fields() {
		if why := f.invalid(); why != "" {
			return f.key, why
		}
	}
	for key, rules := range map[string][]string{"agent.env_allow": c.Agent.EnvAllow, "verify.env_allow": c.Verify.EnvAllow} {
		if i := slices.IndexFunc(rules, isBadRule); i >= 0 {
			return key, fmt.Sprintf("%q is not a variable name; write NAME, PREFIX_* or, to withhold one, !NAME", rules[i])
		}
	}
	if i := slices.IndexFunc(c.Parallel.Copy, isOutside); i >= 0 {
		return "parallel.copy", fmt.Sprintf("%q leads out of the project", c.Parallel.Copy[i])
	}
	if c.Verify.CoverageFile != "" && isOutside(c.Verify.CoverageFile) {
		return "verify.coverage_file", fmt.Sprintf("%q leads out of the project", c.Verify.CoverageFile)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Locks)) {
		if c.Locks[name] < 1 {
			return "locks." + name, fmt.Sprintf("%d is too small; the least is 1", c.Locks[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if key, why := c.Agents[name].invalid(); why != "" {
			return "agents." + name + "." + key, why
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		if why := c.MCP[name].invalid(); why != "" {
			return "mcp." + name, why
		}
	}
	for i, n := range c.Notify {
		if why := n.invalid(); why != "" {
			return fmt.Sprintf("notify.%d", i+1), why
		}
	}
	for i, chat := range c.Chat {
		why := chat.invalid()
		if slices.ContainsFunc(c.Chat[:i], func(other Chat) bool { return other.TokenEnv == chat.TokenEnv }) {
			why = "token_env: another has the same; a bot is configured once, with all its chats"
		}
		if why != "" {
			return fmt.Sprintf("chat.%d", i+1), why
		}
	}
	if why := c.Sandbox.Network.invalid(); why != "" {
		return "sandbox.network.hosts", why
	}
	if key, why := c.Serve.invalid(); why != "" {
		return key, why
	}
	if key, why := c.Temporal.invalid(); why != "" {
		return key, why
	}
	if key, why := c.Permissions.Lists().Invalid(); key != "" {
		return "permissions." + key, why
	}
	for i, h := range c.Hooks {
		if why := cmp.Or(h.Hook().Invalid(), field{at: &h.Timeout}.invalid()); why != "" {
			return fmt.Sprintf("hooks.%d", i+1), why
		}
	}
	for i, s := range c.Schedules {
		if why := s.invalid(); why != "" {
			return fmt.Sprintf("schedule.%d", i+1), why
		}
	}
	for i, in := range c.Inbound {
		if why := in.invalid(); why != "" {
			return fmt.Sprintf("inbound.%d", i+1), why
		}
	}
	var focuses []string
	for i, r := range c.Verify.Reviewers {
		focus, key := strings.ToLower(strings.TrimSpace(r.Focus)), fmt.Sprintf("verify.reviewer.%d", i+1)
		switch {
		case focus == "":
			return key, `it has no focus; say what it is to look for, like focus = "security"`
		case slices.Contains(focuses, focus):
			return key, fmt.Sprintf("there is another with the focus %q", r.Focus)
		}
		focuses = append(focuses, focus)
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Prices)) {
		for name, amount := range c.Prices[pattern].amounts() {
			if why := badAmount(amount); why != "" {
				return "prices." + pattern + "." + name, why
			}
		}
	}
	if _, err := ParseUntil(c.Budget.Until, time.Time{}); err != nil {
		return "budget.until", err.Error()
	}
	if _, err := ParseWait(c.Run.Wait); err != nil {
		return "run.wait", err.Error()
	}
	return "", ""
}
