package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

const (
	idea     = "A file that says hello, and one that counts its words.\n"
	specText = "# Hello\n\n## Purpose\n\nTo greet.\n\n## Requirements\n\n1. hello.txt says hello.\n2. count.txt says how many words that are.\n\n## Assumptions\n\n- One line is enough.\n"
	planText = "# Plan\n\n## Approach\n\nTwo files.\n\n## Step 1\n\nhello.txt, requirement 1.\n\n## Step 2\n\ncount.txt, requirement 2.\n\n## Tests\n\nThe files are there.\n"
	taskText = "```jsonl\n" +
		`{"ref":"greet","title":"Write the greeting","description":"Step 1 of the plan, into hello.txt.\n\nAcceptance:\n- hello.txt is there","gates":["test -s hello.txt"]}` + "\n" +
		`{"ref":"count","title":"Count its words","description":"Step 2 of the plan, into count.txt.\n\nAcceptance:\n- count.txt is there","after":["greet"],"gates":["test -s count.txt"]}` + "\n```\n"
)

// planner plays a whole feature: two documents by the agent's own tools, reviews
// that find nothing, tasks as an answer, and the work on them.
func planner(p Prompt) Answer {
	document := func(name, text string) Answer {
		if p.Turn > 0 {
			return Answer{Text: name + " is written.\n"}
		}
		return Answer{Text: "Let me write it.", Shell: "cat > " + name + " <<'END-OF-DOCUMENT'\n" + text + "END-OF-DOCUMENT"}
	}
	is := func(heading string) bool { return strings.Contains(p.Text, "# Ralph: "+heading+"\n") }
	switch {
	case is("specification"):
		return document("spec.md", specText)
	case is("plan"):
		return document("plan.md", planText)
	case is("tasks"):
		return Answer{Text: "Here they are.\n\n" + taskText}
	case is("review"), p.Kind == Verify:
		return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
	case p.Kind == Work && p.Turn == 0:
		return Answer{Text: "Let me see.", Shell: "if test -e hello.txt; then wc -w < hello.txt > count.txt; else echo hello > hello.txt; fi"}
	case p.Kind == Work:
		return Answer{Text: "All is well.\n<task-done>" + p.Task + "</task-done>\n"}
	}
	return Answer{Text: "OK"}
}

// takesAFeature goes from an idea to a graph that has run, with nobody to ask.
func (p *place) takesAFeature(t *testing.T) {
	p.server.Play(planner)
	p.write(t, filepath.Join(p.dir, "idea.md"), idea)
	out := p.want(t, 0, "feature", "create", "hello", "--from", "idea.md", "--yes", "--no-input")
	contains(t, out.stderr, "spec.md: review 1 of 5, completeness: nothing found", "plan.md: review 1 of 5, completeness: nothing found")
	for name, want := range map[string]string{"spec.md": specText, "plan.md": planText} {
		if got := p.read(t, ".ralph/features/hello/"+name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	p.want(t, 0, "run", "--feature", "hello")
	if shown := p.want(t, 0, "feature", "show", "hello"); !strings.HasPrefix(shown.stdout, "hello  done") {
		t.Errorf("got %s, want a feature that is done", shown.stdout)
	}
	if got := strings.TrimSpace(p.read(t, "count.txt")); got != "1" {
		t.Errorf("count.txt: got %q, want 1", got)
	}
	p.wantScriptPlayed(t)
}
