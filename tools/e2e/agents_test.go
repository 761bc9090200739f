package e2e

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// budget is after how long no further agent is begun, unless one asks for all.
const budget = 2 * time.Minute

// TestAgents takes each pinned agent through everything with RALPH_E2E=always, and
// notes when all have passed. Without, it takes them through a graph, and only if
// the pins or package acp have changed since.
func TestAgents(t *testing.T) {
	named := strings.Fields(os.Getenv("RALPH_E2E_AGENTS"))
	always := os.Getenv("RALPH_E2E") == "always" || len(named) > 0
	now := fingerprint(t)
	passed, err := os.ReadFile("passed.txt")
	if err == nil && strings.TrimSpace(string(passed)) == now && !always {
		t.Skip("SKIPPED: the agents have passed with these versions and this package acp; RALPH_E2E=always runs them")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("SKIPPED: npm is missing here, so the real agents were not run")
	}
	ralph := buildRalph(t)
	list, err := chosen(named)
	check(t, err)
	ran, began := 0, time.Now()
	for _, p := range list {
		t.Run(p.agent, func(t *testing.T) {
			if !always && time.Since(began) > budget {
				t.Skipf("SKIPPED: the agents before it took more than %s", budget)
			}
			set, ok := settings(t)[p.agent]
			if !ok {
				t.Fatalf("there are no settings for %s", p.agent)
			}
			bin, err := installed(t.Context(), p.pkg, set.Node)
			if err != nil { // it says nothing about ralph
				t.Skipf("SKIPPED: %v", err)
			}
			if !always {
				newPlace(t, ralph, bin, p, set).takesAGraph(t)
				return
			}
			takesAll(t, ralph, bin, p, set)
			ran++
		})
	}
	whole := slices.Contains([]string{"", "^TestAgents$"}, flag.Lookup("test.run").Value.String()) && len(named) == 0 // nothing was left out
	if always && whole && ran == len(list) && !t.Failed() {
		check(t, os.WriteFile("passed.txt", []byte(now+"\n"), 0o644))
	}
}

// takesAll takes an agent through everything.
func takesAll(t *testing.T, ralph, bin string, p pin, set setting) {
	pl := newPlace(t, ralph, bin, p, set)
	t.Run("takes a graph to its end", func(t *testing.T) { pl.takesAGraph(t) })
	if set.Like != "" {
		return
	}
	t.Run("takes a feature from an idea to its end", func(t *testing.T) { newPlace(t, ralph, bin, p, set).takesAFeature(t) })
	t.Run("is known and answers", func(t *testing.T) { pl.answers(t, p.agent) })
	t.Run("ticks off its plan before it is done", func(t *testing.T) { pl.ticksOff(t) })
	t.Run("is held to the rules", func(t *testing.T) { newPlace(t, ralph, bin, p, set).obeys(t) })
	t.Run("asks and reports by ralph's tools", func(t *testing.T) { newPlace(t, ralph, bin, p, set).asks(t, p.agent) })
	t.Run("reaches its provider through a proxy", func(t *testing.T) {
		newPlaceFor(t, ralph, bin, p, set, "https://"+strings.TrimSuffix(provider, ":443")).goesThrough(t, p.agent)
	})
	t.Run("reaches only the hosts that are listed", func(t *testing.T) {
		reachesOnly(t, p.agent, func(url string) *place { return newPlaceFor(t, ralph, bin, p, set, url) })
	})
	t.Run("refuses a task without a word", func(t *testing.T) { newPlace(t, ralph, bin, p, set).refuses(t) })
	t.Run("continues after an interruption", func(t *testing.T) { pl.continues(t) })
	t.Run("without a valid key", func(t *testing.T) { pl.fails(t, Fault{Status: 401, Times: -1}) })
	t.Run("with a model that hangs", func(t *testing.T) { pl.fails(t, Fault{Hang: true, Times: -1}) })
}

// obeys has an agent try what a rule denies, by command and by file, and go on.
func (p *place) obeys(t *testing.T) {
	p.write(t, filepath.Join(p.dir, ".ralph.toml"), p.read(t, ".ralph.toml")+"[permissions]\ndeny = [\"execute:touch forbidden*\", \"write:**/secret.txt\"]\n")
	secret := strings.TrimSpace(p.want(t, 0, "task", "add", "Keep a secret").stdout)
	p.server.Play(func(pr Prompt) Answer {
		switch {
		case pr.Kind == Verify:
			return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
		case pr.Kind == Work && pr.Turn == 0 && pr.Task == secret:
			return Answer{Text: "A file.", Write: &File{Path: filepath.Join(p.dir, "secret.txt"), Content: "x\n"}}
		case pr.Task == secret:
			return Answer{Text: "It may not be.\n<task-failed>" + pr.Task + ": it is denied</task-failed>\n"}
		case pr.Kind == Work && pr.Try == 1 && pr.Turn == 0:
			return Answer{Text: "First a file.", Shell: "echo allowed > allowed.txt"}
		case pr.Kind == Work && pr.Try == 1 && pr.Turn == 1:
			return Answer{Text: "Now the other.", Shell: "cd . && touch forbidden.txt"}
		}
		return Answer{Text: "All is well.\n<task-done>" + pr.Task + "</task-done>\n"}
	})
	task := strings.TrimSpace(p.want(t, 0, "task", "add", "Make two files").stdout)
	out := p.want(t, 0, "run", task, "--idle-timeout", "2m")
	if strings.Contains(out.stderr, "does not ask") != p.Unasked {
		t.Errorf("got %s, want a warning: %v", out.stderr, p.Unasked)
	}
	if text := strings.TrimSpace(p.read(t, "allowed.txt")); text != "allowed" {
		t.Errorf("allowed.txt: got %q", text)
	}
	if p.Unasked {
		return
	}
	if isFile(filepath.Join(p.dir, "forbidden.txt")) {
		t.Errorf("it did what is denied:\n%s", p.want(t, 0, "permissions", "log").stdout)
	}
	denied := list[[]struct{ Task, Kind, Text, Decision, Rule string }](t, p.want(t, 0, "permissions", "log", "--denied", "--json"))
	if len(denied) == 0 || denied[0].Task != task || denied[0].Rule != "deny execute:touch forbidden*" || !strings.Contains(denied[0].Text, "touch forbidden.txt") {
		t.Errorf("got %+v, want the call that was denied", denied)
	}
	p.want(t, 1, "run", secret, "--idle-timeout", "2m")
	denied = list[[]struct{ Task, Kind, Text, Decision, Rule string }](t, p.want(t, 0, "permissions", "log", "--denied", "--json"))
	t.Logf("denied: %+v", denied) // which of the two ways it is, a request or a call of ralph, is the agent's
	if last := denied[len(denied)-1]; isFile(filepath.Join(p.dir, "secret.txt")) || last.Rule != "deny write:**/secret.txt" {
		t.Errorf("got %+v, want the file that was denied", last)
	}
	p.wantScriptPlayed(t)
}

// asks has an agent ask a person and wait, and then report that it is done, both by tools of ralph. One that takes no
// such tools is not told of them either.
func (p *place) asks(t *testing.T, agent string) {
	tools := p.describe(t, agent).Tools
	p.server.Play(func(pr Prompt) Answer {
		answered := strings.Contains(pr.Text, "ultramarine")
		switch {
		case !tools:
			return Answer{Text: "Nothing is to do.\n<task-failed>" + pr.Task + ": nobody said which colour</task-failed>\n"}
		case pr.Kind == Verify:
			return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
		case pr.Turn == 0 && !answered:
			return Answer{Text: "I have to ask.", Own: &Own{"ask", object{"question": "Which colour?", "options": []string{"red", "ultramarine"}}}}
		case !answered:
			return Answer{Text: "I wait."}
		case pr.Turn == 0:
			return Answer{Text: "Now I know.", Shell: "echo ultramarine > colour.txt"}
		case pr.Turn == 1:
			return Answer{Text: "That is all.", Own: &Own{"report", object{"status": "done", "notes": "painted by tool"}}}
		}
		return Answer{Text: "I have reported it."}
	})
	task := strings.TrimSpace(p.want(t, 0, "task", "add", "Paint it").stdout)
	if !tools {
		p.want(t, 1, "run", "--idle-timeout", "2m")
		if seen := p.server.Seen(); len(seen) == 0 || strings.Contains(seen[0].Text, "The MCP server `ralph`") {
			t.Errorf("got %+v, want no word of tools", seen)
		}
		return
	}
	out := p.want(t, 2, "run", "--json", "--idle-timeout", "2m")
	contains(t, out.stdout, `"outcome":"blocked"`)
	p.wantScriptPlayed(t)
	questions := list[[]struct{ ID, Task, Text string }](t, p.want(t, 0, "inbox", "--json"))
	if len(questions) != 1 || questions[0].Task != task || questions[0].Text != "Which colour?" {
		t.Fatalf("got %+v, want its question", questions)
	}
	p.want(t, 0, "inbox", "answer", questions[0].ID, "--option", "2")
	out = p.want(t, 0, "run", "-v", "--idle-timeout", "2m")
	if strings.Contains(out.stderr, "asked again") {
		t.Errorf("its report was not read:\n%s", out.stderr)
	}
	if text := strings.TrimSpace(p.read(t, "colour.txt")); text != "ultramarine" {
		t.Errorf("colour.txt: got %q", text)
	}
	contains(t, p.want(t, 0, "journal", "list", "--json", "--task", task).stdout, "painted by tool", `"outcome": "asked"`)
	p.wantScriptPlayed(t)
}

// description is what ralph says of an agent that was only found by trying.
type description struct {
	Name         string
	Tools, Proxy bool
}

func (p *place) describe(t *testing.T, agent string) description {
	t.Helper()
	all := list[[]description](t, p.want(t, 0, "agents", "--json"))
	return all[slices.IndexFunc(all, func(d description) bool { return d.Name == agent })]
}

func (p *place) answers(t *testing.T, agent string) {
	contains(t, p.want(t, 0, "agents").stdout, "\n"+agent+" * ") // the one that a run takes
	got := list[struct {
		OK     bool
		Answer string
		Models []string
		Steps  []struct {
			Step    string
			Seconds float64
		}
	}](t, p.want(t, 0, "agents", "test", agent, "--json"))
	if !got.OK || !strings.HasSuffix(got.Answer, "OK") || (p.Small != "" && len(got.Models) < 2) || len(got.Steps) < 4 {
		t.Errorf("got %+v, want an answer, models and steps", got)
	}
	t.Logf("steps: %v", got.Steps)
	out := p.want(t, 5, "agents", "test", agent, "--model", "no-such-model")
	if !strings.Contains(out.stderr, "model unknown: no-such-model; offered: ") && (p.Small != "" || !strings.Contains(out.stderr, "offers no choice")) {
		t.Errorf("got %s, want the models that there are", out.stderr)
	}
}

const plan = `
{"ref":"t-00000001","title":"Write the greeting","description":"Into hello.txt.","gates":["test -s hello.txt"]}
{"ref":"t-00000002","title":"Count its words","after":["t-00000001"],"gates":["grep -q 2 count.txt"],"model":"haiku"}
{"ref":"t-00000003","title":"Do what cannot be done"}
{"ref":"t-00000004","title":"Greet in French, too","after":["t-00000001"]}
{"ref":"t-00000005","title":"Sum the greeting up","after":["t-00000002","t-00000004"],"gates":["test -s summary.txt"]}
`

const learned = "The greeting lives in hello.txt"

// worker plays the five tasks: knowledge, a red gate, a failure, a red verdict and
// a provider in trouble, and the use of what was learned.
func (pl *place) worker(p Prompt) Answer {
	if p.Kind == Other && strings.Contains(p.Text, "grep -q 2 count.txt") { // the same session, which stood still while the gate ran
		p.Kind, p.Task, p.Try = Work, "t-00000002", 2
	}
	done := "All is well.\n\n<journal>did " + p.Task + "</journal>\n<task-done>" + p.Task + "</task-done>\n"
	step := func(a Answer) Answer {
		if p.Turn > 0 {
			return Answer{Text: done}
		}
		a.Text = "Let me see."
		return a
	}
	switch {
	case p.Kind == Other:
		return Answer{Text: "OK"}
	case p.Kind == Verify && p.Task == "t-00000004" && p.Try == 1:
		return Answer{Text: "It has no accent.\n<verify-fail>bonjour.txt has no accent</verify-fail>\n"}
	case p.Kind == Verify:
		return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
	}
	switch p.Task {
	case "t-00000001":
		if p.Turn > 0 {
			return Answer{Text: "<knowledge title=\"" + learned + "\" tags=\"greeting,words\">Two words, no more.</knowledge>\n" + done}
		}
		return step(Answer{Write: &File{Path: filepath.Join(pl.dir, "hello.txt"), Content: "hello world\n"}})
	case "t-00000002":
		if p.Try == 1 {
			return step(Answer{Shell: "echo three > count.txt"})
		}
		return step(Answer{Shell: "wc -w < hello.txt > count.txt"})
	case "t-00000003":
		return Answer{Text: "I cannot.\n<task-failed>t-00000003: there is no way</task-failed>\n"}
	case "t-00000004":
		told, word := strings.Contains(p.Text, "no accent"), "bonjour"
		if told {
			word = "bonjour é"
		}
		a := step(Answer{Shell: "echo '" + word + "' > bonjour.txt"})
		switch {
		case p.Try == 1 && p.Turn == 0:
			a.Fault = Fault{Status: 429, Times: 1}
		case p.Turn == 1 && !told:
			a.Fault = Fault{Status: 529, Times: 1}
		case told && p.Turn == 0 && !pl.Frail:
			a.Fault = Fault{Cut: true, Times: 1}
		}
		return a
	default:
		known := "no"
		if strings.Contains(p.Text, learned) {
			known = "yes"
		}
		return step(Answer{Shell: "echo " + known + " > summary.txt"})
	}
}

func (p *place) takesAGraph(t *testing.T) {
	p.server.Play(p.worker)
	p.write(t, filepath.Join(p.dir, ".ralph", "plan.jsonl"), plan)
	p.want(t, 0, "task", "import", ".ralph/plan.jsonl")
	out := p.want(t, 1, "run", "--json", "--idle-timeout", "2m")
	got := list[struct {
		Outcome                  string
		Done, Failed, Iterations int
		Cost                     *float64 `json:"cost_usd"`
	}](t, out)
	if got.Outcome != "complete" || got.Done != 4 || got.Failed != 1 || got.Iterations != 6 {
		t.Errorf("got %+v, want 4 done and 1 failed in 6 iterations\n%s", got, out.stderr)
	}
	if (got.Cost != nil && *got.Cost > 0) != p.Cost {
		t.Errorf("got cost %v, want one: %v", got.Cost, p.Cost)
	}
	p.wantScriptPlayed(t)
	for name, want := range map[string]string{"hello.txt": "hello world", "count.txt": "2", "bonjour.txt": "bonjour é", "summary.txt": "yes"} {
		if text := strings.TrimSpace(p.read(t, name)); text != want {
			t.Errorf("%s: got %q, want %q", name, text, want)
		}
	}
	contains(t, p.want(t, 0, "knowledge", "list").stdout, learned)
	p.wantModels(t)
	p.wantHistory(t)
}

// wantModels checks that the model of one task reached the provider, and no other.
func (p *place) wantModels(t *testing.T) {
	t.Helper()
	for _, seen := range p.server.Seen() {
		if p.Small != "" && seen.Kind == Work && (seen.Task == "t-00000002") != strings.Contains(seen.Model, p.Small) {
			t.Errorf("%s was done by %s", seen.Task, seen.Model)
		}
	}
}

// wantHistory checks what the attempts came to, and that each tells what it used.
func (p *place) wantHistory(t *testing.T) {
	t.Helper()
	for task, want := range map[string][]string{
		"t-00000001": {"done"}, "t-00000002": {"done"}, "t-00000003": {"failed"}, "t-00000004": {"retried", "done"}, "t-00000005": {"done"},
	} {
		entries := list[[]struct {
			Outcome string
			Model   *string `json:"model_effective"`
			Tokens  *int    `json:"tokens_in"`
		}](t, p.want(t, 0, "journal", "list", "--json", "--task", task))
		var outcomes []string
		for _, e := range entries {
			if e.Outcome == "limited" { // not every agent retries by itself what a provider refuses
				continue
			}
			outcomes = append(outcomes, e.Outcome)
			if e.Model == nil && p.Small != "" {
				t.Errorf("%s: got no model, want the one in effect", task)
			}
			if (e.Tokens == nil || *e.Tokens < 800) != p.Silent {
				t.Errorf("%s: got tokens %v, want them told: %v", task, e.Tokens, !p.Silent)
			}
		}
		if !slices.Equal(outcomes, want) {
			t.Errorf("%s: got %v, want %v", task, outcomes, want)
		}
	}
}

// ticksOff has the model bring its plan up to date between two sentences. What the
// agent makes of that need not be a tool call, and the second sentence is a sigil.
func (p *place) ticksOff(t *testing.T) {
	p.server.Play(func(pr Prompt) Answer {
		a := p.worker(pr)
		switch {
		case pr.Kind != Work:
		case pr.Turn == 0:
			a = Answer{Text: "Let me see.", Shell: "echo ticked > ticked.txt"}
		case pr.Turn == 1:
			a = Answer{Text: "Ticking off the plan.", Plan: true}
		default:
			a = Answer{Text: "<task-done>" + pr.Task + "</task-done>"}
		}
		return a
	})
	task := strings.TrimSpace(p.want(t, 0, "task", "add", "Tick off").stdout)
	if out := p.want(t, 0, "run", task, "--idle-timeout", "2m"); strings.Contains(out.stderr, "asked again") {
		t.Errorf("its sigil was not read:\n%s", out.stderr)
	}
	p.wantScriptPlayed(t)
}

// refuses has the model answer nothing to one task of three: that one has failed in the
// end, and the others are done. Where the agent tells what it used nothing is taken for
// a limit.
func (p *place) refuses(t *testing.T) {
	config := filepath.Join(p.dir, ".ralph.toml")
	p.write(t, config, strings.Replace(p.read(t, ".ralph.toml"), "[run]\n", "[run]\nmax_attempts = 2\n", 1))
	p.server.Play(func(pr Prompt) Answer {
		switch {
		case pr.Kind == Verify:
			return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
		case pr.Task == "t-0000000b":
			return Answer{}
		case pr.Turn == 0:
			return Answer{Text: "Let me see.", Shell: "echo done > " + pr.Task + ".txt"}
		}
		return Answer{Text: "All is well.\n<task-done>" + pr.Task + "</task-done>\n"}
	})
	p.write(t, filepath.Join(p.dir, ".ralph", "plan.jsonl"), refusal)
	p.want(t, 0, "task", "import", ".ralph/plan.jsonl")
	out := p.want(t, 1, "run", "--json", "--idle-timeout", "2m")
	contains(t, out.stdout, `"outcome":"complete"`, `"done":2,"failed":1,"remaining":0`)
	if tells := !p.Silent && !p.Context; tells && strings.Contains(out.stderr, "suspected rate limit") {
		t.Errorf("a refusal was taken for a limit:\n%s", out.stderr)
	}
}

const refusal = `
{"ref":"t-0000000a","title":"Do the first"}
{"ref":"t-0000000b","title":"Do what the model refuses"}
{"ref":"t-0000000c","title":"Do the last"}
`

// continues interrupts a running agent; the next run continues its session, or starts
// a new one if the agent has forgotten it.
func (p *place) continues(t *testing.T) {
	p.server.Play(func(pr Prompt) Answer {
		a := p.worker(pr)
		if pr.Kind == Work && pr.Turn == 1 {
			a.Fault = Fault{Hang: true, Times: -1}
		}
		return a
	})
	task := strings.TrimSpace(p.want(t, 0, "task", "add", "Interrupted work").stdout)
	cmd, _, stderr := p.command("ralph", "run", task)
	check(t, cmd.Start())
	waitFor(t, "the agent is at work", func() bool {
		return slices.ContainsFunc(p.server.Seen(), func(s Prompt) bool { return s.Turn == 1 })
	})
	check(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // its status is looked at
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Fatalf("exit status %d, want 130\n%s", got, stderr)
	}
	p.wantNothingLeft(t)
	p.server.Play(p.worker)
	out := p.want(t, 0, "run", "-v", task)
	if goes := strings.Contains(out.stderr, "continues in the session of the interrupted attempt"); !goes && !p.Forgets {
		t.Errorf("it did not continue:\n%s", out.stderr)
	}
}

// fails lets the model fail for ever: the run ends, and says that no agent is to be had.
func (p *place) fails(t *testing.T, fault Fault) {
	p.server.Play(func(Prompt) Answer { return Answer{Text: "never", Fault: fault} })
	task := strings.TrimSpace(p.want(t, 0, "task", "add", "Work in vain").stdout)
	contains(t, p.want(t, 5, "run", task, "--idle-timeout", "10s", "--json").stdout, `"outcome":"agent_unavailable"`)
	p.want(t, 0, "task", "delete", task)
}

// fingerprint is of what the tests were passed with: the pinned versions and
// package acp without its own tests.
func fingerprint(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../acp/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of package acp: %v", err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	for i, name := range files {
		files[i] = "acp/" + filepath.Base(name)
	}
	cmd := exec.CommandContext(t.Context(), "../../.ci/sum")
	cmd.Stdin = strings.NewReader(strings.Join(append(files, "tools/e2e/pins.txt"), "\n"))
	sum, err := cmd.Output()
	check(t, err)
	return strings.TrimSpace(string(sum))
}
