package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestToolsThatMisbehave has a model call tools that print too much, never end, or reach for what is not theirs. The
// model is told, and goes on.
func TestToolsThatMisbehave(t *testing.T) {
	for name, tt := range map[string]struct {
		call Answer
		idle string // how long the agent may be silent
		told []string
	}{
		"one that prints 100 MB": {
			Answer{Shell: "echo BEGIN; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo END"}, "2m", []string{"BEGIN", "END"},
		},
		"one that never ends": {
			Answer{Raw: &Raw{"bash", `{"command": "echo BEGIN; exec sleep 100000", "timeout": 25}`}}, "20s", []string{"BEGIN", "timed out after 25 s"}, // it gives signs of life every ten seconds
		},
		"one that reads a file of the machine": {
			Answer{Raw: &Raw{"read", `{"path": "/etc/passwd"}`}}, "2m", []string{"outside"},
		},
		"one that writes beside the project": {
			Answer{Raw: &Raw{"write", `{"path": "../beside.txt", "content": "x"}`}}, "2m", []string{"outside"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachOwn(t, func(t *testing.T, open func(*testing.T) *place) {
				p := open(t)
				p.server.Play(inTurn(tt.call, writes, isDone))
				task := strings.TrimSpace(p.want(t, 0, "task", "add", "Call a tool").stdout)
				out := p.want(t, 0, "run", task, "--idle-timeout", tt.idle)
				seen := p.server.Seen()
				if len(seen) < 3 {
					t.Fatalf("got %d requests\n%s", len(seen), out.stderr)
				}
				contains(t, seen[1].Tool, tt.told...)
				if n := len(seen[1].Tool); n > 31_000 || strings.Contains(seen[1].Tool, "root:") {
					t.Errorf("got %d characters, beginning with %.200s", n, seen[1].Tool)
				}
				if isFile(filepath.Join(filepath.Dir(p.dir), "beside.txt")) {
					t.Error("it wrote beside the project")
				}
				p.wantScriptPlayed(t)
			})
		})
	}
}
