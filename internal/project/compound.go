package project

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// agentValue is a name, a command, or a list: those after the first continue while it is rate-limited.
type agentValue struct{ c *AgentConfig }

func (v agentValue) set(given any) string {
	switch given := given.(type) {
	case string:
		v.c.Use, v.c.Fallback = given, nil
		return ""
	case []any:
		var list []string
		for _, one := range given {
			if name, ok := one.(string); ok {
				list = append(list, name)
			}
		}
		if len(list) == len(given) && len(list) > 0 {
			v.c.Use, v.c.Fallback = list[0], slices.Concat(list[1:])
			return ""
		}
	}
	return `it is a name, a command, or a list of them, like ["claude", "codex"]`
}

func (v agentValue) shown() any {
	if len(v.c.Fallback) == 0 {
		return v.c.Use
	}
	return append([]string{v.c.Use}, v.c.Fallback...)
}

func (agentValue) kind() string { return "name, command, or list of them" }

// untilValue is a time of day, a duration, or both with a comma between.
type untilValue struct{ b *BudgetConfig }

func (v untilValue) set(given any) string {
	text, ok := given.(string)
	if !ok {
		return `it is a text in quotes, like "07:00" or "8h", not ` + withArticle(kindOf(given))
	}
	v.b.Until, v.b.MaxDuration = "", 0
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if _, err := ParseUntil(part, time.Time{}); err == nil {
			v.b.Until = part
		} else if v.b.MaxDuration.UnmarshalText([]byte(part)) != nil {
			return fmt.Sprintf("%q is neither a time of day, like 07:00, nor a duration, like 8h", part)
		}
	}
	return ""
}

func (v untilValue) shown() any {
	switch {
	case v.b.MaxDuration == 0:
		return v.b.Until
	case v.b.Until == "":
		return v.b.MaxDuration.String()
	}
	return v.b.Until + ", " + v.b.MaxDuration.String()
}

func (untilValue) kind() string { return "time of day, duration, or both" }

// networkValue is the network of agents and verifiers in one word, or the hosts that they may reach.
type networkValue struct{ n *NetworkConfig }

func (v networkValue) set(given any) string {
	switch given := given.(type) {
	case string:
		if given == "on" || given == "off" {
			v.n.Agent, v.n.Verifier, v.n.Hosts = given, given, []string{}
			return ""
		}
	case []any:
		hosts := []string{}
		for _, host := range given {
			hosts = append(hosts, fmt.Sprint(host))
		}
		v.n.Agent, v.n.Verifier, v.n.Hosts = "on", "on", hosts
		return ""
	}
	return `it is "on", "off", or a list of hosts, like ["api.example.com"]`
}

func (networkValue) shown() any { return nil } // its parts are

func (networkValue) kind() string { return "on, off, or list of hosts" }

// anomaliesValue is what an anomaly leads to.
type anomaliesValue struct{ a *AnomalyConfig }

func anomalyWords() []string { return []string{"warn", "stop", "ask", "off"} }

func (v anomaliesValue) set(given any) string {
	quiet := AnomalyConfig{}
	if v.shown() == "off" {
		*v.a = defaultAnomaly()
	}
	switch given {
	case "warn":
		v.a.Stop, v.a.Ask = false, false
	case "stop":
		v.a.Stop, v.a.Ask = true, false
	case "ask":
		v.a.Stop, v.a.Ask = false, true
	case "off":
		*v.a = quiet
	default:
		return fmt.Sprintf("%q is not one of %s", fmt.Sprint(given), strings.Join(anomalyWords(), ", "))
	}
	return ""
}

func (v anomaliesValue) shown() any {
	switch {
	case v.a.WritesPerMinute == 0 && v.a.DeletionsPerMinute == 0 && !v.a.Destructive:
		return "off"
	case v.a.Ask:
		return "ask"
	case v.a.Stop:
		return "stop"
	}
	return "warn"
}

func (anomaliesValue) kind() string { return strings.Join(anomalyWords(), ", ") }
