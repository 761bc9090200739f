package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/internal/testing/fakeagent"
)

// TestTheConfigurationFitsATerminal: no line is wider than the terminal, whatever is
// configured, and nothing of it is left out.
func TestTheConfigurationFitsATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{}, `model_strategy = "escalate"
[verify]
commands = ["go test ./...", "a gate that has `+strings.Repeat("very ", 30)+`many words", "日本語のテスト日本語のテスト日本語のテスト"]
[telemetry]
prometheus = "`+strings.Repeat("long/", 40)+`file"`)
	var settings []project.Setting
	p.json(t, &settings, "config", "show")
	for _, columns := range []int{80, 100, 132} {
		screen := p.onTerminalOf(t, unix.Winsize{Col: uint16(columns), Row: 24}, "config", "show")
		screen.wait(t, 0)
		last := settings[len(settings)-1].Key
		eventually(t, "all is shown", func() bool { return strings.Contains(screen.screen(), last) })
		lines := strings.Split(strings.ReplaceAll(screen.screen(), "\r", ""), "\n")
		var keys []string
		value := ""
		for _, line := range lines {
			if got := term.Width(line); got > columns {
				t.Errorf("%d wide on %d columns: %s", got, columns, line)
			}
			if key, rest, found := strings.Cut(line, " "); found && key != "" {
				keys = append(keys, key)
				line = rest
			}
			value += strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(line), " .ralph.toml"), " ", "")
		}
		if len(keys) != len(settings) {
			t.Errorf("got %d keys, want %d: %v", len(keys), len(settings), keys)
		}
		for _, part := range []string{`"gotest./..."`, strings.Repeat("very", 30) + "manywords", strings.Repeat("日本語のテスト", 3), strings.Repeat("long/", 40) + `file"`, `".drone.yml"`} {
			if !strings.Contains(value, part) {
				t.Errorf("on %d columns %q is not whole:\n%s", columns, part, screen.screen())
			}
		}
	}
}
