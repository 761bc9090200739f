package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

const ctrlD = "\x04"

// keepsOutside is for scripts that leave their mark beside the staging folder.
const keepsOutside = "[sandbox]\nmode = \"off\""

func (p *place) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	check.OK(t, err)
	return string(data)
}

func (p *place) missing(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
		t.Errorf("%s exists", name)
	}
}

// keep keeps the prompt in a file of the project.
func keep(name string) fakeagent.Step {
	return fakeagent.Step{Do: "keep", Path: "../../../../../" + name}
}

func writes(file, text string) []fakeagent.Step {
	return []fakeagent.Step{{Do: "file", Path: file, Text: text}, {Do: "say", Text: "Written.\n"}}
}

const twoTasks = "```\n" + `{"ref":"a","title":"Write the greeting","description":"All of it, and nothing else.","gates":["true"]}
{"ref":"b","title":"Use the greeting","description":"All of it, and nothing else.","gates":["true"],"after":["a"]}` + "\n```\n"

// interviewer asks twice, drafts, and changes the draft when it is told to.
func interviewer() fakeagent.Script {
	when := func(prompt int, contains string) fakeagent.When {
		return fakeagent.When{Prompt: prompt, Contains: contains}
	}
	return fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "What was said so far"}, Steps: append([]fakeagent.Step{keep("resumed")}, writes("spec.md", "resumed draft\n")...)},
		{When: when(1, "# Ralph: specification"), Steps: []fakeagent.Step{keep("first"), {Do: "say", Text: "Whom does it greet?\n"}}},
		{When: when(1, "# Ralph: plan"), Steps: writes("plan.md", "# Plan\n")},
		{When: when(1, "# Ralph: tasks"), Steps: []fakeagent.Step{{Do: "say", Text: twoTasks}}},
		{When: when(2, "The person says"), Steps: []fakeagent.Step{keep("second"), {Do: "say", Text: "In which \x1b[31mlanguage\x1b[0m?\n"}}},
		{When: when(3, "nothing more to be asked"), Steps: append([]fakeagent.Step{keep("third")}, writes("spec.md", "draft one\n")...)},
		{When: when(4, "The person says"), Steps: append([]fakeagent.Step{keep("fourth")}, writes("spec.md", "draft two\n")...)},
	}}
}

// TestAnInterviewOnATerminal: answers of several lines, Ctrl-D ends each and, alone,
// the interview; the draft is shown and can be changed.
func TestAnInterviewOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, interviewer(), keepsOutside)
	p.want(t, 0, "feature", "create", "hello")
	term := p.onTerminal(t, "feature", "spec", "hello")
	term.expect(t, "What should hello do", "Greet people.\n\nWell.\n"+ctrlD)
	term.expect(t, "Whom does it greet?", "")
	term.expect(t, "Your answer?", "Everybody.\nAlways.\n"+ctrlD)
	term.expect(t, "In which ", ctrlD)
	term.expect(t, "draft one", "")
	term.expect(t, "What should be different in spec.md?", "Longer.\n"+ctrlD)
	term.expect(t, "draft two", ctrlD)
	term.wait(t, 0)
	for file, want := range map[string]string{
		"first": "> Greet people.\n>\n> Well.", "second": "> Everybody.\n> Always.", "third": "list under\nAssumptions", "fourth": "> Longer.",
	} {
		if got := p.read(t, file); !strings.Contains(got, want) {
			t.Errorf("the %s prompt has no %q:\n%s", file, want, got)
		}
	}
	if !strings.Contains(p.read(t, "first"), "A person answers your questions") {
		t.Error("the agent was not told that somebody answers")
	}
	if got := p.read(t, ".ralph/features/hello/spec.md"); got != "draft two\n" {
		t.Errorf("got %q", got)
	}
	if strings.Contains(term.screen(), "\x1b[31mlanguage") {
		t.Error("the agent coloured our terminal")
	}
}

// TestCreateOnATerminal goes the whole way, shows the tasks and asks before they count.
func TestCreateOnATerminal(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		status string
	}{
		"yes": {"y\n", "ready"},
		"no":  {"\n", "planned"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, interviewer(), keepsOutside)
			term := p.onTerminal(t, "feature", "create", "hello")
			term.expect(t, "What should hello do", "Greet.\n"+ctrlD)
			term.expect(t, "Your answer?", "Everybody.\n"+ctrlD)
			term.expect(t, "In which ", ctrlD)
			term.expect(t, "What should be different in spec.md?", ctrlD)
			term.expect(t, "What should be different in plan.md?", ctrlD)
			term.expect(t, "what can run in parallel:", "")
			term.expect(t, "Keep 2 tasks? [y/N]", tt.answer)
			term.wait(t, 0)
			list := p.want(t, 0, "feature", "list")
			if !strings.HasPrefix(list.stdout, "hello  "+tt.status) {
				t.Errorf("got %q, want %s", list.stdout, tt.status)
			}
			if tt.status == "planned" {
				p.want(t, 0, "feature", "approve", "hello")
			}
			p.want(t, 0, "run", "--feature", "hello")
		})
	}
}

// TestNothingToSayMakesADraft: whoever only wants the draft presses Ctrl-D, and no
// agent is needed for that.
func TestNothingToSayMakesADraft(t *testing.T) {
	t.Parallel()
	p := newPlace(t, interviewer(), keepsOutside)
	term := p.onTerminal(t, "feature", "create", "hello", "--agent", "no-such-agent")
	term.expect(t, "What should hello do", ctrlD)
	term.wait(t, 0)
	if list := p.want(t, 0, "feature", "list"); !strings.HasPrefix(list.stdout, "hello  draft") {
		t.Errorf("got %q", list.stdout)
	}
	other := p.onTerminal(t, "feature", "spec", "hello")
	other.expect(t, "What should hello do", ctrlD)
	other.wait(t, 1)
	eventually(t, "it is said that nothing was written", func() bool {
		return strings.Contains(other.screen(), "nothing was said, so nothing was written")
	})
	third := p.onTerminal(t, "feature", "delete", "hello")
	third.expect(t, "[y/N]", "y\n")
	third.wait(t, 0)
}

// TestAnInterruptedInterviewGoesOn: Ctrl-C, a kill, or the end of the terminal lose
// nothing that was said.
func TestAnInterruptedInterviewGoesOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stop   func(t *testing.T, term *terminal)
		status int
	}{
		"Ctrl-C": {func(t *testing.T, term *terminal) { term.expect(t, "In which ", ctrlC) }, 130},
		"kill -9": {func(t *testing.T, term *terminal) {
			term.expect(t, "In which ", "")
			check.OK(t, term.cmd.Process.Kill())
		}, -1},
		"SIGTERM": {func(t *testing.T, term *terminal) {
			term.expect(t, "In which ", "")
			check.OK(t, term.cmd.Process.Signal(syscall.SIGTERM))
		}, 143},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, interviewer(), keepsOutside)
			p.want(t, 0, "feature", "create", "hello")
			term := p.onTerminal(t, "feature", "spec", "hello")
			term.expect(t, "What should hello do", "Greet.\n"+ctrlD)
			term.expect(t, "Your answer?", "Everybody.\n"+ctrlD)
			tt.stop(t, term)
			term.wait(t, tt.status)
			eventually(t, "nothing is left running", func() bool { return len(p.processes()) == 0 })
			p.missing(t, ".ralph/features/hello/spec.md")
			again := p.onTerminal(t, "feature", "spec", "hello")
			again.expect(t, "continuing the interview, 1 answers so far", "")
			again.expect(t, "resumed draft", ctrlD)
			again.wait(t, 0)
			if got := p.read(t, "resumed"); !strings.Contains(got, "> Greet.") || !strings.Contains(got, "Whom does it greet?") || !strings.Contains(got, "> The person said: Everybody.") {
				t.Errorf("it forgot what was said:\n%s", got)
			}
		})
	}
}

// TestAKilledBuildLeavesNothing: no task, no file, and the feature is still planned,
// wherever the kill hits; building again works.
func TestAKilledBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Prompt: 1}, Steps: []fakeagent.Step{
			{Do: "file", Path: "tasks.jsonl", Text: strings.Trim(twoTasks, "`\n") + "\n"},
			{Do: "terminal", Argv: []string{"ralph", "task", "add", "Half of it"}},
			{Do: "mark", Text: "at work"},
			{Do: "await", Path: "../../../../../go"},
			{Do: "say", Text: "Written.\n"},
		}},
	}}, keepsOutside)
	p.want(t, 0, "feature", "create", "hello")
	p.write(t, ".ralph/features/hello/plan.md", "# Plan\n")
	r := p.start(t, "feature", "build", "hello", "--yes")
	p.awaitMark(t, "at work")
	// a second one does not get in its way
	if out := p.want(t, 1, "feature", "build", "hello", "--yes"); !strings.Contains(out.stderr, "another ralph is at work on it") {
		t.Errorf("got %s", out.stderr)
	}
	// nor is anything taken away under it, or taken for what a dead one left
	if out := p.want(t, 1, "feature", "delete", "hello", "--yes"); !strings.Contains(out.stderr, "another ralph is at work on it: build of hello") {
		t.Errorf("got %s", out.stderr)
	}
	if out := p.want(t, 0, "doctor"); !strings.Contains(out.stdout, "planning of feature hello is in progress: build") || strings.Contains(out.stdout, "not finished") {
		t.Errorf("got %s", out.stdout)
	}
	check.OK(t, r.cmd.Process.Kill())
	r.wait(t, -1)
	eventually(t, "nothing is left running", func() bool { return len(p.processes()) == 0 })
	if out := p.want(t, 0, "feature", "list"); !strings.HasPrefix(out.stdout, "hello  planned  no tasks") {
		t.Errorf("got %q", out.stdout)
	}
	if out := p.want(t, 0, "task", "list", "--all"); out.stdout != "" {
		t.Errorf("tasks are visible: %s", out.stdout)
	}
	p.missing(t, ".ralph/features/hello/tasks.jsonl")
	p.want(t, 1, "feature", "approve", "hello")
	p.write(t, "go", "")
	p.want(t, 0, "feature", "build", "hello", "--yes")
	if out := p.want(t, 0, "feature", "list"); !strings.HasPrefix(out.stdout, "hello  ready") || !strings.Contains(out.stdout, "of 2 done") {
		t.Errorf("got %q", out.stdout)
	}
	p.want(t, 0, "feature", "delete", "hello", "--yes")
	p.missing(t, ".ralph/staging/hello")
	p.missing(t, ".ralph/features/hello")
}
