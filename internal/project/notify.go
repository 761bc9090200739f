package project

import (
	"net/url"
	"slices"
	"strings"

	"ralph/internal/hooks"
)

// TelemetryConfig is what is written for machines that watch.
type TelemetryConfig struct {
	Prometheus string
}

// HookConfig is a command that a run calls at one of its points.
type HookConfig struct {
	On      string   `toml:"on"`
	Match   string   `toml:"match"` // KIND:PATTERN, for tool calls
	Run     string   `toml:"run"`
	Timeout Duration `toml:"timeout"`
	Must    bool     `toml:"must"`
}

// Hook is the hook as package hooks runs it.
func (c HookConfig) Hook() hooks.Hook {
	return hooks.Hook{On: hooks.Point(c.On), Match: c.Match, Run: c.Run, Timeout: c.Timeout.Std(), Must: c.Must}
}

func (c HookConfig) invalid() string {
	return c.Hook().Invalid()
}

// String is how it is shown.
func (c HookConfig) String() string { return c.Hook().String() }

// Notify is a target of notifications, by one or more channels.
type Notify struct {
	On      []string `toml:"on"` // kinds of notifications; none means all
	Command string   `toml:"command"`
	Webhook string   `toml:"webhook"`
	Desktop bool     `toml:"desktop"`
	Bell    bool     `toml:"bell"`
	Title   bool     `toml:"title"`
}

// invalid says what makes no sense about it, without repeating an address.
func (n Notify) invalid() string {
	if why := badKinds("on", n.On); why != "" {
		return why
	}
	if len(n.channels()) == 0 {
		return "it has neither command, webhook, desktop, bell nor title"
	}
	if n.Webhook != "" && !strings.Contains(n.Webhook, "${") &&
		!strings.HasPrefix(n.Webhook, "http://") && !strings.HasPrefix(n.Webhook, "https://") {
		return "webhook: an address begins with http:// or https://"
	}
	return ""
}

// channels describes them without secrets: an address is one.
func (n Notify) channels() []string {
	var list []string
	if n.Command != "" {
		list = append(list, "command "+n.Command)
	}
	if n.Webhook != "" {
		shown := n.Webhook
		if u, err := url.Parse(n.Webhook); err == nil && u.Host != "" {
			shown = u.Scheme + "://" + u.Host + "/..."
		} else if !strings.HasPrefix(shown, "${") || !strings.HasSuffix(shown, "}") {
			shown = "..."
		}
		list = append(list, "webhook "+shown)
	}
	for name, on := range map[string]bool{"desktop": n.Desktop, "bell": n.Bell, "title": n.Title} {
		if on {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// String is how it is shown.
func (n Notify) String() string {
	return strings.Join(n.channels(), ", ") + onEvents(n.On)
}
