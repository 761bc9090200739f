package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/golden"
)

const walkPlan = `- ref: t-00000001
  title: Greet the world
  description: |
    Write greeting.txt, with a draft first.

    ` + "```sh" + `
    if test -e draft.txt; then mv draft.txt greeting.txt; else echo "hello, world" > draft.txt; fi
    ` + "```" + `
  gates: ["cat greeting.txt"]
`

// TestTheWalkThroughAnIterationIsReal runs the commands of docs/iteration.md in their
// order and compares what they print with the page.
func TestTheWalkThroughAnIterationIsReal(t *testing.T) {
	t.Parallel()
	const path = "../../docs/iteration.md"
	page, err := os.ReadFile(path)
	check.OK(t, err)
	p := newPlace(t, fakeagent.Script{})
	check.OK(t, os.Remove(p.dir+"/.ralph.toml"))
	for _, name := range []string{"script.json", "ledger"} {
		check.OK(t, os.Remove(p.dir+"/"+name))
	}
	p.write(t, "plan.yaml", walkPlan)
	text := regexp.MustCompile("(?ms)^````console\n(.*?)^````$").ReplaceAllStringFunc(string(page), func(block string) string {
		out := "````console\n"
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out += line + p.play(t, command)
			}
		}
		return out + "````"
	})
	b := &bench{t: t, dir: p.dir}
	golden.Check(t, path, timeless(b.normal(text)))
}

// play runs one line as a person would, and returns all that it prints.
func (p *place) play(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// timeless replaces times, durations, and what a machine can confine.
func timeless(text string) string {
	for _, r := range []struct{ is, becomes string }{
		{`\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d`, "2026-01-02${1}03:04:05"},
		{`\b\d\d:\d\d:\d\d\b`, "03:04:05"},
		{`\b\d+(\.\d+)?(ms|s)\b`, "400ms"},
		{`(?m)(sandbox:? +).*$`, "${1}namespaces: as well as this machine can"},
	} {
		text = regexp.MustCompile(r.is).ReplaceAllString(text, r.becomes)
	}
	return text
}
