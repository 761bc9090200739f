package hooks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ralph/internal/permission"
	"ralph/internal/plain"
)

// Hook is a command for one point.
type Hook struct {
	On      Point
	Match   string        // KIND:PATTERN of a tool call; empty matches all
	Run     string        // for sh, in the project's folder
	Timeout time.Duration // 0 means DefaultTimeout
	Must    bool          // if it fails, that blocks
}

// DefaultTimeout is how long a hook may take that says nothing else.
const DefaultTimeout = 30 * time.Second

// Invalid says what makes no sense about a hook, or "".
func (h Hook) Invalid() string {
	s, known := find(h.On)
	switch {
	case h.On == "":
		return `it has no point; say when it runs, like on = "task.done"`
	case !known:
		return fmt.Sprintf("on: %q is not one of %s", h.On, strings.Join(Names(), ", "))
	case strings.TrimSpace(h.Run) == "":
		return `it has nothing to run; name a command, like run = "./check.sh"`
	case h.Match != "" && !s.match:
		return fmt.Sprintf("match is for tool calls: it goes with %s and %s, not with %s", ToolBefore, ToolAfter, h.On)
	case h.badMatch() != nil:
		return "match: " + h.badMatch().Error()
	case h.Must && !s.allows(Block):
		return fmt.Sprintf("must makes a hook block that fails, and %s cannot be blocked", h.On)
	}
	return ""
}

// badMatch explains what is wrong with the match, if anything is.
func (h Hook) badMatch() error {
	if h.Match == "" {
		return nil
	}
	_, err := permission.ParseRule(h.Match)
	return err
}

// String is how a hook is shown.
func (h Hook) String() string {
	parts := []string{h.name(), "on " + string(h.On)}
	if h.Match != "" {
		parts = append(parts, h.Match)
	}
	if h.Must {
		parts = append(parts, "must succeed")
	}
	return strings.Join(parts, ", ")
}

// maxName is how much of a command names its hook.
const maxName = 80

func (h Hook) name() string { return plain.Head(strings.TrimSpace(h.Run), maxName) }

func (h Hook) timeout() time.Duration { return cmp.Or(h.Timeout, DefaultTimeout) }
