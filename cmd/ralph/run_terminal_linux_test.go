package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/internal/testing/fakeagent"
)

// TestLinesAreBrokenAtWords has a narrow terminal, and lines of commands that are wider than it.
func TestLinesAreBrokenAtWords(t *testing.T) {
	t.Parallel()
	const columns = 40
	p := newPlace(t, say(step{Do: "say", Text: "<task-failed>{{task}}: " + strings.Repeat("because of words ", 8) + "</task-failed>\n"}))
	p.plan("one")
	p.want(1, "run")
	for command, status := range map[string]int{
		"run --keep-going --fail-fast": 64, "run --feature of-no-name": 3, "task show t-00000001": 0, "status": 0,
	} {
		term := p.onTerminalOf(unix.Winsize{Col: columns, Row: 50}, strings.Fields(command)...)
		term.wait(status)
		eventually(t, "the hint or the error is shown", func() bool { return strings.Count(term.stdout.String(), "\n") > 2 })
		for line := range strings.Lines(term.stdout.String()) {
			line = strings.TrimRight(line, "\r\n")
			if word := strings.TrimLeft(line, " "); len(line) > columns && strings.Contains(word, " ") { // one word has no place to break
				t.Errorf("%q is wider than %d columns", line, columns)
			}
		}
	}
}

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
	p.json(&settings, "config", "show")
	for _, columns := range []int{80, 100, 132} {
		screen := p.onTerminalOf(unix.Winsize{Col: uint16(columns), Row: 24}, "config", "show")
		screen.wait(0)
		last := settings[len(settings)-1].Key
		eventually(t, "all is shown", func() bool { return strings.Contains(screen.stdout.String(), last) })
		lines := strings.Split(strings.ReplaceAll(screen.stdout.String(), "\r", ""), "\n")
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
				t.Errorf("on %d columns %q is not whole:\n%s", columns, part, screen.stdout.String())
			}
		}
	}
}
